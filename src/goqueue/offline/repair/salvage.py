"""Salvage of a checkpoint from the log files, for a folder without one or with a damaged journal.

The log files are the source, and the journal supplies what they lack: records whose pages did not reach the disk, and
the end of an interrupted removal. Data that neither has is reported, never guessed.
"""

from collections.abc import Collection, Iterator
from typing import NamedTuple, Protocol

import msgspec

from goqueue.adapters.disk.checkpoint import CheckpointState
from goqueue.adapters.disk.files import File
from goqueue.adapters.disk.journal_format import MergeSegments, RedoRecords, parse_operations
from goqueue.adapters.disk.log import cleaned_path, remove_segment_files
from goqueue.adapters.disk.segment import LOG_SUFFIX
from goqueue.engine.ports import BUNDLE, CreateLog, DeleteLog, DropSegments, StateEvent
from goqueue.model.log import LogId, SegmentInfo
from goqueue.offline.data_folder import DataFolder
from goqueue.offline.findings import Progress
from goqueue.offline.journal_scan import JournalScan
from goqueue.offline.log_scan import Measured, measure_log, measure_segment
from goqueue.offline.repair.lost_and_found import LostAndFound
from goqueue.offline.repair.recovery import sync_segments
from goqueue.offline.repair.segment_rewrite import SegmentKey
from goqueue.offline.state_copies import read_snapshots

__all__ = ["KnownLogs", "NoKnownLogs", "Salvage"]


class KnownLogs(Protocol):
    """Logs that must exist according to the broker's state: a log without records has no files."""

    def restore(self, stream: str, snapshot: bytes) -> None: ...
    def apply(self, event: StateEvent) -> None: ...
    def logs(self) -> Collection[LogId] | None:
        """None if the state does not tell."""
        ...


class NoKnownLogs:
    """No knowledge of logs."""

    def restore(self, stream: str, snapshot: bytes) -> None:
        pass

    def apply(self, event: StateEvent) -> None:
        pass

    def logs(self) -> Collection[LogId] | None:
        return None


class _LogHistory(msgspec.Struct):
    """History of a log according to the journal."""

    since_lsn: int = 0
    deleted: bool = False
    created: bool = False
    next_offset: int = 0
    written: set[int] = msgspec.field(default_factory=set)
    replaced: dict[int, int] = msgspec.field(default_factory=dict)
    """LSN at which a segment was dropped or merged: earlier appends to it are ignored."""
    gone: set[int] = msgspec.field(default_factory=set)


class _Loaded(NamedTuple):
    path: str
    file: File


