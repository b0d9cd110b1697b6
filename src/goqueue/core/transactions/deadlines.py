"""Deadlines of live transactions: a cache beside the state, rebuilt from it after a restart."""

from collections.abc import Container
from heapq import heapify, heappop, heappush

from goqueue.model.ids import InstantNs

__all__ = ["Deadlines"]

STALE_MOST = 1_000
"""Entries of ended transactions in excess of live ones, beyond which they are swept out."""


class Deadlines:
    """A heap in which ended transactions stay until they come up or are swept out."""

    def __init__(self) -> None:
        self._heap: list[tuple[InstantNs, int]] = []

    def add(self, number: int, deadline: InstantNs) -> None:
        heappush(self._heap, (deadline, number))

    def sweep(self, live: Container[int], count: int) -> None:
        if len(self._heap) > 2 * count + STALE_MOST:
            self._heap = [entry for entry in self._heap if entry[1] in live]
            heapify(self._heap)

    def next(self, live: Container[int]) -> InstantNs | None:
        while self._heap and self._heap[0][1] not in live:
            heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def due(self, live: Container[int], now: InstantNs, most: int) -> list[int]:
        """Overdue transactions by deadline. Repeating the call gives the same answer."""
        found: list[tuple[InstantNs, int]] = []
        while self._heap and self._heap[0][0] <= now and len(found) < most:
            entry = heappop(self._heap)
            if entry[1] in live:
                found.append(entry)
        for entry in found:
            heappush(self._heap, entry)
        return [number for _, number in found]
