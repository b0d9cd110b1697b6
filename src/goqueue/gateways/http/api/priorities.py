"""How the lanes of queues fare."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from goqueue.core.priority.stats import LaneView
from goqueue.engine.broker import Broker
from goqueue.engine.queue.lane_views import QueueLanes, lanes_of
from goqueue.gateways.http.endpoint import Endpoint, Nothing
from goqueue.gateways.http.forms.times import instant_text
from goqueue.gateways.http.forms.values import PRIORITIES, PriorityName

__all__ = ["ENDPOINTS"]


class PriorityQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of all groups and topics, or of those named."""

    group: Annotated[str, Meta(max_length=300)] | UnsetType = UNSET
    topic: Annotated[str, Meta(max_length=300)] | UnsetType = UNSET


class LaneOut(msgspec.Struct, frozen=True, kw_only=True):
    """Rates are means over about ten seconds. `ready` counts new records that are still hidden, too."""

    priority: int
    name: PriorityName
    ready: int
    in_flight: int
    enqueued_per_second: float
    dequeued_per_second: float
    last_served: str | None
    oldest_waiting: str | None
    """When the record was published that has been ready for longest."""


class QueueOut(msgspec.Struct, frozen=True):
    """One partition that a group takes from."""

    group: str
    topic: str
    partition: int
    lanes: list[LaneOut]


class PriorityStats(msgspec.Struct, frozen=True):
    """The priorities of each partition that a group takes from."""

    queues: list[QueueOut]


async def stats(broker: Broker, _: Nothing, query: PriorityQuery, __: None) -> PriorityStats:
    found = await lanes_of(
        broker,
        group=None if query.group is UNSET else query.group,
        topic=None if query.topic is UNSET else query.topic,
    )
    return PriorityStats([_queue(one) for one in found])


def _queue(found: QueueLanes) -> QueueOut:
    return QueueOut(found.group, found.topic, found.partition, [_lane(lane) for lane in found.lanes])


def _lane(lane: LaneView) -> LaneOut:
    return LaneOut(
        priority=lane.priority,
        name=PRIORITIES[lane.priority],
        ready=lane.ready,
        in_flight=lane.in_flight,
        enqueued_per_second=round(lane.enqueued_per_s, 3),
        dequeued_per_second=round(lane.dequeued_per_s, 3),
        last_served=None if lane.last_served_ns is None else instant_text(lane.last_served_ns),
        oldest_waiting=None if lane.oldest_waiting_ns is None else instant_text(lane.oldest_waiting_ns),
    )


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/priority/stats",
        tag="Priorities",
        summary="Of each priority: what is ready, in flight, comes and goes",
        handler=stats,
        query=PriorityQuery,
        response=PriorityStats,
    ),
)
