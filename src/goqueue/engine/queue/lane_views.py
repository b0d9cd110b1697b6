"""Views of priority lanes, in each partition, for each group that takes from it."""

import msgspec

from goqueue import codec
from goqueue.core.priority.stats import LaneView
from goqueue.engine.broker import Broker
from goqueue.engine.queue.gather import gather
from goqueue.engine.queue.states import QueueState
from goqueue.model.ids import InstantNs
from goqueue.model.priority import LANES
from goqueue.model.topic import TopicName

__all__ = ["QueueLanes", "lanes_of"]

ENOUGH_FOR_ONE = 1


class QueueLanes(msgspec.Struct, frozen=True):
    group: str
    topic: str
    partition: int
    lanes: tuple[LaneView, ...]


async def lanes_of(broker: Broker, *, group: str | None = None, topic: str | None = None) -> list[QueueLanes]:
    """The lanes of all groups and topics, or of those named."""
    states = [
        state
        for state in broker.queues
        if group in (None, state.group) and topic in (None, state.log.topic) and state.delivery.is_open
    ]
    found = [await _lanes(broker, state) for state in states if not state.is_internal]
    return sorted(found, key=lambda one: (one.group, one.topic, one.partition))


async def _lanes(broker: Broker, state: QueueState) -> QueueLanes:
    partition = broker.partition(TopicName(state.log.topic), state.log.partition)
    now, end = broker.clock.now_ns(), partition.stable_offset
    ready = state.delivery.ready(end, now=now)
    in_flight = state.delivery.leased_by_lane()
    lanes = []
    for lane in range(LANES):
        oldest = state.delivery.oldest_ready(lane, end)
        since = None
        if oldest is not None:
            records = codec.decode((await gather(broker, partition, [oldest], ENOUGH_FOR_ONE)).records)
            since = InstantNs(records[0].timestamp_ns) if records else None
        lanes.append(
            LaneView(
                lane,
                ready[lane],
                in_flight[lane],
                partition.enqueued.per_second(lane, now=now),
                state.dequeued.per_second(lane, now=now),
                state.dequeued.last(lane),
                since,
            )
        )
    return QueueLanes(state.group, state.log.topic, state.log.partition, tuple(lanes))
