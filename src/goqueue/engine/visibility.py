"""Which records readers must skip now, and how far they may go: the one rule, for pages, fetches and the queue.

In this order: markers that the broker writes for itself are never shown; a record is hidden while it is delayed, and
for good when its delay was cancelled; while its transaction is open; and for good when that was aborted. Readers stop
in front of the first record of an open transaction. Those who ask for uncommitted records see all but the first two.
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
    """Up to where records may be read now."""
    return partition.stable_offset if isolation is Isolation.COMMITTED else partition.high_watermark


def hidden(partition: Partition, first: int, end: int, isolation: Isolation = Isolation.COMMITTED) -> BitMap64:
    """Those from `first` up to and without `end`. May be called from any thread, once the records can be read."""
    found = partition.delays.hidden(first, end)
    outcomes = partition.outcomes
    if outcomes:
        found |= outcomes.hidden(first, end) if isolation is Isolation.COMMITTED else outcomes.markers(first, end)
    start = partition.log.start_offset
    if start > first:
        # Retention has taken these while somebody read them, and what was known of them too.
        found.add_range(first, min(start, end))
    return found


def hidden_sets(partition: Partition) -> tuple[BitMap64, BitMap64]:
    """Of the records up to the stable offset, those that are delayed, and those that are never shown.

    These are not copies where that can be avoided: not to be changed, and not to be kept.
    """
    delays, outcomes = partition.delays, partition.outcomes
    over = delays.never_due()
    if not outcomes:
        return delays.pending(), over
    # Below the stable offset no transaction is open.
    return delays.pending(), outcomes.unreadable | over if over else outcomes.unreadable


def hides_nothing(partition: Partition, first: int) -> bool:
    """Whether `hidden` is empty for all from `first` on, as mostly."""
    return not partition.delays.hides_any and not partition.outcomes and partition.log.start_offset <= first


def skipped_runs(partition: Partition, first: int, end: int, isolation: Isolation = Isolation.COMMITTED) -> Runs:
    """As `hidden`, as runs: the first offset of each and how many."""
    found = hidden(partition, first, end, isolation)
    return runs_of(found) if found else ()


def is_waiting(partition: Partition, offset: int) -> bool:
    """Whether the record is hidden for now only. One that was cancelled is not: nobody needs to wait for it."""
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
    """Up to where it is certain of each record whether it is ever seen, and those of them that never are.

    Markers are not among these: the log keeps them.
    """
    pending = partition.delays.first_pending()
    end = partition.stable_offset if pending is None else min(pending, partition.stable_offset)
    return end, partition.outcomes.aborted() | partition.delays.hidden(0, end)


def is_marker(record: Record) -> bool:
    return bool(record.flags & Flag.CONTROL)
