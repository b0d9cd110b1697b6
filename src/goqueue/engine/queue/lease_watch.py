"""Lease deadlines of all queues: which queue to look at next, and how many records are leased in all.

Nobody has to look through all queues for the few whose leases end: there may be very many.
"""

import heapq
from collections.abc import Callable
from typing import TYPE_CHECKING

from goqueue.model.ids import InstantNs

if TYPE_CHECKING:
    from goqueue.engine.queue.states import QueueState

__all__ = ["LeaseWatch"]

FEW = 64
"""Entries that are not worth a search for outdated ones."""


class LeaseWatch:
    """A heap with one valid entry for each queue that has leases: it may be too early, never too late."""

    def __init__(self, set_timer: Callable[[InstantNs], None]) -> None:
        self._set_timer = set_timer
        self._heap: list[tuple[InstantNs, int, QueueState]] = []
        self._count = 0
        self._outdated = 0
        self.leased = 0
        """Records, in all queues."""

    def __len__(self) -> int:
        """Entries, outdated ones too: at most twice as many as queues, or a few."""
        return len(self._heap)

    def watch(self, state: "QueueState", deadline: InstantNs) -> None:
        """A lease of the queue ends then."""
        if state.looked_at is None or deadline < state.looked_at:
            self.forget(state)
            state.looked_at = deadline
            self._count += 1
            heapq.heappush(self._heap, (deadline, self._count, state))
            self._set_timer(deadline)

    def next_deadline(self) -> InstantNs | None:
        """When to ask what is due; perhaps before a lease ends, never after."""
        while self._heap and self._heap[0][2].looked_at != self._heap[0][0]:
            heapq.heappop(self._heap)
            self._outdated -= 1
        return self._heap[0][0] if self._heap else None

    def forget(self, state: "QueueState") -> None:
        """The queue was deleted, or is watched from another instant on."""
        if state.looked_at is None:
            return
        state.looked_at = None
        self._outdated += 1
        if self._outdated > len(self._heap) // 2 and len(self._heap) > FEW:
            self._heap = [entry for entry in self._heap if entry[2].looked_at == entry[0]]
            heapq.heapify(self._heap)
            self._outdated = 0

    def due(self, now: InstantNs) -> "list[QueueState]":
        """Queues with leases whose time is up; they are due until these are taken back."""
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
