"""Writes of one transaction in one partition, as runs of records."""

from array import array
from collections.abc import Iterator

from pyroaring import BitMap64

__all__ = ["AFTER_ANY_OFFSET", "Writes"]

AFTER_ANY_OFFSET = 2**63 - 1


class Writes:
    """First, end, first, end, … ascending and disjoint: 16 bytes per run, while an empty bitmap takes hundreds."""

    __slots__ = ("bounds",)

    def __init__(self) -> None:
        self.bounds = array("q")

    @property
    def first(self) -> int:
        return self.bounds[0]

    @property
    def count(self) -> int:
        return sum(self.bounds[1::2]) - sum(self.bounds[::2])

    def runs(self) -> Iterator[tuple[int, int]]:
        return zip(self.bounds[::2], self.bounds[1::2], strict=True)

    def add(self, first: int, end: int) -> None:
        if self.bounds and self.bounds[-1] == first:
            self.bounds[-1] = end
        else:
            assert not self.bounds or self.bounds[-1] < first, "a log only grows at its end"
            self.bounds.extend((first, end))

    def keep(self, first: int, end: int) -> None:
        """Drop everything outside this range."""
        cut = ((max(start, first), min(stop, end)) for start, stop in self.runs())
        self.bounds = array("q", (bound for start, stop in cut if start < stop for bound in (start, stop)))

    def bitmap(self) -> BitMap64:
        offsets = BitMap64()
        for first, end in self.runs():
            offsets.add_range(first, end)
        return offsets
