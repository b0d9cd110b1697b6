"""Key order: at most one record of each key is in progress; later ones of the key wait for it in log order."""

from collections import deque
from collections.abc import Iterable

__all__ = ["KeyOrder"]

NO_KEY = 0


class KeyOrder:
    """Keys are identified by hash: two that collide share one order, which is harmless."""

    __slots__ = ("_busy", "_deferred", "_key_of", "_queues")

    def __init__(self) -> None:
        self._key_of: dict[int, int] = {}
        """The record in progress of each key: leased, resting until its retry, or next in turn."""
        self._busy: set[int] = set()
        self._queues: dict[int, deque[int]] = {}
        self._deferred = 0

    @property
    def deferred_count(self) -> int:
        return self._deferred

    def is_free(self, key: int) -> bool:
        return key not in self._busy

    def begin(self, offset: int, key: int) -> None:
        if key != NO_KEY:
            self._key_of[offset] = key
            self._busy.add(key)

    def defer(self, offset: int, key: int) -> None:
        self._queues.setdefault(key, deque()).append(offset)
        self._deferred += 1

    def end(self, offsets: Iterable[int]) -> list[int]:
        """Settle these records; returns the records that may be delivered next."""
        turns: list[int] = []
        if not self._key_of:
            return turns
        for offset in offsets:
            key = self._key_of.pop(offset, NO_KEY)
            if key == NO_KEY:
                continue
            queue = self._queues.get(key)
            if queue is None:
                self._busy.discard(key)
                continue
            turns.append(queue.popleft())
            self._deferred -= 1
            self._key_of[turns[-1]] = key
            if not queue:
                del self._queues[key]
        return turns

    def forget_below(self, below: int) -> list[int]:
        """Drop records below the log start; returns the records that may be delivered next."""
        for key, queue in list(self._queues.items()):
            while queue and queue[0] < below:
                queue.popleft()
                self._deferred -= 1
            if not queue:
                del self._queues[key]
        return self.end([offset for offset in self._key_of if offset < below])

    # Snapshots.

    def under_way(self) -> list[tuple[int, int]]:
        return sorted(self._key_of.items())

    def deferred(self) -> list[tuple[int, int]]:
        return sorted((offset, key) for key, queue in self._queues.items() for offset in queue)

    def restore(self, under_way: Iterable[tuple[int, int]], deferred: Iterable[tuple[int, int]]) -> None:
        for offset, key in under_way:
            self.begin(offset, key)
        for offset, key in deferred:
            self.defer(offset, key)
