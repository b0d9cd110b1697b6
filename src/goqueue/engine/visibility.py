"""Visibility: the records that readers skip and the offset at which they stop; one rule for pages, fetches and queues.

In this order: control records are never shown; a record is hidden while it is delayed, and for good if its delay was
cancelled; while its transaction is open; and for good if that was aborted. Readers stop at the first record of an open
transaction. Readers of uncommitted records see all but control records and delayed ones.
"""

from pyroaring import BitMap64

from goqueue.core.delay.states import DelayState
from goqueue.engine.partition import Partition
from goqueue.model.isolation import Isolation
from goqueue.model.record import Flag, Record
from goqueue.model.runs import Runs, runs_of

__all__ = [
    "certain_before",
    "end_of",
    "hidden",
    "hidden_sets",
    "hides_nothing",
    "is_marker",
    "is_never",
    "is_waiting",
    "skipped_runs",
]


def end_of(partition: Partition, isolation: Isolation = Isolation.COMMITTED) -> int:
    """The end of the records that may be read now."""
    return partition.stable_offset if isolation is Isolation.COMMITTED else partition.high_watermark


def hidden(partition: Partition, first: int, end: int, isolation: Isolation = Isolation.COMMITTED) -> BitMap64:
    """The hidden offsets from `first` up to, not including, `end`. Thread-safe for records that can be read."""
    found = partition.delays.hidden(first, end)
    outcomes = partition.outcomes
    if outcomes:
        found |= outcomes.hidden(first, end) if isolation is Isolation.COMMITTED else outcomes.markers(first, end)
    start = partition.log.start_offset
    if start > first:
        # Retention has dropped these, with their state, during the read.
        found.add_range(first, min(start, end))
    return found


def hidden_sets(partition: Partition) -> tuple[BitMap64, BitMap64]:
    """The delayed records below the last stable offset, and those that are never shown.

    Where possible these are not copies: do not change or keep them.
    """
    delays, outcomes = partition.delays, partition.outcomes
    over = delays.never_due()
    if not outcomes:
        return delays.pending(), over
    # Below the last stable offset no transaction is open.
    return delays.pending(), outcomes.unreadable | over if over else outcomes.unreadable


def hides_nothing(partition: Partition, first: int) -> bool:
    """Whether `hidden` is empty for all records from `first` on, which is the usual case."""
    return not partition.delays.hides_any and not partition.outcomes and partition.log.start_offset <= first


def skipped_runs(partition: Partition, first: int, end: int, isolation: Isolation = Isolation.COMMITTED) -> Runs:
    """Like `hidden`, as runs: the first offset of each and their number."""
    found = hidden(partition, first, end, isolation)
    return runs_of(found) if found else ()


def is_waiting(partition: Partition, offset: int) -> bool:
    """Whether the record is hidden only for now. A cancelled one is not waiting, as it never becomes visible."""
    if partition.outcomes.is_never(offset):
        return False
    status = partition.delays.lookup(offset)
    return status is not None and status.state is DelayState.PENDING


def is_never(partition: Partition, offset: int) -> bool:
    """Whether the record is hidden for good."""
    if partition.outcomes.is_never(offset):
        return True
    return partition.delays.hides(offset) and not is_waiting(partition, offset)


def certain_before(partition: Partition) -> tuple[int, BitMap64]:
    """The offset before which it is certain whether each record is ever visible, and the records that never are.

    Control records are not among them: the log keeps those.
    """
    pending = partition.delays.first_pending()
    end = partition.stable_offset if pending is None else min(pending, partition.stable_offset)
    return end, partition.outcomes.aborted() | partition.delays.hidden(0, end)


def is_marker(record: Record) -> bool:
    return bool(record.flags & Flag.CONTROL)
