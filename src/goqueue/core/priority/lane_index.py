"""Lane index of a partition: the offsets of all records that are not of normal priority.

Lanes are views of the log, which is the truth: a lane is a compressed bitmap of offsets, and the normal lane is every
offset that is in no other. A partition of normal records therefore keeps nothing, and a record missing from the index
counts as normal, which can change when it is delivered but never whether.

Memory for a million records: nothing when all are normal; 0.6 MB when the five priorities are mixed evenly, which is
four lanes of a bit for each offset and is the maximum; two to three bytes for each record that is not normal while
those are rare; some 20 KB when all have one other priority. A snapshot is smaller still.
"""

from bisect import bisect_left
from collections.abc import Iterable
from itertools import islice

import msgspec
from pyroaring import BitMap64

from goqueue.model.priority import LANES, NORMAL

__all__ = ["LaneIndex", "LaneKept", "LanesMarked"]

_BEYOND = 1 << 63
"""Larger than any offset."""
_NARROWEST_WINDOW = 256


class LanesMarked(msgspec.Struct, frozen=True, array_like=True):
    """Records were written from this offset on, not all of them normal: one byte for each."""

    base_offset: int
    priorities: bytes


class LaneKept(msgspec.Struct, frozen=True, array_like=True):
    """A lane other than the normal one in a snapshot: offsets in the portable 64-bit Roaring format."""

    priority: int
    offsets: bytes


class LaneIndex:
    """One for each partition. Ranges are `first` up to, but not including, `end`; the log knows where it ends.

    Answers are complete lists, not iterators: a bitmap must not change during iteration.
    """

    def __init__(self) -> None:
        self._marked: dict[int, BitMap64] = {}
        """Only lanes that hold something, so that the usual partition has an empty dict."""

    def __bool__(self) -> bool:
        """Whether any record is not normal."""
        return bool(self._marked)

    # Changes of the log

    def apply(self, event: LanesMarked) -> None:
        self.add(event.base_offset, event.priorities)

    def add(self, base_offset: int, priorities: bytes | None) -> None:
        """Records were written from this offset on; None when all are normal. Repeating the call changes nothing."""
        if priorities is None:
            return
        present = set(priorities)
        assert max(present, default=NORMAL) < LANES, "a priority that the codec does not allow"
        lanes = {priority: self._marked.setdefault(priority, BitMap64()) for priority in present if priority != NORMAL}
        if len(present) == 1:
            for lane in lanes.values():
                lane.add_range(base_offset, base_offset + len(priorities))
            return
        # A single pass: for the size of a batch, faster than making a bitmap of each lane and joining them.
        for offset, priority in enumerate(priorities, base_offset):
            if priority != NORMAL:
                lanes[priority].add(offset)

    def forget_below(self, offset: int) -> None:
        """Drop offsets below the log start."""
        self._forget(0, offset)

    def forget_from(self, offset: int) -> None:
        """Drop offsets from here on: the log was truncated, and these offsets will be given again."""
        self._forget(offset, _BEYOND)

    # Questions of a poll

    def take(self, priority: int, first: int, end: int, limit: int) -> list[int]:
        """The first offsets of a lane in a range, in order, at most `limit`."""
        if priority == NORMAL:
            return self._normal(first, end, limit)
        lane = self._marked.get(priority)
        if lane is None:
            return []
        found = list(islice(lane.iter_equal_or_larger(first), limit))
        if found and found[-1] >= end:
            del found[bisect_left(found, end) :]
        return found

    def within(self, priority: int, first: int, end: int) -> BitMap64:
        """All offsets of a lane in a range."""
        found = BitMap64()
        lane = self._marked.get(priority)
        if first >= end or (lane is None and priority != NORMAL):
            return found
        found.add_range(first, end)
        if lane is not None:
            found &= lane
        else:
            for other in self._marked.values():
                found -= other
        return found

    def count(self, priority: int, first: int, end: int) -> int:
        """Number of records of a lane in a range."""
        if priority == NORMAL:
            return max(end - first, 0) - sum(_count(lane, first, end) for lane in self._marked.values())
        lane = self._marked.get(priority)
        return 0 if lane is None else _count(lane, first, end)

    def counts(self, first: int, end: int) -> tuple[int, ...]:
        """Number of records of each lane in a range."""
        counts = [0] * LANES
        for priority, lane in self._marked.items():
            counts[priority] = _count(lane, first, end)
        counts[NORMAL] = max(end - first, 0) - sum(counts)
        return tuple(counts)

    def counts_of(self, offsets: BitMap64) -> dict[int, int]:
        """Number of these offsets in each lane."""
        counts = {priority: lane.intersection_cardinality(offsets) for priority, lane in self._marked.items()}
        return counts | {NORMAL: len(offsets) - sum(counts.values())}

    def priority_of(self, offset: int) -> int:
        for priority, lane in self._marked.items():
            if offset in lane:
                return priority
        return NORMAL

    # Snapshots

    def snapshot(self) -> tuple[LaneKept, ...]:
        for lane in self._marked.values():
            lane.run_optimize()
            lane.shrink_to_fit()
        return tuple(LaneKept(priority, lane.serialize()) for priority, lane in sorted(self._marked.items()))

    def restore(self, lanes: Iterable[LaneKept]) -> None:
        self._marked = {kept.priority: BitMap64.deserialize(kept.offsets) for kept in lanes}

    # Steps

    def _normal(self, first: int, end: int, limit: int) -> list[int]:
        """Search windows, each twice as wide as the one before: normal records may be dense or rare."""
        if not self._marked:
            return list(range(first, min(end, first + limit)))
        found: list[int] = []
        width = max(2 * limit, _NARROWEST_WINDOW)
        while first < end and len(found) < limit:
            stop = min(first + width, end)
            found.extend(islice(self.within(NORMAL, first, stop), limit - len(found)))
            first, width = stop, 2 * width
        return found

    def _forget(self, first: int, end: int) -> None:
        for lane in self._marked.values():
            lane.remove_range(first, end)
        self._marked = {priority: lane for priority, lane in self._marked.items() if lane}


def _count(lane: BitMap64, first: int, end: int) -> int:
    return lane.range_cardinality(first, end) if first < end else 0
