"""Which records readers must skip now: the one rule, for pages, fetches and the queue.

A record is hidden while it is delayed, and for good when its delay was cancelled. Markers that the broker writes for
itself are never shown.
"""

from pyroaring import BitMap64

from goqueue.core.delay.states import DelayState
from goqueue.core.delivery.runs import runs_of
from goqueue.engine.partition import Partition
from goqueue.model.record import Flag, Record

__all__ = ["hidden", "is_marker", "is_never", "is_waiting", "skipped_runs"]


def hidden(partition: Partition, first: int, end: int) -> BitMap64:
    """Those from `first` up to and without `end`. May be called from any thread, once the records can be read."""
    found = partition.delays.hidden(first, end)
    start = partition.log.start_offset
    if start > first:
        # Retention has taken these while somebody read them, and what was known of them too.
        found.add_range(first, min(start, end))
    return found


def skipped_runs(partition: Partition, first: int, end: int) -> tuple[tuple[int, int], ...]:
    """As `hidden`, as runs: the first offset of each and how many."""
    found = hidden(partition, first, end)
    return tuple((run.first, run.count) for run in runs_of(found)) if found else ()


def is_waiting(partition: Partition, offset: int) -> bool:
    """Whether the record is hidden for now only. One that was cancelled is not: nobody needs to wait for it."""
    status = partition.delays.lookup(offset)
    return status is not None and status.state is DelayState.PENDING


def is_never(partition: Partition, offset: int) -> bool:
    """Whether the record is hidden for good."""
    return partition.delays.hides(offset) and not is_waiting(partition, offset)


def is_marker(record: Record) -> bool:
    return bool(record.flags & Flag.CONTROL)