class Salvage:
    """One salvage: `run` changes files and returns the new checkpoint."""

    def __init__(
        self,
        folder: DataFolder,
        state: CheckpointState | None,
        journal: JournalScan,
        lost: LostAndFound,
        known: KnownLogs,
        progress: Progress,
    ) -> None:
        self._folder = folder
        self._journal = journal
        self._lost = lost
        self._known = known
        self._progress = progress
        self._had = {LogId.parse(name): infos for name, infos in state.logs.items()} if state else {}
        self._had_checkpoint = state is not None
        self._snapshots = dict(state.snapshots) if state else {}
        self._snapshot_lsns: dict[str, int] = {}
        self._histories: dict[LogId, _LogHistory] = {}
        self.notes: list[str] = []
        """Facts that could not be determined."""
        self.suspects: set[SegmentKey] = set()
        """Segments with damage to be cut out."""
        self.last_lsn = max(journal.newest_lsn, state.lsn if state else 0)

    def run(self) -> CheckpointState:
        self._read_state()
        for entry in self._journal.entries():
            for operation in parse_operations(entry):
                self._record_operation(entry.lsn, operation)
        self._write_records()
        self._keep_unreadable_journal()
        logs = {log: self._log(log) for log in self._names()}
        if not self._had_checkpoint:
            logs |= self._without_files(logs.keys())
        written = {(log, base) for log, history in self._histories.items() for base in history.written}
        sync_segments(self._folder, written | {(log, infos[-1].base_offset) for log, infos in logs.items() if infos})
        return CheckpointState(0, {str(log): infos for log, infos in logs.items()}, self._snapshots)

    def _without_files(self, found: Collection[LogId]) -> dict[LogId, tuple[SegmentInfo, ...]]:
        """Logs that must exist and have no files, because they never took a record."""
        known = self._known.logs()
        if known is None:
            self.notes.append("partitions that never took a record left no trace, and may be missing now")
        return {log: () for log in sorted(known or ()) if log not in found}

    def events(self) -> Iterator[StateEvent]:
        """State events that are in no snapshot."""
        for entry in self._journal.entries():
            for operation in parse_operations(entry):
                if isinstance(operation, StateEvent) and entry.lsn > self._snapshot_lsns.get(operation.stream, 0):
                    yield operation

    # State.

    def _read_state(self) -> None:
        if not self._had_checkpoint:
            self._find_snapshots()
            for event in self.events():
                self._known.apply(event)
        for fault in self._journal.faults:
            if fault.kind == "damaged":
                lost = f"journal entries {fault.first_lsn} to {fault.last_lsn}"
                self.notes.append(f"{lost} are lost: changes of state in them, if there were any, are not known")

    def _find_snapshots(self) -> None:
        """Find the newest readable snapshot of each stream."""
        found = read_snapshots(self._folder, None)
        for copies in sorted(found, key=lambda one: one.snapshot.lsn if one.snapshot else 0):
            if copies.snapshot is None:
                name = self._folder.relative(copies.path)
                self.notes.append(f"{name} is unreadable in both copies: the state it held is not known any more")
                continue
            stream, lsn = copies.snapshot.stream, copies.snapshot.lsn
            self.last_lsn = max(self.last_lsn, lsn)
            if lsn >= self._snapshots.get(stream, 0):
                # The newest are last, because recovery restores them in this order.
                self._snapshots.pop(stream, None)
                self._snapshots[stream] = self._snapshot_lsns[stream] = lsn
                if stream.startswith(BUNDLE):
                    members = msgspec.msgpack.decode(copies.snapshot.payload, type=dict[str, bytes])
                    self._snapshot_lsns.update(dict.fromkeys(members, lsn))
                self._known.restore(stream, copies.snapshot.payload)

    # Journal.

    def _record_operation(self, lsn: int, operation: object) -> None:
        match operation:
            case RedoRecords(log, base, _, next_offset, _):
                history = self._history(log)
                history.written.add(base)
                history.next_offset = max(history.next_offset, next_offset)
            case CreateLog(log):
                self._histories[log] = _LogHistory(lsn, created=True)
                self._had.pop(log, None)
            case DeleteLog(log):
                self._histories[log] = _LogHistory(lsn, deleted=True)
                self._had.pop(log, None)
            case DropSegments(log, bases):
                self._history(log).replaced.update(dict.fromkeys(bases, lsn))
                self._history(log).gone.update(bases)
            case MergeSegments(log, bases):
                self._history(log).replaced.update(dict.fromkeys(bases, lsn))
                # If a cleaned file exists, the merge was not completed, or the file belongs to a later, unfinished
                # compaction: all old segments exist and are kept.
                if not self._folder.files.exists(cleaned_path(self._folder.log_folder(log), bases[0])):
                    self._history(log).gone.update(bases[1:])

    def _history(self, log: LogId) -> _LogHistory:
        return self._histories.setdefault(log, _LogHistory())

    def _write_records(self) -> None:
        """Write all records of the journal, also those that the log seems to have.

        After a failed sync the page cache has bytes that are not on the disk, marked as clean: only writing them
        again brings them to the disk.
        """
        loaded: _Loaded | None = None
        for entry in self._journal.entries():
            for operation in parse_operations(entry):
                if isinstance(operation, RedoRecords) and self._is_needed(entry.lsn, operation):
                    loaded = self._load(operation, loaded)
                    loaded.file.write(operation.position, [operation.records])
        if loaded is not None:
            loaded.file.close()

    def _is_needed(self, lsn: int, redo: RedoRecords) -> bool:
        history = self._histories[redo.log]
        return not history.deleted and lsn > history.since_lsn and lsn > history.replaced.get(redo.base_offset, 0)

    def _load(self, redo: RedoRecords, loaded: _Loaded | None) -> _Loaded:
        path = self._folder.stem(redo.log, redo.base_offset) + LOG_SUFFIX
        if loaded is not None:
            if loaded.path == path:
                return loaded
            loaded.file.close()
        if not self._folder.files.exists(path):
            folder = self._folder.log_folder(redo.log)
            self._folder.files.make_dirs(folder)
            # An index of the lost file must not be used with the new file.
            remove_segment_files(self._folder.files, folder, redo.base_offset)
        return _Loaded(path, self._folder.files.open(path, create=True))

    def _keep_unreadable_journal(self) -> None:
        for fault in self._journal.faults:
            if fault.length:
                reason = "journal head" if fault.kind == "head" else f"journal entries from {fault.first_lsn} on"
                self._lost.keep(fault.path, fault.position, fault.length, reason)
        self._lost.write_report()

    # Logs.

    def _names(self) -> list[LogId]:
        deleted = {log for log, history in self._histories.items() if history.deleted}
        for log in deleted:
            for base in self._folder.segment_bases(log):
                remove_segment_files(self._folder.files, self._folder.log_folder(log), base)
        named = set(self._had) | {log for log, history in self._histories.items() if not history.deleted}
        with_files = {log for log in self._folder.log_folders() if self._folder.segment_bases(log)}
        return sorted((named | with_files) - deleted)

    def _log(self, log: LogId) -> tuple[SegmentInfo, ...]:
        """Segments of a log, from its files."""
        history = self._histories.get(log, _LogHistory())
        measured = self._without_overlap(log, measure_log(self._folder, log, self._progress))
        known_end = max([history.next_offset, *(info.next_offset for info in self._had.get(log, ()))])
        end = max([known_end, *(one.info.next_offset for one in measured)])
        for base in history.gone:
            remove_segment_files(self._folder.files, self._folder.log_folder(log), base)
        kept = [one for one in measured if one.info.base_offset not in history.gone]
        missing = (
            {info.base_offset for info in self._had.get(log, ()) if info.size} - history.gone - history.replaced.keys()
        )
        self._report_missing(log, missing - {one.info.base_offset for one in kept})
        if not kept:
            return (self._empty_segment(log, end),) if end else ()
        self.suspects |= {(log, one.info.base_offset) for one in kept if one.gaps}
        infos = [one.info for one in kept]
        bounds = [*(info.base_offset for info in infos[1:]), end]
        return tuple(
            msgspec.structs.replace(info, next_offset=bound) for info, bound in zip(infos, bounds, strict=True)
        )

    def _without_overlap(self, log: LogId, measured: list[Measured]) -> list[Measured]:
        """Segments without those whose records are in an earlier segment, as an interrupted merge leaves them."""
        kept: list[Measured] = []
        for number, one in enumerate(measured):
            if kept and one.info.base_offset <= kept[-1].last_offset:
                path = self._folder.stem(log, one.info.base_offset) + LOG_SUFFIX
                self._lost.keep(path, 0, one.info.size, "its records are in the segment before it, compacted")
                self._lost.write_report()
                remove_segment_files(self._folder.files, self._folder.log_folder(log), one.info.base_offset)
                continue
            following = [later.info.base_offset for later in measured[number + 1 :]]
            if following and one.last_offset >= following[0]:
                bound = next((base for base in following if base > one.last_offset), None)
                path = self._folder.stem(log, one.info.base_offset) + LOG_SUFFIX
                one = measure_segment(self._folder.files, path, one.info.base_offset, bound)
            kept.append(one)
        return kept

    def _report_missing(self, log: LogId, bases: set[int]) -> None:
        for info in self._had.get(log, ()):
            if info.base_offset in bases:
                path = self._folder.stem(log, info.base_offset) + LOG_SUFFIX
                offsets = {"first_offset": info.base_offset, "last_offset": info.next_offset - 1}
                self._lost.keep(path, 0, info.size, "the file is missing", **offsets)
                remove_segment_files(self._folder.files, self._folder.log_folder(log), info.base_offset)

    def _empty_segment(self, log: LogId, base_offset: int) -> SegmentInfo:
        """Segment that keeps the end of a log without records, so that no offset is assigned twice."""
        folder = self._folder.log_folder(log)
        self._folder.files.make_dirs(folder)
        self._folder.files.open(f"{folder}/{base_offset:020d}{LOG_SUFFIX}", create=True).close()
        self._folder.files.sync_dir(folder)
        return SegmentInfo(base_offset, base_offset, 0, 0)
