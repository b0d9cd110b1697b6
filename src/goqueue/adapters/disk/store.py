"""Disk store: the storage port of the engine on a data folder, with logs and state behind one journal.

    data/
    ├── lock                              held while a process has the folder open
    ├── checkpoint, checkpoint.copy       the state at one LSN
    ├── journal/{sequence}.journal        all changes since
    ├── snapshots/{digest}-{lsn}.snap     state machines at their last checkpoint
    └── logs/{topic}/{partition}/{base offset}.log, .index, .timeindex

A write goes to the logs first and to the journal second, both through the page cache. So the content of the journal
is also in the logs unless the power failed, and bytes that only the logs have were never confirmed.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import chain

import msgspec

from goqueue.adapters.disk.checkpoint import SNAPSHOTS, CheckpointState, load_checkpoint, save_checkpoint
from goqueue.adapters.disk.checkpointing import CheckpointWork
from goqueue.adapters.disk.compaction import CompactionWork
from goqueue.adapters.disk.files import File, FileSystem, is_no_room
from goqueue.adapters.disk.group_write import OPERATION_OVERHEAD, GroupWrite, journal_size, no_room, refusal_of
from goqueue.adapters.disk.journal import JOURNAL_FILE_BYTES, Journal
from goqueue.adapters.disk.journal_format import FRAME_HEAD, MergeSegments, encode_operation
from goqueue.adapters.disk.log import DiskLog
from goqueue.adapters.disk.plain_write import NOTHING_WRONG, plain_size, write_plain
from goqueue.adapters.disk.recovery import DiskRecovery
from goqueue.adapters.disk.segment import OpenSegments
from goqueue.adapters.disk.spare_journal import free_journal
from goqueue.engine.ports import (
    AppendRecords,
    CompactionPolicy,
    DeleteLog,
    DropSegments,
    Entropy,
    Entry,
    Log,
    Operation,
    Payload,
    Recovery,
    SlowWork,
    StorageObserver,
)
from goqueue.errors import (
    DataFolderDamaged,
    DataFolderInUse,
    DiskFull,
    GoQueueError,
    StorageBusy,
    StorageFailed,
    UnknownLog,
)
from goqueue.model.ids import Lsn
from goqueue.model.log import LogId, SegmentInfo

__all__ = ["DiskStore", "StoreSettings"]

REMOVALS = frozenset({DeleteLog, DropSegments})
KEPT_FROM_RECORDS = 8
"""1/8 of each journal file is reserved for entries without records, so that consumers work on a full disk."""
KEPT_FROM_STATE = 16
"""1/16 is reserved for removals only, because these free space on a full disk."""


class StoreSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Sizes and limits of the files of the store."""

    segment_bytes: int = 64 * 1024 * 1024
    """Size at which a log starts a new segment; 4096 to 2 GiB."""
    journal_file_bytes: int = JOURNAL_FILE_BYTES
    """Size of one journal file; 32 MiB to 1 GiB."""
    journal_max_bytes: int = 1024 * 1024 * 1024
    """Size of the journal beyond which writes are refused until a checkpoint is done; at least two journal files."""
    open_sealed_segments: int = 256
    """Sealed segments that are kept open, with their indexes in memory; 1 to 1,000,000."""


