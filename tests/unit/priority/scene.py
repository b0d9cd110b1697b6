"""A partition read through its lanes, as a group does: a position in each lane, and a scheduler between them."""

from collections.abc import Iterable

from goqueue.core.priority.drr import LaneScheduler, Take
from goqueue.core.priority.lane_index import LaneIndex
from goqueue.core.priority.policy import LanePolicy
from goqueue.model.ids import InstantNs
from goqueue.model.priority import LANES, NORMAL

SECOND = 1_000_000_000
CRITICAL, HIGH, LOW, BACKGROUND = 0, 1, 3, 4


def at(seconds: float) -> InstantNs:
    return InstantNs(int(seconds * SECOND))


class Partition:
    """Published records, and one group that polls them."""

    def __init__(self, policy: LanePolicy | None = None) -> None:
        self.index = LaneIndex()
        self.end = 0
        self._scheduler = LaneScheduler(policy or LanePolicy())
        self._next = [0] * LANES

    def publish(self, priorities: Iterable[int]) -> None:
        batch = bytes(priorities)
        self.index.add(self.end, None if set(batch) <= {NORMAL} else batch)
        self.end += len(batch)

    def waiting(self) -> list[int]:
        return [self.index.count(lane, self._next[lane], self.end) for lane in range(LANES)]

    def poll(self, limit: int, seconds: float = 0, *, fits: int | None = None) -> list[int]:
        """Offsets in the order of their delivery; `fits` is how many of them the answer has room for."""
        waiting = self.waiting()
        delivered: list[int] = []
        taken = []
        for lane, count in self._scheduler.plan(waiting, limit, now=at(seconds)):
            room = count if fits is None else min(count, fits - len(delivered))
            offsets = self.index.take(lane, self._next[lane], self.end, room)
            if offsets:
                self._next[lane] = offsets[-1] + 1
                delivered += offsets
                taken.append(Take(lane, len(offsets)))
        self._scheduler.served(waiting, taken, now=at(seconds))
        return delivered

    def poll_priorities(self, limit: int, seconds: float = 0) -> list[int]:
        return [self.index.priority_of(offset) for offset in self.poll(limit, seconds)]
