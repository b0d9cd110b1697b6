"""Which records are traced: it follows from the record itself, so all who meet it agree without telling each other.

A record that carries a context is traced if its trace is, which goes by the number at the end of the trace's name, as
OpenTelemetry does it: whoever else has part in that trace decides the same. One that carries none goes by its offset.
"""

from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from goqueue.model.runs import Runs, runs_of

__all__ = ["ALL_TRACES", "Sampler", "sampler"]

ALL_TRACES = 1 << 64
FINEST = 1_000_000
"""Rates are kept to one in so many."""
_SPREAD = 0x9E3779B1
_SPACE = 1 << 32


class Sampler(NamedTuple):
    """`part` of `whole` records, as evenly as they can lie."""

    part: int
    whole: int
    below: int
    """Traces whose number is below this one."""

    @property
    def is_all(self) -> bool:
        return self.part == self.whole

    def has_trace(self, trace_id: str) -> bool:
        return int(trace_id[16:], 16) < self.below

    def has_offset(self, partition: int, offset: int) -> bool:
        return (offset + self._phase(partition)) * self.part % self.whole < self.part

    def runs(self, partition: int, first: int, count: int) -> Runs:
        """Of a run of records without contexts, those that are traced."""
        if count <= 0 or not self.part:
            return ()
        if self.is_all:
            return ((first, count),)
        part, whole = self.part, self.whole
        phase = self._phase(partition)
        start, end = first + phase, first + count + phase
        if part == 1:
            return tuple((offset, 1) for offset in self.spaced(partition, first, count))
        # The k-th of those that are traced is at k·whole/part, rounded up.
        ks = range(-(-(start * part - part + 1) // whole), -(-(end * part - part + 1) // whole))
        return runs_of([-(-k * whole // part) - phase for k in ks])

    def spaced(self, partition: int, first: int, count: int) -> range:
        """As `runs`, for a rate of one in so many."""
        phase, whole = self._phase(partition), self.whole
        return range(-(-(first + phase) // whole) * whole - phase, first + count, whole)

    def among(self, partition: int, offsets: Iterable[int]) -> list[int]:
        """Those that are traced of records without contexts that lie anywhere."""
        phase, part, whole = self._phase(partition), self.part, self.whole
        return [offset for offset in offsets if (offset + phase) * part % whole < part]

    def _phase(self, partition: int) -> int:
        """Where in the pattern a partition begins, so that not all have their turn at the same offsets."""
        return (partition * _SPREAD % _SPACE) * self.whole // _SPACE


@lru_cache(maxsize=1024)
def sampler(rate: float) -> Sampler:
    """For a rate from 0 to 1."""
    if rate in {0.0, 1.0}:
        return Sampler(int(rate), 1, int(rate) * ALL_TRACES)
    share = Fraction(rate).limit_denominator(FINEST)
    if rate and not share:
        share = Fraction(1, FINEST)
    return Sampler(share.numerator, share.denominator, round(Fraction(rate) * ALL_TRACES))
