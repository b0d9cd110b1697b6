"""Recovery: the folder is brought to the state of the checkpoint plus the journal after it."""

from collections.abc import Callable

from goqueue.adapters.disk.checkpoint import CheckpointState, load_snapshot
from goqueue.adapters.disk.files import FileSystem, is_no_room
from goqueue.adapters.disk.journal import Journal
from goqueue.adapters.disk.journal_format import MergeSegments, Redo, RedoRecords, parse_operations
from goqueue.adapters.disk.log import DiskLog
from goqueue.adapters.disk.removals import Removals
from goqueue.adapters.disk.replay import JournalReplay
from goqueue.engine.ports import CreateLog, DeleteLog, DropSegments, Recovery, StateEvent, StorageObserver
from goqueue.errors import DataFolderDamaged
from goqueue.model.log import LogId

__all__ = ["DiskRecovery"]


class DiskRecovery:
    """One recovery: restores snapshots, replays the journal, then cuts the ends of the logs."""

    def __init__(
        self,
        files: FileSystem,
        folder: str,
        logs: dict[LogId, DiskLog],
        make_log: Callable[[LogId], DiskLog],
        observer: StorageObserver,
    ) -> None:
        self._files = files
        self._folder = folder
        self._logs = logs
        self._make_log = make_log
        self._observer = observer
        self._removals: Removals | None = None
        """Removals in the journal; read once the disk was found full."""
        self._after_lsn = self._lsn = 0

    def run(self, state: CheckpointState, journal: Journal, target: Recovery) -> None:
        for stream, lsn in state.snapshots.items():
            payload = load_snapshot(self._files, self._folder, stream, lsn, self._observer.file_damaged)
            if payload is None:
                raise DataFolderDamaged(f"neither copy of the snapshot of {stream} is readable")
            target.restore(stream, payload)
        self._after_lsn = state.lsn
        replay = JournalReplay(self._files, self._journal_folder, state.lsn)
        for frame in replay:
            self._lsn = frame.lsn
            operations = list(parse_operations(frame))
            if any(isinstance(operation, DeleteLog | DropSegments | MergeSegments) for operation in operations):
                # As in normal operation: files are removed only after the journal entry is durable.
                replay.prove()
            for operation in operations:
                self._redo_if_it_fits(operation, target, is_damaged=bool(replay.damage))
        self._report(replay)
        if replay.damage:
            # The logs may still have records of the entries that the journal lost.
            for log in self._logs.values():
                log.keep_rest()
        self._cut_tails()
        if not replay.damage:
            self._remove_unknown_logs()
        journal.start(replay.last_lsn, replay.full, replay.last_sequence, end=replay.end, unused=tuple(replay.unused))

    def _redo_if_it_fits(self, operation: Redo, target: Recovery, *, is_damaged: bool) -> None:
        """Apply an operation; after a lost entry, operations that no longer fit are reported and skipped."""
        try:
            self._redo(operation, target)
        except (LookupError, ValueError) as error:
            if not is_damaged:
                raise
            what = f"an entry could not be applied as one before it is lost: {type(operation).__name__}, {error}"
            self._observer.journal_damaged(what, 1)

    def _redo(self, operation: Redo, target: Recovery) -> None:
        match operation:
            case RedoRecords(log):
                if log not in self._logs:
                    # The entry that created the log is lost; its records are not.
                    self._logs[log] = self._make_log(log)
                self._redo_records(self._logs[log], operation)
            case StateEvent():
                target.apply(operation)
            case CreateLog(log):
                self._logs[log] = self._make_log(log)
            case DeleteLog(log):
                self._logs.pop(log).remove()
            case DropSegments(log, bases):
                self._logs[log].drop(bases)
            case MergeSegments(log, bases):
                self._logs[log].merge(bases)

    def _redo_records(self, log: DiskLog, redo: RedoRecords) -> None:
        _, base, position, next_offset, records = redo
        try:
            log.redo(base, position, records, next_offset)
        except OSError as error:
            if not is_no_room(error):
                raise
            self._give_up_removed()
            log.redo(base, position, records, next_offset)

    def _give_up_removed(self) -> None:
        """On a full disk, skip records that a later entry removes: their space has been used since."""
        if self._removals is None:
            self._removals = Removals(self._files, self._journal_folder, self._after_lsn)
        for log in self._logs.values():
            for segment in log.segments:
                if self._removals.take_away(log.id, segment.base_offset, self._lsn):
                    log.discard(segment.base_offset)

    @property
    def _journal_folder(self) -> str:
        return f"{self._folder}/journal"

    def _report(self, replay: JournalReplay) -> None:
        for damage in replay.damage:
            self._observer.journal_damaged(str(damage), damage.last_lsn - damage.first_lsn + 1)
        if replay.dropped_bytes:
            self._observer.tail_dropped("journal", replay.dropped_bytes)

    def _cut_tails(self) -> None:
        for log in self._logs.values():
            for damage in log.missing_files():
                self._observer.damaged(damage)
            dropped = log.cut_tail()
            if dropped:
                self._observer.tail_dropped(str(log.id), dropped)

    def _remove_unknown_logs(self) -> None:
        """Remove folders of logs in neither checkpoint nor journal: their creation or removal was interrupted."""
        root = f"{self._folder}/logs"
        for topic in self._files.list(root):
            for partition in self._files.list(f"{root}/{topic}"):
                log = LogId(topic, int(partition)) if partition.isdecimal() else None
                if log is not None and log not in self._logs:
                    self._make_log(log).remove()
