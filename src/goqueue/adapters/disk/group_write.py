"""Group write: the records of several entries go to their logs, then all entries to the journal in one call.

An entry is written as a whole or not at all. If a log cannot be written, the entries that touch it are refused, and
every other log that those entries touch is rewound to its last confirmed end.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from goqueue.adapters.disk.files import Buffer, is_no_room
from goqueue.adapters.disk.journal import Journal
from goqueue.adapters.disk.journal_format import FRAME_HEAD, MAX_FRAME, encode_operation, encode_records
from goqueue.adapters.disk.log import DiskLog
from goqueue.engine.ports import AppendRecords, CreateLog, DeleteLog, DropSegments, Entry, StateEvent
from goqueue.errors import DiskFull, GoQueueError, LogExists, LogReadOnly, RecordTooLarge, StorageBusy, UnknownLog
from goqueue.model.log import LogId

__all__ = ["OPERATION_OVERHEAD", "GroupWrite", "journal_size", "no_room", "refusal_of"]

NO_ENDS: Mapping[LogId, int] = {}
OPERATION_OVERHEAD = 320
"""Maximum of journal bytes of an operation beyond its payload: heads, and a name of up to 255 bytes."""


def journal_size(entry: Entry) -> int:
    """Upper bound of the journal bytes of an entry."""
    size = FRAME_HEAD.size + OPERATION_OVERHEAD * len(entry)
    for operation in entry:
        if isinstance(operation, StateEvent):
            size += len(operation.payload)
        elif isinstance(operation, AppendRecords):
            size += len(operation.records)
        elif isinstance(operation, DropSegments):
            size += 8 * len(operation.base_offsets)
    return size


def no_room(where: object, error: OSError) -> DiskFull:
    file = f" ({error.filename})" if error.filename else ""
    return DiskFull(f"no room on the disk for {where}{file}")


def refusal_of(error: OSError, where: object) -> GoQueueError:
    """Error for the caller of a failed write."""
    if is_no_room(error):
        return no_room(where, error)
    return LogReadOnly(f"{where} refuses writes: {error.strerror or error}")


class _Staged(NamedTuple):
    parts: list[Buffer]
    operations: int
    logs: Sequence[LogId]


class GroupWrite:
    """Write of one group, used once."""

    def __init__(
        self,
        entries: Sequence[Entry],
        sizes: list[int],
        logs: dict[LogId, DiskLog],
        journal: Journal,
        make_log: Callable[[LogId], DiskLog],
        failures: Mapping[LogId, GoQueueError],
    ) -> None:
        self._entries = entries
        self._sizes = sizes
        """`journal_size` of each entry."""
        self._logs = logs
        self._journal = journal
        self._make_log = make_log
        self._staged: list[_Staged | None] = []
        self._failures = dict(failures)
        """Errors of logs that could not be written."""
        self.outcomes: list[GoQueueError | None] = []

    def run(self) -> None:
        """Write and fill `outcomes`; an OSError means that the journal failed and no entry was written."""
        touched: dict[LogId, None] = {}
        for entry, size in zip(self._entries, self._sizes, strict=True):
            refusal = self._refuse(entry, size)
            staged = None
            if refusal is None:
                staged = self._stage(entry)
                touched |= dict.fromkeys(staged.logs)
            self.outcomes.append(refusal)
            self._staged.append(staged)
        for log in touched:
            if log not in self._failures:
                self._flush(log)
        refused = self._refuse_with_failed() if self._failures else set()
        confirmed = [self._logs[log] for log in touched if log not in refused]
        try:
            self._write_journal()
        except OSError:
            for written in confirmed:
                written.rewind()
            for entry, staged in zip(self._entries, self._staged, strict=True):
                if staged is not None:
                    self._forget_created(entry)
            raise
        for written in confirmed:
            written.confirm()

    def _refuse(self, entry: Entry, size: int) -> GoQueueError | None:
        if size > MAX_FRAME:
            return RecordTooLarge(f"{size} bytes in one write, the limit is {MAX_FRAME}", hint="send smaller batches")
        if len(entry) == 1 or (len(entry) == 2 and isinstance(entry[1], StateEvent)):
            # The usual entry: an event, which touches no log.
            first = entry[0]
            if isinstance(first, StateEvent):
                return None
            if isinstance(first, AppendRecords):
                return self._refuse_append(first.log, first.records, NO_ENDS)
        ends: dict[LogId, int] = {}
        deleted: set[LogId] = set()
        for operation in entry:
            if isinstance(operation, StateEvent):
                continue
            if isinstance(operation, AppendRecords):
                log, records, next_offset = operation
                refusal = self._refuse_append(log, records, ends)
                if log in deleted or refusal is not None:
                    return refusal or UnknownLog(f"there is no log {log}")
                ends[log] = next_offset
                continue
            match operation:
                case CreateLog(log):
                    if log in self._logs or log in ends:
                        return LogExists(f"the log {log} exists")
                    ends[log] = 0
                case DeleteLog(log) | DropSegments(log, _):
                    if log not in self._logs or log in deleted:
                        return UnknownLog(f"there is no log {log}")
                    if isinstance(operation, DeleteLog):
                        deleted.add(log)
        return None

    def _refuse_append(self, log: LogId, records: Buffer, ends: Mapping[LogId, int]) -> GoQueueError | None:
        """Error if the records cannot be appended; `ends` has the log ends after earlier operations of the entry."""
        found = self._logs.get(log)
        if found is None and log not in ends:
            return UnknownLog(f"there is no log {log}")
        if found is not None and found.failure is not None:
            return found.failure
        if log in self._failures:
            return self._failures[log]
        end = ends.get(log, found.next_offset if found is not None else 0)
        if int.from_bytes(records[8:16], "big") != end:
            return StorageBusy(f"{log} refuses the write: one before it was refused", hint="retry")
        return None

    def _stage(self, entry: Entry) -> _Staged:
        parts: list[Buffer] = []
        logs: list[LogId] = []
        for operation in entry:
            if isinstance(operation, AppendRecords):
                log, records, next_offset = operation
                logs.append(log)
                found = self._logs[log]
                try:
                    base, position = found.stage(records, next_offset)
                except OSError as error:
                    self._failures[log] = refusal_of(error, log)
                else:
                    parts += encode_records(found.name, base, position, next_offset, records)
            else:
                if isinstance(operation, CreateLog):
                    logs.append(operation.log)
                    self._logs[operation.log] = self._make_log(operation.log)
                parts += encode_operation(operation)
        return _Staged(parts, len(entry), logs)

    def _flush(self, log: LogId) -> None:
        try:
            self._logs[log].flush()
        except OSError as error:
            self._failures[log] = refusal_of(error, log)

    def _refuse_with_failed(self) -> set[LogId]:
        """Refuse all entries that touch a failed log, and all logs that these entries touch; returns these logs."""
        reasons = dict(self._failures)
        spreading = True
        while spreading:
            spreading = False
            for number, staged in enumerate(self._staged):
                if staged is None:
                    continue
                reason = next((reasons[log] for log in staged.logs if log in reasons), None)
                if reason is not None:
                    self.outcomes[number] = reason
                    self._staged[number] = None
                    self._forget_created(self._entries[number])
                    for log in staged.logs:
                        reasons.setdefault(log, reason)
                    spreading = True
        for log in reasons:
            if log in self._failures and log in self._logs:
                self._logs[log].refuse(self._failures[log])
            elif log in self._logs:
                self._logs[log].rewind()
        return set(reasons)

    def failed_logs(self) -> list[tuple[LogId, GoQueueError]]:
        """Logs that accept no more writes because of this group."""
        return [(log, reason) for log, reason in self._failures.items() if isinstance(reason, LogReadOnly)]

    def _forget_created(self, entry: Entry) -> None:
        for operation in entry:
            if isinstance(operation, CreateLog):
                del self._logs[operation.log]

    def _write_journal(self) -> None:
        for staged in self._staged:
            if staged is not None:
                self._journal.stage(staged.parts, staged.operations)
        self._journal.flush()
