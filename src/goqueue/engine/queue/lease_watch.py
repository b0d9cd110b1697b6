"""Lease watch: the lease deadlines of all queues, and the number of leased records.

A heap finds the few queues whose leases expire without a scan over all queues, of which there may be very many.
"""

import heapq
from collections.abc import Callable
from typing import TYPE_CHECKING

from goqueue.model.ids import InstantNs

if TYPE_CHECKING:
    from goqueue.engine.queue.states import QueueState

__all__ = ["LeaseWatch"]

FEW = 64
"""A heap of this size is not searched for outdated entries."""


class LeaseWatch:
    """A heap with one valid entry for each queue with leases: it may be too early, never too late."""

    def __init__(self, set_timer: Callable[[InstantNs], None]) -> None:
        self._set_timer = set_timer
        self._heap: list[tuple[InstantNs, int, QueueState]] = []
        self._count = 0
        self._outdated = 0
        self.leased = 0
        """Number of records, in all queues."""

    def __len__(self) -> int:
        """Number of entries, including outdated ones: at most twice the number of queues, or a few."""
        return len(self._heap)

    def watch(self, state: "QueueState", deadline: InstantNs) -> None:
        """Note that a lease of the queue expires at this time."""
        if state.looked_at is None or deadline < state.looked_at:
            self.forget(state)
            state.looked_at = deadline
            self._count += 1
            heapq.heappush(self._heap, (deadline, self._count, state))
            self._set_timer(deadline)

    def next_deadline(self) -> InstantNs | None:
        """When to ask what is due; perhaps before a lease expires, never after."""
        while self._heap and self._heap[0][2].looked_at != self._heap[0][0]:
            heapq.heappop(self._heap)
            self._outdated -= 1
        return self._heap[0][0] if self._heap else None

    def forget(self, state: "QueueState") -> None:
        """Drop the entry of a queue that was deleted, or that gets another one."""
        if state.looked_at is None:
            return
        state.looked_at = None
        self._outdated += 1
        if self._outdated > len(self._heap) // 2 and len(self._heap) > FEW:
            self._heap = [entry for entry in self._heap if entry[2].looked_at == entry[0]]
            heapq.heapify(self._heap)
            self._outdated = 0

    def due(self, now: InstantNs) -> "list[QueueState]":
        """Queues with expired leases; they stay due until the leases are returned."""
        found: list[tuple[QueueState, InstantNs]] = []
        while self._heap and self._heap[0][0] <= now:
            at, _, state = heapq.heappop(self._heap)
            if state.looked_at != at:
                self._outdated -= 1
                continue
            state.looked_at = None
            deadline = state.delivery.next_deadline()
            if deadline is not None and deadline <= now:
                found.append((state, deadline))
            elif deadline is not None:
                self.watch(state, deadline)
        for state, deadline in found:
            self.watch(state, deadline)
        return [state for state, _ in found]
