"""Histogram: counts in fixed buckets, cheap enough for every request."""

from collections.abc import Sequence

__all__ = ["COUNTS", "SECONDS", "Histogram"]

SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
COUNTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000)


class Histogram:
    """A value belongs to the first bucket whose bound it does not exceed; the last bucket has no bound."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = tuple(bounds)
        self.counts = [0] * (len(self.bounds) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        # Most values are small, so a linear search ends early.
        at, bounds = 0, self.bounds
        while at < len(bounds) and bounds[at] < value:
            at += 1
        self.counts[at] += 1
        self.total += value
