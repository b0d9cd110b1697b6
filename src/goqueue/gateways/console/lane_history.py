"""How the queues that somebody watches have fared: what was ready in each lane, second by second."""

from collections import OrderedDict, deque
from typing import NamedTuple

import msgspec

from goqueue.engine.broker import Broker
from goqueue.engine.queue.lane_views import QueueLanes, lanes_of
from goqueue.gateways.console.history import EVERY_MS, KEPT
from goqueue.model.priority import LANES

__all__ = ["LaneHistory", "LaneMoment", "QueueWatch"]

MOST_QUEUES = 32
NS_PER_S = 1_000_000_000


class LaneMoment(NamedTuple):
    at: float
    ready: tuple[int, ...]
    """By lane, the most urgent first."""


class QueueWatch(msgspec.Struct):
    """One group in one topic."""

    moments: deque[LaneMoment]
    partitions: list[QueueLanes]
    sampled_ns: int = 0


class LaneHistory:
    """Looking costs reads, so it is done only for queues that are watched, and once for all who watch."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._watches: OrderedDict[tuple[str, str], QueueWatch] = OrderedDict()

    async def look(self, group: str, topic: str) -> QueueWatch:
        """As it is now, or was within the last second."""
        watch = self._watches.get((group, topic))
        if watch is None:
            watch = self._watches[group, topic] = QueueWatch(deque(maxlen=KEPT), [])
            if len(self._watches) > MOST_QUEUES:
                self._watches.popitem(last=False)
        self._watches.move_to_end((group, topic))
        now = self._broker.clock.now_ns()
        if not 0 <= now - watch.sampled_ns < EVERY_MS * 900_000:
            watch.sampled_ns = now
            watch.partitions = await lanes_of(self._broker, group=group, topic=topic)
            ready = (sum(one.lanes[lane].ready for one in watch.partitions) for lane in range(LANES))
            watch.moments.append(LaneMoment(now / NS_PER_S, tuple(ready)))
        return watch
