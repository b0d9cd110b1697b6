"""The next records of a lane, looked up some polls in advance: to find them one poll at a time costs as much again."""

from array import array
from bisect import bisect_left
from typing import Protocol

from pyroaring import BitMap64

__all__ = ["Ahead", "Lanes"]

KEPT = 512
"""4 KB, of a lane that has a backlog."""
WINDOW = 2048
"""Looked through at first, and twice as much as before where too few are found: a lane may be dense or rare."""


class Lanes(Protocol):
    """Which records of the partition are in which lane. Of those that may be delivered none changes its lane."""

    def within(self, priority: int, first: int, end: int) -> BitMap64: ...


class Ahead:
    """Of one lane in one group. `end` is behind all that may be delivered by now; `first` mostly goes on.

    It goes back where what was decided could not be written: then they are looked up once more.
    """

    __slots__ = ("_first", "_lanes", "_offsets", "_priority", "_upto")

    def __init__(self, lanes: Lanes, priority: int) -> None:
        self._lanes = lanes
        self._priority = priority
        self._offsets = array("Q")
        self._first = self._upto = 0
        """All offsets of the lane from the first up to the second one are known."""

    def find(self, first: int, end: int, limit: int) -> "array[int]":
        """The first offsets of the lane in a range, in order, as many as `limit`."""
        at = self._at(first, end, limit)
        return self._offsets[at : at + limit]

    def count(self, first: int, end: int, enough: int) -> int:
        """How many there are in a range; any number from `enough` on if there are more."""
        at = self._at(first, end, enough)
        return len(self._offsets) - at

    def _at(self, first: int, end: int, wanted: int) -> int:
        """Where the known offsets of the range begin, once there are as many as wanted or no more."""
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
