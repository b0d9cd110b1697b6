"""What native requests about delayed records do."""

from typing import Any

from goqueue.core.delay.states import DelayState
from goqueue.engine import delays
from goqueue.engine.broker import Broker
from goqueue.gateways.native.group_handlers import Route
from goqueue.model.topic import TopicName
from goqueue.wire.native import messages
from goqueue.wire.native.frames import Opcode

__all__ = ["delay_routes"]

Answer = tuple[Any, list[Any]]


def delay_routes(broker: Broker) -> list[Route]:
    """Opcode, request type and what answers it."""

    async def listing(request: messages.ListDelayed) -> Answer:
        topic = TopicName(request.topic)
        pending = sum(one.delays.count(DelayState.PENDING) for one in broker.partitions(topic))
        if request.partition is None or request.offset is None:
            found = delays.list_delays(broker, topic, skip=request.skip, limit=request.limit)
            return messages.DelayedList(tuple(map(_shown, found)), pending), []
        place = (topic, request.partition, request.offset)
        one = delays.find_delay(broker, *place)
        record = await delays.read_delayed(broker, *place)
        return messages.DelayedList((_shown(one),), pending), [record]

    async def change(request: messages.ChangeDelay) -> Answer:
        place = (TopicName(request.topic), request.partition, request.offset)
        if request.deliver_at_ns is None:
            return _shown(await delays.cancel_delay(broker, *place)), []
        return _shown(await delays.reschedule_delay(broker, *place, request.deliver_at_ns)), []

    async def stats(_: messages.DelayStats) -> Answer:
        return messages.DelayStatsReply(tuple(messages.TopicDelays(*one) for one in delays.delay_stats(broker))), []

    return [
        (Opcode.LIST_DELAYED, messages.ListDelayed, listing),
        (Opcode.CHANGE_DELAY, messages.ChangeDelay, change),
        (Opcode.DELAY_STATS, messages.DelayStats, stats),
    ]


def _shown(one: delays.DelayedRecord) -> messages.DelayedRecord:
    return messages.DelayedRecord(one.topic, one.partition, one.offset, one.state.value, one.due)
