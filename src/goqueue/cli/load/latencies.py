"""Latencies as counts in buckets that are a hundredth wide, so that any number of them takes no room."""

import math
from collections.abc import Mapping

__all__ = ["Latencies"]

_WIDTH = math.log(1.01)
_LEAST_US = 1.0


class Latencies:
    """Adds up over processes; what it answers is at most one percent too high."""

    def __init__(self, counts: Mapping[int, int] | None = None) -> None:
        self.counts: dict[int, int] = dict(counts or {})

    def add(self, seconds: float, count: int = 1) -> None:
        bucket = math.ceil(math.log(max(_LEAST_US, seconds * 1e6)) / _WIDTH)
        self.counts[bucket] = self.counts.get(bucket, 0) + count

    def merge(self, other: Mapping[int, int]) -> None:
        for bucket, count in other.items():
            self.counts[bucket] = self.counts.get(bucket, 0) + count

    @property
    def total(self) -> int:
        return sum(self.counts.values())

    def at_ms(self, share: float) -> float | None:
        """So many of them were not slower; None when there are none."""
        left = math.ceil(share * self.total)
        for bucket in sorted(self.counts):
            left -= self.counts[bucket]
            if left <= 0:
                return math.exp(bucket * _WIDTH) / 1000
        return None
