"""Read-ahead of a lane: its next records, looked up some polls in advance, as a lookup doubles the cost of a poll."""

from array import array
from bisect import bisect_left
from typing import Protocol

from pyroaring import BitMap64

__all__ = ["Ahead", "Lanes"]

KEPT = 512
"""4 KB per lane with a backlog."""
WINDOW = 2048
"""The first window searched; it doubles while too few records are found, as a lane may be dense or rare."""


class Lanes(Protocol):
    """The lanes of the partition's records. A deliverable record never changes its lane."""

    def within(self, priority: int, first: int, end: int) -> BitMap64: ...


class Ahead:
    """Read-ahead of one lane in one group. `end` is behind all deliverable records; `first` mostly increases.

    `first` goes back when a decision could not be written: its records are then looked up again.
    """

    __slots__ = ("_first", "_lanes", "_offsets", "_priority", "_upto")

    def __init__(self, lanes: Lanes, priority: int) -> None:
        self._lanes = lanes
        self._priority = priority
        self._offsets = array("Q")
        self._first = self._upto = 0
        """All offsets of the lane between these two are known."""

    def find(self, first: int, end: int, limit: int) -> "array[int]":
        """The first offsets of the lane in a range, in order, at most `limit`."""
        at = self._at(first, end, limit)
        return self._offsets[at : at + limit]

    def count(self, first: int, end: int, enough: int) -> int:
        """Number of offsets in a range; any number from `enough` on if there are more."""
        at = self._at(first, end, enough)
        return len(self._offsets) - at

    def _at(self, first: int, end: int, wanted: int) -> int:
        """Index of the first known offset of the range, after looking up `wanted` offsets or all there are."""
        if first < self._first:
            self._offsets, self._first, self._upto = array("Q"), first, first
        at = bisect_left(self._offsets, first)
        if len(self._offsets) - at < wanted and self._upto < end:
            self._offsets, self._first = self._offsets[at:], first
            self._look_up(max(first, self._upto), end, wanted)
            return 0
        return at

    def _look_up(self, start: int, end: int, wanted: int) -> None:
        width = WINDOW
        while start < end and len(self._offsets) < wanted:
            stop = min(start + width, end)
            found = self._lanes.within(self._priority, start, stop).to_array()
            room = max(wanted, KEPT) - len(self._offsets)
            self._offsets += found[:room]
            start, width = (stop, 2 * width) if len(found) <= room else (self._offsets[-1] + 1, width)
        self._upto = start