class DiskStore:
    """See `goqueue.engine.ports.Storage`."""

    def __init__(
        self,
        folder: str,
        files: FileSystem,
        entropy: Entropy,
        observer: StorageObserver,
        settings: StoreSettings,
        *,
        most_open: int = 1 << 30,
    ) -> None:
        """`most_open` limits the open log files."""
        self._folder = folder
        self._files = files
        self._observer = observer
        self._settings = settings
        sealed = min(settings.open_sealed_segments, most_open // 2)
        self._open_segments = OpenSegments(sealed, observer.file_damaged, most_open - sealed)
        self._journal = Journal(files, f"{folder}/journal", entropy, settings.journal_file_bytes)
        self._logs: dict[LogId, DiskLog] = {}
        self._snapshot_lsns: dict[str, int] = {}
        self._checkpoint_lsn: Lsn | None = None
        """LSN of the last checkpoint of this store; None before the first."""
        self._failure: StorageFailed | None = None
        self._lock: File | None = None

    # Life cycle.

    def open(self, recovery: Recovery) -> None:
        try:
            self._files.make_dirs(self._folder)
            self._lock = self._files.lock(f"{self._folder}/lock")
            if self._lock is None:
                raise DataFolderInUse(f"another process has the data folder {self._folder} open")
            self._recover(recovery)
        except BaseException as error:
            self.close()
            if isinstance(error, OSError) and is_no_room(error):
                hint = f"free space on the disk of {self._folder}, then start again"
                raise DiskFull(f"no room on the disk for {error.filename or self._folder}", hint=hint) from error
            raise

    def _recover(self, recovery: Recovery) -> None:
        state = self._load_checkpoint()
        for name, segments in state.logs.items():
            log = LogId.parse(name)
            self._logs[log] = self._make_log(log, segments)
        self._snapshot_lsns = dict(state.snapshots)
        steps = DiskRecovery(self._files, self._folder, self._logs, self._make_log, self._observer)
        steps.run(state, self._journal, recovery)

    def _load_checkpoint(self) -> CheckpointState:
        folders = [f"{self._folder}/{name}" for name in ("journal", "logs", SNAPSHOTS)]
        state = load_checkpoint(self._files, self._folder, self._observer.file_damaged)
        if state is None:
            if any(self._files.list(folder) for folder in folders):
                raise DataFolderDamaged(f"{self._folder} holds data, but neither copy of its checkpoint is readable")
            for folder in folders:
                self._files.make_dirs(folder)
            state = CheckpointState()
            save_checkpoint(self._files, self._folder, state)
        # A process killed during a checkpoint may have left a file name that is not durable yet.
        self._files.sync_dir(self._folder)
        return state

    def _make_log(self, log: LogId, segments: tuple[SegmentInfo, ...] = ()) -> DiskLog:
        return DiskLog(
            self._files,
            f"{self._folder}/logs/{log.topic}/{log.partition}",
            log,
            segment_bytes=self._settings.segment_bytes,
            open_segments=self._open_segments,
            observer=self._observer,
            segments=segments,
        )

    def close(self) -> None:
        """Close all files. Changes since the checkpoint are in the journal."""
        self._journal.close()
        if self._checkpoint_lsn == self._journal.written_lsn:
            # Only while the folder is locked: a second close must not touch the folder, which another process may hold.
            self._checkpoint_lsn = None
            free_journal(self._files, f"{self._folder}/journal")
        for log in self._logs.values():
            log.let_go()
        self._logs.clear()
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    # Reading.

    def logs(self) -> Sequence[LogId]:
        return tuple(self._logs)

    def log(self, log: LogId) -> Log:
        return self._log(log)

    def _log(self, log: LogId) -> DiskLog:
        try:
            return self._logs[log]
        except KeyError:
            raise UnknownLog(f"there is no log {log}") from None

    @property
    def failure(self) -> GoQueueError | None:
        return self._failure

    @property
    def written_lsn(self) -> Lsn:
        return self._journal.written_lsn

    @property
    def journal_bytes(self) -> int:
        return self._journal.live_bytes

    def free_share(self) -> float:
        space = self._files.space(self._folder)
        return space.free / space.total

    # Writing.

    def write(self, entries: Sequence[Entry]) -> list[GoQueueError | None]:
        """Write entries to the page cache; returns for each its error or None. A refused entry changes nothing."""
        size = plain_size(entries)
        if size is not None:
            return self._write_plain(entries, size)
        if REMOVALS.isdisjoint(map(type, chain.from_iterable(entries))):
            return self._write_mixed(entries)
        outcomes: list[GoQueueError | None] = []
        group: list[Entry] = []
        for entry in entries:
            if not REMOVALS.isdisjoint(map(type, entry)):
                outcomes += self._write_mixed(group)
                outcomes.append(self._write_removal(entry))
                group = []
            else:
                group.append(entry)
        return outcomes + self._write_mixed(group)

    def _write_mixed(self, entries: Sequence[Entry]) -> list[GoQueueError | None]:
        """Write entries with and without records; if there is no space for all, those without are written."""
        with_records = [AppendRecords in map(type, entry) for entry in entries]
        if not any(with_records):
            return self._write_group(entries, kept=self._file_bytes // KEPT_FROM_STATE)
        outcomes = self._write_group(entries)
        if all(with_records) or not all(isinstance(outcome, DiskFull) for outcome in outcomes):
            return outcomes
        others = [entry for entry, has_records in zip(entries, with_records, strict=True) if not has_records]
        written = iter(self._write_mixed(others))
        return [
            outcome if has_records else next(written)
            for outcome, has_records in zip(outcomes, with_records, strict=True)
        ]

    def _write_plain(self, entries: Sequence[Entry], size: int) -> list[GoQueueError | None]:
        """Write plain entries; all others are left to `_write_group`."""
        try:
            self._make_room(size, self._file_bytes // KEPT_FROM_RECORDS)
            failures = write_plain(entries, self._logs, self._journal)
        except GoQueueError as refusal:
            return [refusal] * len(entries)
        except OSError as error:
            return [self._fail(error)] * len(entries)
        return [None] * len(entries) if failures is None else self._write_group(entries, failures)

    def _write_group(
        self,
        entries: Sequence[Entry],
        failures: Mapping[LogId, GoQueueError] = NOTHING_WRONG,
        kept: int | None = None,
    ) -> list[GoQueueError | None]:
        """Write a group; `failures` are known errors of logs, `kept` bytes of the journal file stay free."""
        if not entries:
            return []
        sizes = list(map(journal_size, entries))
        group = GroupWrite(entries, sizes, self._logs, self._journal, self._make_log, failures)
        try:
            self._make_room(sum(sizes), self._file_bytes // KEPT_FROM_RECORDS if kept is None else kept)
            group.run()
        except GoQueueError as refusal:
            return [refusal] * len(entries)
        except OSError as error:
            return [self._fail(error)] * len(entries)
        for log, failure in group.failed_logs():
            self._observer.log_failed(log, failure)
        return group.outcomes

    @property
    def _file_bytes(self) -> int:
        return self._settings.journal_file_bytes

    def _make_room(self, length: int, kept: int) -> None:
        if self._failure is not None:
            raise self._failure
        if self._journal.live_bytes + length > self._settings.journal_max_bytes:
            raise self._journal_is_full()
        try:
            self._journal.make_room(length, kept)
        except OSError as error:
            if is_no_room(error):
                raise no_room("the journal", error) from error
            raise

    def _journal_is_full(self) -> GoQueueError:
        stuck = [str(log.id) for log in self._logs.values() if log.sync_failed]
        if stuck:
            return StorageFailed(f"the journal is full, as {stuck[0]} could not be synced and its entries are kept")
        return StorageBusy("the journal is full until the checkpoint under way is done")

    def _write_removal(self, entry: Entry) -> GoQueueError | None:
        """Write a removal: it cannot be undone, so its journal entry must be durable first."""
        outcome = self._prepare_removal(entry) or self._write_group([entry], kept=0)[0]
        if outcome is not None:
            return outcome
        try:
            self._journal.sync_now()
        except OSError as error:
            return self._fail(error)
        for operation in entry:
            # The removal is done even if some files could not be removed: recovery removes them.
            with suppress(OSError):
                self._remove(operation)
        return None

    def _prepare_removal(self, entry: Entry) -> GoQueueError | None:
        for operation in entry:
            if isinstance(operation, DropSegments) and operation.log in self._logs:
                try:
                    self._logs[operation.log].prepare_drop(operation.base_offsets)
                except OSError as error:
                    return refusal_of(error, operation.log)
        return None

    def _remove(self, operation: Operation) -> None:
        match operation:
            case DeleteLog(log):
                self._logs.pop(log).remove()
            case DropSegments(log, bases):
                self._logs[log].drop(bases)

    def begin_sync(self) -> None:
        """Start write-back, so that the next sync takes less time."""
        self._journal.begin_sync()

    def sync(self) -> Lsn:
        """Make all earlier writes durable."""
        if self._failure is not None:
            raise self._failure
        try:
            return self._journal.sync()
        except OSError as error:
            # The kernel may have dropped the pages that it could not write: another sync could succeed without them.
            raise self._fail(error) from error

    def prepare(self, *, sparing: bool = False) -> None:
        """Prepare the next journal file; if `sparing`, free the disk space of prepared files instead."""
        if self._failure is None:
            # The write that needs the file reports the error.
            with suppress(OSError):
                self._journal.give_back_spares() if sparing else self._journal.prepare()

    def _fail(self, error: OSError) -> StorageFailed:
        if self._failure is None:
            self._failure = StorageFailed(f"the journal could not be written: {error.strerror or error}")
            self._observer.storage_failed(self._failure)
        return self._failure

    # Checkpoints and compaction.

    def begin_checkpoint(self, snapshots: Mapping[str, Payload | None]) -> SlowWork:
        """Begin a checkpoint; `snapshots` has the streams changed since the last one, None for a removed stream."""
        stuck = next((log.failure for log in self._logs.values() if log.sync_failed), None)
        if stuck is not None:
            raise stuck
        logs = {str(log): found for log, found in self._logs.items()}
        lsn = self._journal.written_lsn
        return CheckpointWork(self._files, self._folder, lsn, logs, snapshots, self._snapshot_lsns)

    def finish_checkpoint(self, work: SlowWork) -> None:
        assert isinstance(work, CheckpointWork)
        self._snapshot_lsns = dict(work.state.snapshots)
        self._checkpoint_lsn = Lsn(work.state.lsn)
        for log, base in work.synced_before.items():
            # A log compacted since then must not be compacted again before a checkpoint covers it: recovery repeats the
            # merge, and would take the cleaned file of the next compaction for that of this one.
            if log.merged_lsn <= work.state.lsn:
                log.synced_before = base
        self._journal.release(work.state.lsn)
        self._open_segments.trim()

    def begin_compaction(self, log: LogId, policy: CompactionPolicy) -> SlowWork | None:
        """Work that compacts the sealed segments of the log, or None if there is nothing to compact."""
        found = self._log(log)
        segments = found.compactable(policy.limit_offset)
        if not segments or not found.is_worth_compacting(segments, policy.drop_tombstones_before_ns):
            return None
        return CompactionWork(self._files, found, segments, policy, self._settings.segment_bytes)

    def finish_compaction(self, work: SlowWork) -> None:
        assert isinstance(work, CompactionWork)
        if self._logs.get(work.log.id) is not work.log:
            return
        complete = True
        for cleaned in work.cleaned:
            if not work.log.holds(cleaned.base_offsets):
                complete = False
                work.discard(cleaned)
                continue
            operation = MergeSegments(work.log.id, cleaned.base_offsets)
            self._make_room(OPERATION_OVERHEAD + FRAME_HEAD.size + 8 * len(cleaned.base_offsets), 0)
            try:
                self._journal.stage(encode_operation(operation), 1)
                self._journal.flush()
                self._journal.sync_now()
            except OSError as error:
                raise self._fail(error) from error
            work.log.merge(cleaned.base_offsets)
            work.log.synced_before = 0
            work.log.merged_lsn = self._journal.written_lsn
        if complete:
            work.log.clean_before = work.clean_before
            work.log.clean_horizon_ns = work.policy.drop_tombstones_before_ns
