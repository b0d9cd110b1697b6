"""Circuit breaker for dead letters: too many of them within a minute mean a fault beyond single records."""

from collections import deque

from goqueue.model.ids import InstantNs

__all__ = ["WINDOW_NS", "Breaker"]

WINDOW_NS = 60 * 1_000_000_000
STEP_NS = 1_000_000_000
"""Counts are kept per second, so a minute has at most sixty of them."""


class Breaker:
    """The breaker of one group in one topic."""

    def __init__(self) -> None:
        self._steps: deque[tuple[int, int]] = deque()
        self._count = 0

    def add(self, count: int, limit: int | None, *, now: InstantNs) -> bool:
        """Count more dead letters; True if the limit for a minute is exceeded. The count then restarts at zero."""
        self._forget(now)
        step = now // STEP_NS
        if self._steps and self._steps[-1][0] >= step:
            # The clock may have been set back.
            step, before = self._steps.pop()
            self._steps.append((step, before + count))
        else:
            self._steps.append((step, count))
        self._count += count
        if limit is None or self._count <= limit:
            return False
        self._steps.clear()
        self._count = 0
        return True

    def count(self, *, now: InstantNs) -> int:
        """Number of dead letters within the last minute."""
        self._forget(now)
        return self._count

    def _forget(self, now: InstantNs) -> None:
        oldest = (now - WINDOW_NS) // STEP_NS
        while self._steps and self._steps[0][0] <= oldest:
            self._count -= self._steps.popleft()[1]
