"""Sampling of records: derived from the record itself, so all components agree without communication.

A record that carries a context is traced if its trace is, which is decided by the low bits of the trace id, as in
OpenTelemetry: every other participant in that trace decides the same. A record without a context is sampled by its
offset.
"""

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from goqueue.model.runs import Runs, runs_of

__all__ = ["ALL_TRACES", "Sampler", "sampler"]

ALL_TRACES = 1 << 64
FINEST = 1_000_000
"""Rates are kept as a number of records in this many."""
_SPREAD = 0x9E3779B1
_SPACE = 1 << 32


class Sampler(NamedTuple):
    """`part` of `whole` records, spread as evenly as possible."""

    part: int
    whole: int
    below: int
    """Traces whose number is below this one are traced."""

    @property
    def is_all(self) -> bool:
        return self.part == self.whole

    def has_trace(self, trace_id: str) -> bool:
        return int(trace_id[16:], 16) < self.below

    def has_offset(self, partition: int, offset: int) -> bool:
        return (offset + self._phase(partition)) * self.part % self.whole < self.part

    def runs(self, partition: int, first: int, count: int) -> Runs:
        """The traced records of a run of records without contexts."""
        if count <= 0 or not self.part:
            return ()
        if self.is_all:
            return ((first, count),)
        part, whole = self.part, self.whole
        phase = self._phase(partition)
        start, end = first + phase, first + count + phase
        if part == 1:
            return tuple((offset, 1) for offset in self.spaced(partition, first, count))
        # The k-th traced record is at k·whole/part, rounded up.
        ks = range(-(-(start * part - part + 1) // whole), -(-(end * part - part + 1) // whole))
        return runs_of([-(-k * whole // part) - phase for k in ks])

    def spaced(self, partition: int, first: int, count: int) -> range:
        """Like `runs`, for a rate of one in `whole`."""
        phase, whole = self._phase(partition), self.whole
        return range(-(-(first + phase) // whole) * whole - phase, first + count, whole)

    def among(self, partition: int, offsets: Iterable[int]) -> list[int]:
        """The traced ones of any records without contexts."""
        phase, part, whole = self._phase(partition), self.part, self.whole
        return [offset for offset in offsets if (offset + phase) * part % whole < part]

    def _phase(self, partition: int) -> int:
        """Start of a partition in the pattern, so that partitions do not all trace the same offsets."""
        return (partition * _SPREAD % _SPACE) * self.whole // _SPACE


@lru_cache(maxsize=1024)
def sampler(rate: float) -> Sampler:
    """The sampler for a rate from 0 to 1."""
    if rate in {0.0, 1.0}:
        return Sampler(int(rate), 1, int(rate) * ALL_TRACES)
    share = Fraction(rate).limit_denominator(FINEST)
    if rate and not share:
        share = Fraction(1, FINEST)
    return Sampler(share.numerator, share.denominator, round(Fraction(rate) * ALL_TRACES))
