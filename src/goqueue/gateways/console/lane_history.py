"""History of the queues that are watched: what was ready in each lane, second by second."""

from collections import OrderedDict

import msgspec

from goqueue.engine.broker import Broker
from goqueue.engine.queue.lane_views import QueueLanes, lanes_of
from goqueue.gateways.console.history import EVERY_MS
from goqueue.gateways.console.timeline import Timeline
from goqueue.model.priority import LANES

__all__ = ["LANE_NAMES", "LaneHistory", "QueueWatch"]

MOST_QUEUES = 32
NS_PER_S = 1_000_000_000
LANE_NAMES = tuple(f"lane-{lane}" for lane in range(LANES))
"""Columns of the timeline: records ready in each lane, the most urgent first."""


class QueueWatch(msgspec.Struct):
    """One group in one topic."""

    ready: Timeline
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
            watch = self._watches[group, topic] = QueueWatch(Timeline(LANE_NAMES), [])
            if len(self._watches) > MOST_QUEUES:
                self._watches.popitem(last=False)
        self._watches.move_to_end((group, topic))
        now = self._broker.clock.now_ns()
        if not 0 <= now - watch.sampled_ns < EVERY_MS * 900_000:
            watch.sampled_ns = now
            watch.partitions = await lanes_of(self._broker, group=group, topic=topic)
            ready = [float(sum(one.lanes[lane].ready for one in watch.partitions)) for lane in range(LANES)]
            watch.ready.add(now / NS_PER_S, ready)
        return watch
