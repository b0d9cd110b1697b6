"""Storage in memory: the twin of the data folder, for tests and for brokers without persistence."""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from goqueue.adapters.memory.log import MemoryLog, MemorySegment
from goqueue.engine.ports import (
    AppendRecords,
    CompactionPolicy,
    CreateLog,
    DeleteLog,
    DropSegments,
    Entry,
    Log,
    Payload,
    Recovery,
    SlowWork,
    StateEvent,
)
from goqueue.errors import DataFolderInUse, GoQueueError, LogExists, RecordTooLarge, StorageBusy, UnknownLog
from goqueue.model.ids import Lsn
from goqueue.model.log import LogId

__all__ = ["MAX_ENTRY_BYTES", "MemoryDisk", "MemoryStore"]

MAX_ENTRY_BYTES = 24 * 1024 * 1024
SEGMENT_BYTES = 64 * 1024 * 1024


class _Checkpoint(NamedTuple):
    lsn: int
    snapshots: dict[str, bytes]


class _Journaled(NamedTuple):
    lsn: int
    size: int
    events: tuple[StateEvent, ...]


class MemoryDisk:
    """Content that outlives a store: the next store opened on it has everything that the last one wrote."""

    def __init__(self) -> None:
        self.in_use = False
        self.logs: dict[LogId, MemoryLog] = {}
        self.written_lsn = Lsn(0)
        self.checkpoint = _Checkpoint(0, {})
        self.journal: deque[_Journaled] = deque()
        self.journal_bytes = 0


class _CheckpointWork:
    def __init__(self, disk: MemoryDisk, snapshots: Mapping[str, Payload | None]) -> None:
        self._disk = disk
        merged = {**disk.checkpoint.snapshots, **snapshots}
        kept = {
            stream: payload() if callable(payload) else payload
            for stream, payload in merged.items()
            if payload is not None
        }
        self.checkpoint = _Checkpoint(disk.written_lsn, kept)

    def run(self) -> None:
        self._disk.checkpoint = self.checkpoint


class _CompactionWork:
    def __init__(self, log: MemoryLog, segments: Sequence[MemorySegment], policy: CompactionPolicy) -> None:
        self.log = log
        self._segments = segments
        self._policy = policy
        self.compacted: dict[MemorySegment, MemorySegment] = {}

    def run(self) -> None:
        latest: dict[bytes, int] = {}
        for segment in self._segments:
            segment.note_keys(latest, self._policy)
        self.compacted = {segment: segment.retained(latest, self._policy) for segment in self._segments}


class MemoryStore:
    """See `goqueue.engine.ports.Storage`."""

    def __init__(self, disk: MemoryDisk, *, segment_bytes: int = SEGMENT_BYTES) -> None:
        self._disk = disk
        self._segment_bytes = segment_bytes
        self._logs: dict[LogId, MemoryLog] = {}
        self._opened = False

    # Life cycle.

    def open(self, recovery: Recovery) -> None:
        disk = self._disk
        if disk.in_use:
            raise DataFolderInUse("another store has this memory open")
        disk.in_use = self._opened = True
        self._logs = disk.logs
        for stream, snapshot in disk.checkpoint.snapshots.items():
            recovery.restore(stream, snapshot)
        for entry in disk.journal:
            if entry.lsn > disk.checkpoint.lsn:
                for event in entry.events:
                    recovery.apply(event)

    def close(self) -> None:
        if self._opened:
            self._disk.in_use = self._opened = False
            self._logs = {}

    # Reading.

    def logs(self) -> Sequence[LogId]:
        return tuple(self._logs)

    def log(self, log: LogId) -> Log:
        return self._log(log)

    def _log(self, log: LogId) -> MemoryLog:
        try:
            return self._logs[log]
        except KeyError:
            raise UnknownLog(f"there is no log {log}") from None

    @property
    def failure(self) -> GoQueueError | None:
        return None

    @property
    def written_lsn(self) -> Lsn:
        return self._disk.written_lsn

    @property
    def journal_bytes(self) -> int:
        return self._disk.journal_bytes

    def prepare(self, *, sparing: bool = False) -> None:
        pass

    def free_share(self) -> float:
        return 1.0

    # Writing.

    def write(self, entries: Sequence[Entry]) -> list[GoQueueError | None]:
        return [self._write(entry) for entry in entries]

    def _write(self, entry: Entry) -> GoQueueError | None:
        size = sum(len(operation[1]) for operation in entry if isinstance(operation, AppendRecords | StateEvent))
        if size > MAX_ENTRY_BYTES:
            return RecordTooLarge(
                f"{size} bytes in one write, the limit is {MAX_ENTRY_BYTES}", hint="send smaller batches"
            )
        refusal = self._refuse(entry)
        if refusal is None:
            self._apply(entry)
            disk = self._disk
            disk.written_lsn = Lsn(disk.written_lsn + 1)
            events = tuple(operation for operation in entry if isinstance(operation, StateEvent))
            disk.journal.append(_Journaled(disk.written_lsn, size, events))
            disk.journal_bytes += size
        return refusal

    def _refuse(self, entry: Entry) -> GoQueueError | None:
        """Error if the entry cannot be written as a whole; `ends` has the log ends after its earlier operations."""
        ends: dict[LogId, int] = {}
        deleted: set[LogId] = set()
        for operation in entry:
            match operation:
                case AppendRecords(log, records, next_offset):
                    if log in deleted or (log not in self._logs and log not in ends):
                        return UnknownLog(f"there is no log {log}")
                    end = ends[log] if log in ends else self._logs[log].next_offset
                    if int.from_bytes(records[8:16], "big") != end:
                        return StorageBusy(f"{log} refuses the write: one before it was refused", hint="retry")
                    ends[log] = next_offset
                case CreateLog(log):
                    if log in self._logs or log in ends:
                        return LogExists(f"the log {log} exists")
                    ends[log] = 0
                case DeleteLog(log) | DropSegments(log):
                    if log not in self._logs or log in deleted:
                        return UnknownLog(f"there is no log {log}")
                    if isinstance(operation, DeleteLog):
                        deleted.add(log)
        return None

    def _apply(self, entry: Entry) -> None:
        for operation in entry:
            match operation:
                case AppendRecords(log, records, next_offset):
                    self._logs[log].append(bytes(records), next_offset)
                case CreateLog(log):
                    self._logs[log] = MemoryLog(self._segment_bytes)
                case DeleteLog(log):
                    self._logs.pop(log).remove()
                case DropSegments(log, bases):
                    self._logs[log].drop(bases)

    def begin_sync(self) -> None:
        """Nothing to do: memory needs no write-back."""

    def sync(self) -> Lsn:
        return self._disk.written_lsn

    # Checkpoints and compaction.

    def begin_checkpoint(self, snapshots: Mapping[str, Payload | None]) -> SlowWork:
        return _CheckpointWork(self._disk, snapshots)

    def finish_checkpoint(self, work: SlowWork) -> None:
        assert isinstance(work, _CheckpointWork)
        journal = self._disk.journal
        while journal and journal[0].lsn <= work.checkpoint.lsn:
            self._disk.journal_bytes -= journal.popleft().size

    def begin_compaction(self, log: LogId, policy: CompactionPolicy) -> SlowWork | None:
        found = self._log(log)
        segments = found.sealed_below(policy.limit_offset)
        return _CompactionWork(found, segments, policy) if segments else None

    def finish_compaction(self, work: SlowWork) -> None:
        assert isinstance(work, _CompactionWork)
        work.log.replace(work.compacted)
