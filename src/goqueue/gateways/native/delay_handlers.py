"""What native requests about delayed records do."""

from goqueue.core.delay.states import DelayState
from goqueue.engine import delays
from goqueue.engine.broker import Broker
from goqueue.errors import GoQueueError, InvalidRequest
from goqueue.gateways.native.routes import Answer, Route
from goqueue.model.runs import offsets_of, runs_of
from goqueue.model.topic import TopicName
from goqueue.wire.native import messages
from goqueue.wire.native.frames import Opcode

__all__ = ["delay_routes"]


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

    async def cancel(request: messages.CancelDelayed) -> Answer:
        ended = await delays.cancel_delays(broker, TopicName(request.topic), _offsets_by_partition(request))
        return messages.CancelDelayedReply(tuple(map(_cancelled, ended))), []

    async def stats(_: messages.DelayStats) -> Answer:
        return messages.DelayStatsReply(tuple(messages.TopicDelays(*one) for one in delays.delay_stats(broker))), []

    return [
        Route(Opcode.LIST_DELAYED, messages.ListDelayed, listing),
        Route(Opcode.CHANGE_DELAY, messages.ChangeDelay, change),
        Route(Opcode.CANCEL_DELAYED, messages.CancelDelayed, cancel),
        Route(Opcode.DELAY_STATS, messages.DelayStats, stats),
    ]


def _shown(one: delays.DelayedRecord) -> messages.DelayedRecord:
    return messages.DelayedRecord(one.topic, one.partition, one.offset, one.state.value, one.due)


def _offsets_by_partition(request: messages.CancelDelayed) -> dict[int, list[int]]:
    counts = [count for given in request.records for _, count in given.runs]
    if any(count < 1 for count in counts):
        raise InvalidRequest("a run of records without a record", hint="count the records of each run")
    # Before they are written out: a few bytes can name more offsets than there is memory.
    if sum(counts) > delays.MOST_CANCELLED:
        raise InvalidRequest("too many records at once", hint=f"cancel at most {delays.MOST_CANCELLED} in one request")
    offsets: dict[int, list[int]] = {}
    for given in request.records:
        offsets.setdefault(given.partition, []).extend(offsets_of(given.runs))
    return offsets


def _cancelled(part: delays.CancelledPart) -> messages.CancelledPart:
    refused = tuple(messages.NotCancelled(_error(one.error), runs_of(one.offsets)) for one in part.refused)
    return messages.CancelledPart(part.partition, runs_of(part.cancelled), refused)


def _error(error: GoQueueError) -> messages.ErrorReply:
    return messages.ErrorReply(error.code, error.message, error.hint)
