"""Plain write: the fast path for groups of records for healthy logs, with at most one event per entry.

All other groups, and groups with an error, are left to `GroupWrite`: then nothing of the group was written here.
"""

from collections.abc import Mapping, Sequence

from goqueue.adapters.disk.files import Buffer
from goqueue.adapters.disk.group_write import OPERATION_OVERHEAD, refusal_of
from goqueue.adapters.disk.journal import Journal
from goqueue.adapters.disk.journal_format import FRAME_HEAD, MAX_FRAME, encode_operation, encode_records
from goqueue.adapters.disk.log import DiskLog
from goqueue.engine.ports import AppendRecords, Entry, StateEvent
from goqueue.errors import GoQueueError
from goqueue.model.log import LogId

__all__ = ["NOTHING_WRONG", "plain_size", "write_plain"]

NOTHING_WRONG: Mapping[LogId, GoQueueError] = {}
ENTRY_OVERHEAD = FRAME_HEAD.size + 2 * OPERATION_OVERHEAD


def plain_size(entries: Sequence[Entry]) -> int | None:
    """Upper bound of the journal bytes of plain entries; None if any entry is not plain."""
    total = 0
    for entry in entries:
        if len(entry) > 2 or type(entry[0]) is not AppendRecords:
            return None
        size = ENTRY_OVERHEAD + len(entry[0].records)
        if len(entry) == 2:
            event = entry[1]
            if type(event) is not StateEvent:
                return None
            size += len(event.payload)
        if size > MAX_FRAME:
            return None
        total += size
    return total


def write_plain(
    entries: Sequence[Entry], logs: Mapping[LogId, DiskLog], journal: Journal
) -> Mapping[LogId, GoQueueError] | None:
    """Write the group; None if all of it was written, else the known errors of logs.

    An OSError means that the journal failed and nothing of the group was written.
    """
    touched: list[DiskLog] = []
    frames: list[tuple[list[Buffer], int]] = []
    log = None
    try:
        for entry in entries:
            append = entry[0]
            assert isinstance(append, AppendRecords)
            log_id, records, next_offset = append
            log = logs.get(log_id)
            if log is None or not log.takes(records):
                _rewind(touched)
                return NOTHING_WRONG
            if log not in touched:
                touched.append(log)
            base, position = log.stage(records, next_offset)
            parts = encode_records(log.name, base, position, next_offset, records)
            if len(entry) == 2:
                event = entry[1]
                assert isinstance(event, StateEvent)
                parts += encode_operation(event)
            frames.append((parts, len(entry)))
        for log in touched:
            log.flush()
    except OSError as error:
        assert log is not None
        _rewind(touched)
        return {log.id: refusal_of(error, log.id)}
    try:
        for parts, operations in frames:
            journal.stage(parts, operations)
        journal.flush()
    except OSError:
        _rewind(touched)
        raise
    for log in touched:
        log.confirm()
    return None


def _rewind(logs: Sequence[DiskLog]) -> None:
    for log in logs:
        log.rewind()
