"""Delayed records: which there are, and to cancel one or give it another time."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from goqueue import codec
from goqueue.core.delay.states import DelayState
from goqueue.engine import delays
from goqueue.engine.broker import Broker
from goqueue.engine.browse import as_given
from goqueue.gateways.http.api.params import TopicParams, TopicText
from goqueue.gateways.http.api.reading import MessageOut, OffsetNumber, message_of
from goqueue.gateways.http.endpoint import Endpoint, Nothing
from goqueue.gateways.http.forms.delays import DelayFields, due_of
from goqueue.gateways.http.forms.times import instant_text
from goqueue.gateways.http.forms.values import Form
from goqueue.gateways.http.rules import AtLeastOne, check_rules
from goqueue.model.topic import MOST_PARTITIONS, topic_name

__all__ = ["ENDPOINTS"]

TAG = "Delays"
AT = "/topics/{topic}/delayed/{partition}/{offset}"

StateName = Literal["pending", "delivered", "cancelled", "expired"]


class DelayedParams(msgspec.Struct, frozen=True):
    topic: TopicText
    partition: Annotated[int, Meta(ge=0, lt=MOST_PARTITIONS)]
    offset: OffsetNumber


class ListQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    limit: Annotated[int, Meta(ge=1, le=delays.MOST_LISTED)] = 100
    skip: Annotated[int, Meta(ge=0, le=delays.MOST_SKIPPED)] = 0


class ShowQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    format: Form | UnsetType = UNSET


class PatchBody(DelayFields, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Counted from now, or an instant. Zero, or one that has passed, makes the record due at once."""

    RULES = (*DelayFields.RULES, AtLeastOne("delay", "deliverAt", "deliver_at"))

    def __post_init__(self) -> None:
        check_rules(self)


class Delay(msgspec.Struct, frozen=True, kw_only=True, rename={"deliver_at": "deliverAt"}):
    """`deliverAt` is there as long as the record is pending."""

    partition: int
    offset: int
    state: StateName
    deliver_at: str | UnsetType = UNSET


class DelayedPage(msgspec.Struct, frozen=True):
    """Some of `total` pending records, the next one to be due first."""

    delayed: list[Delay]
    total: int


class DelayedMessage(Delay, frozen=True, kw_only=True, rename={"deliver_at": "deliverAt"}):
    """With the record itself; null when it is gone from the log."""

    message: MessageOut | None = None


class Cancelled(Delay, frozen=True, kw_only=True, rename={"deliver_at": "deliverAt"}):
    """In both spellings."""

    cancelled: bool = True
    canceled: bool = True


class TopicStats(msgspec.Struct, frozen=True, kw_only=True):
    """The delayed records of one topic."""

    topic: str
    pending: int
    delivered: int
    cancelled: int
    expired: int
    next_due: str | UnsetType = UNSET


class DelayStats(msgspec.Struct, frozen=True, kw_only=True):
    """Of records that are in the log, in all and by topic."""

    pending: int
    delivered: int
    cancelled: int
    expired: int
    topics: list[TopicStats]


async def list_delayed(broker: Broker, params: TopicParams, query: ListQuery, _: None) -> DelayedPage:
    name = topic_name(params.topic)
    found = delays.list_delays(broker, name, skip=query.skip, limit=query.limit)
    total = sum(one.delays.count(DelayState.PENDING) for one in broker.partitions(name))
    return DelayedPage([Delay(**_facts(one)) for one in found], total)


async def show(broker: Broker, params: DelayedParams, query: ShowQuery, _: None) -> DelayedMessage:
    place = (topic_name(params.topic), params.partition, params.offset)
    found = delays.find_delay(broker, *place)
    records = codec.decode(await delays.read_delayed(broker, *place))
    form = None if query.format is UNSET else query.format
    message = message_of(as_given(params.partition, records[0]), form) if records else None
    return DelayedMessage(**_facts(found), message=message)


async def reschedule(broker: Broker, params: DelayedParams, _: Nothing, body: PatchBody) -> Delay:
    due = due_of(body, now_ns=broker.clock.now_ns())
    place = (topic_name(params.topic), params.partition, params.offset)
    return Delay(**_facts(await delays.reschedule_delay(broker, *place, due)))


async def cancel(broker: Broker, params: DelayedParams, _: Nothing, __: None) -> Cancelled:
    found = await delays.cancel_delay(broker, topic_name(params.topic), params.partition, params.offset)
    return Cancelled(**_facts(found))


async def stats(broker: Broker, _: Nothing, __: Nothing, ___: None) -> DelayStats:
    found = delays.delay_stats(broker)
    return DelayStats(
        pending=sum(one.pending for one in found),
        delivered=sum(one.delivered for one in found),
        cancelled=sum(one.cancelled for one in found),
        expired=sum(one.expired for one in found),
        topics=[
            TopicStats(
                topic=one.topic,
                pending=one.pending,
                delivered=one.delivered,
                cancelled=one.cancelled,
                expired=one.expired,
                next_due=UNSET if one.next_due is None else instant_text(one.next_due),
            )
            for one in found
        ],
    )


def _facts(one: delays.DelayedRecord) -> dict[str, Any]:
    return {
        "partition": one.partition,
        "offset": one.offset,
        "state": one.state.value,
        "deliver_at": UNSET if one.due is None else instant_text(one.due),
    }


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/topics/{topic}/delayed",
        tag=TAG,
        summary="The delayed records of a topic, the next one to be due first",
        handler=list_delayed,
        params=TopicParams,
        query=ListQuery,
        response=DelayedPage,
        errors=(404,),
    ),
    Endpoint(
        method="GET",
        path=AT,
        tag=TAG,
        summary="What became of a delayed record, and the record itself",
        handler=show,
        params=DelayedParams,
        query=ShowQuery,
        response=DelayedMessage,
        errors=(404,),
    ),
    Endpoint(
        method="PATCH",
        path=AT,
        tag=TAG,
        summary="Deliver a delayed record at another time",
        handler=reschedule,
        params=DelayedParams,
        body=PatchBody,
        response=Delay,
        errors=(404, 409),
    ),
    Endpoint(
        method="DELETE",
        path=AT,
        tag=TAG,
        summary="Cancel a delayed record: it is never delivered",
        handler=cancel,
        params=DelayedParams,
        response=Cancelled,
        errors=(404, 409),
    ),
    Endpoint(
        method="GET",
        path="/delay/stats",
        tag=TAG,
        summary="How many records are delayed, delivered and cancelled",
        handler=stats,
        response=DelayStats,
    ),
)
