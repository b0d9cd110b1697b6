"""What calls about delayed records do."""

from operator import itemgetter

from goqueue import codec
from goqueue.core.delay.states import DelayState
from goqueue.engine import delays
from goqueue.engine.broker import Broker
from goqueue.engine.browse import as_given
from goqueue.errors import InvalidRequest
from goqueue.gateways.grpc.answering import detail_of
from goqueue.gateways.grpc.forms.asking import limited, optional
from goqueue.gateways.grpc.forms.showing import show, stored
from goqueue.gateways.grpc.service import Call, Handler, Service
from goqueue.model.delay import due_ns
from goqueue.model.topic import TopicName, topic_name
from goqueue.wire.grpc.v1 import delays_pb2 as wire
from goqueue.wire.grpc.v1 import places_pb2

__all__ = ["delay_service"]

USUAL_LIMIT = 100


def delay_service(broker: Broker) -> Service:
    async def listing(request: wire.ListDelayedRequest, _: Call) -> wire.ListDelayedResponse:
        name = topic_name(request.topic)
        limit = limited(optional(request, "limit"), USUAL_LIMIT, delays.MOST_LISTED)
        found = delays.list_delays(broker, name, skip=request.skip, limit=limit)
        total = sum(one.delays.count(DelayState.PENDING) for one in broker.partitions(name))
        return wire.ListDelayedResponse(delayed=[_delay(one) for one in found], total=total)

    async def one_delay(request: wire.GetDelayedRequest, _: Call) -> wire.GetDelayedResponse:
        place = _place(request)
        found = delays.find_delay(broker, *place)
        records = codec.decode(await delays.read_delayed(broker, *place))
        record = stored(place[0], as_given(request.partition, records[0])) if records else None
        return wire.GetDelayedResponse(delay=_delay(found), record=record)

    async def reschedule(request: wire.RescheduleDelayedRequest, _: Call) -> wire.RescheduleDelayedResponse:
        delay_ms, at = optional(request, "delay_ms"), optional(request, "deliver_at_ns")
        if delay_ms is None and at is None:
            raise InvalidRequest("neither a delay nor a time", hint="give delay_ms or deliver_at_ns")
        due = due_ns(delay_ms, at, now_ns=broker.clock.now_ns())
        changed = await delays.reschedule_delay(broker, *_place(request), due)
        return wire.RescheduleDelayedResponse(delay=_delay(changed))

    async def cancel(request: wire.CancelDelayedRequest, _: Call) -> wire.CancelDelayedResponse:
        if not request.records:
            raise InvalidRequest("no records", hint="say which records are to be cancelled")
        offsets: dict[int, list[int]] = {}
        for place in request.records:
            offsets.setdefault(place.partition, []).append(place.offset)
        parts = await delays.cancel_delays(broker, topic_name(request.topic), dict(sorted(offsets.items())))
        return _cancelled(parts)

    async def stats(_: wire.GetDelayStatsRequest, __: Call) -> wire.GetDelayStatsResponse:
        found = [show(wire.TopicDelays, one, next_due_ns=one.next_due) for one in delays.delay_stats(broker)]
        return wire.GetDelayStatsResponse(topics=found)

    methods: dict[str, Handler] = {
        "ListDelayed": listing,
        "GetDelayed": one_delay,
        "RescheduleDelayed": reschedule,
        "CancelDelayed": cancel,
        "GetDelayStats": stats,
    }
    return Service(wire.DESCRIPTOR.services_by_name["DelayService"], methods)


def _place(given: wire.GetDelayedRequest | wire.RescheduleDelayedRequest) -> tuple[TopicName, int, int]:
    return topic_name(given.topic), given.partition, given.offset


def _delay(one: delays.DelayedRecord) -> wire.Delay:
    return show(wire.Delay, one, deliver_at_ns=one.due)


def _cancelled(parts: list[delays.CancelledPart]) -> wire.CancelDelayedResponse:
    refused = [(part.partition, offset, one.error) for part in parts for one in part.refused for offset in one.offsets]
    refused.sort(key=itemgetter(0, 1))
    return wire.CancelDelayedResponse(
        cancelled=[
            places_pb2.Place(partition=part.partition, offset=offset) for part in parts for offset in part.cancelled
        ],
        not_cancelled=[
            wire.NotCancelled(partition=partition, offset=offset, error=detail_of(error))
            for partition, offset, error in refused
        ],
    )
