"""Queues: what waits, what is under way, and how each priority of a topic fares in a group."""

from typing import Any, NamedTuple

import msgspec

from goqueue.engine.queue.reliability import Reliability, reliability
from goqueue.gateways.console.forms import PRIORITIES
from goqueue.gateways.console.lane_history import QueueWatch
from goqueue.gateways.console.page import Answer, Html, Live, NavItem, Page, Part, Points, Update
from goqueue.gateways.console.pages.tabs import topic_tabs
from goqueue.gateways.console.visit import Visit
from goqueue.model.priority import LANES
from goqueue.model.topic import Topic, topic_name

__all__ = ["PART"]

MOST_QUEUES = 200
MOST_PARTITIONS_SHOWN = 200


class QueueQuery(msgspec.Struct, frozen=True):
    group: str = ""


class LaneRow(NamedTuple):
    """A priority, summed over partitions; `oldest_ms` is how long its oldest record has waited."""

    number: int
    name: str
    weight: int
    ready: int
    in_flight: int
    enqueued: float
    dequeued: float
    oldest_ms: float | None


async def listing(visit: Visit) -> Answer:
    found = await reliability(visit.broker)
    return Html("queues.html", {"queues": found[:MOST_QUEUES], "total": len(found)})


async def queue(visit: Visit) -> Answer:
    topic, group, queues = await _chosen(visit)
    values: dict[str, Any] = {"topic": topic, "tabs": topic_tabs(topic.name), "queues": queues, "group": group}
    if group:
        values |= await _state(visit, topic, group)
    return Html("queue.html", {**values, "lane_names": PRIORITIES})


async def feed(visit: Visit, is_first: bool) -> Update:
    topic, group, _ = await _chosen(visit)
    if not group:
        return Update(first=is_first)
    state = await _state(visit, topic, group)
    moments = list(state["watch"].moments)
    new = moments if is_first else moments[-1:]
    lanes = [[float(one.ready[lane]) for one in new] for lane in range(LANES)]
    html = {
        "queue-facts": visit.fragment("queue_facts.html", state),
        "lanes": visit.fragment("queue_lanes.html", state),
        "queue-partitions": visit.fragment("queue_partitions.html", {"topic": topic, **state}),
    }
    return Update({"lanes": Points([one.at for one in new], lanes)}, html, is_first)


async def _chosen(visit: Visit) -> tuple[Topic, str, list[Reliability]]:
    """The topic, the group to show, and all there are; without a wish the first."""
    topic = visit.broker.catalog.topic(topic_name(visit.params["topic"]))
    queues = [one for one in await reliability(visit.broker) if one.topic == topic.name]
    wanted = visit.read_query(QueueQuery).group
    names = [one.group for one in queues]
    return topic, wanted if wanted in names else (names[0] if names else ""), queues


async def _state(visit: Visit, topic: Topic, group: str) -> dict[str, Any]:
    watch = await visit.desk.lanes.look(group, topic.name)
    now = visit.now
    lanes = [_lane(watch, topic, lane, now) for lane in range(LANES)]
    figures = next(
        (one for one in await reliability(visit.broker) if (one.group, one.topic) == (group, topic.name)), None
    )
    waits = [lane.oldest_ms for lane in lanes if lane.oldest_ms is not None]
    return {
        "watch": watch,
        "lanes": lanes,
        "figures": figures if figures is not None else Reliability(group, topic.name),
        "ready": sum(lane.ready for lane in lanes),
        "in_flight": sum(lane.in_flight for lane in lanes),
        "delayed": sum(len(one.delays) for one in visit.broker.partitions(topic.name)),
        "oldest_ms": max(waits, default=None),
        "partitions": watch.partitions[:MOST_PARTITIONS_SHOWN],
    }


def _lane(watch: QueueWatch, topic: Topic, number: int, now: int) -> LaneRow:
    views = [one.lanes[number] for one in watch.partitions]
    oldest = min((view.oldest_waiting_ns for view in views if view.oldest_waiting_ns is not None), default=None)
    return LaneRow(
        number,
        PRIORITIES[number],
        topic.config.lane_weights[number],
        sum(view.ready for view in views),
        sum(view.in_flight for view in views),
        # What is published to a partition counts once, in whichever group it is looked at.
        sum(view.enqueued_per_s for view in views),
        sum(view.dequeued_per_s for view in views),
        None if oldest is None else max(0, now - oldest) / 1_000_000,
    )


PART = Part(
    pages=(
        Page("GET", "/queues", listing),
        Page("GET", "/topics/{topic}/queue", queue),
    ),
    live=(Live("/live/topics/{topic}/queue", feed),),
    nav=(NavItem("Consumers", "Queues", "/queues", "queues", "q"),),
)
