"""A breaker over dead letters: too many of them within a minute, and something is wrong with more than the records."""

from collections import deque

from goqueue.model.ids import InstantNs

__all__ = ["WINDOW_NS", "Breaker"]

WINDOW_NS = 60 * 1_000_000_000
STEP_NS = 1_000_000_000
"""Counts are kept by the second, so that a minute costs no more than sixty of them."""


class Breaker:
    """Of one group in one topic."""

    def __init__(self) -> None:
        self._steps: deque[tuple[int, int]] = deque()
        self._count = 0

    def add(self, count: int, limit: int | None, *, now: InstantNs) -> bool:
        """So many more; whether that is over the limit for a minute. Then it starts to count from nothing."""
        self._forget(now)
        step = now // STEP_NS
        if self._steps and self._steps[-1][0] >= step:
            # Time may be set back.
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
        """How many within the last minute."""
        self._forget(now)
        return self._count

    def _forget(self, now: InstantNs) -> None:
        oldest = (now - WINDOW_NS) // STEP_NS
        while self._steps and self._steps[0][0] <= oldest:
            self._count -= self._steps.popleft()[1]
