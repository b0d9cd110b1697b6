"""Queues: what is ready, what is in flight, how fast records come and go, and each priority of one queue."""

from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, NamedTuple

import msgspec

from goqueue.engine.broker import Broker
from goqueue.engine.group_load import group_loads, watched_groups
from goqueue.engine.queue.reliability import Reliability
from goqueue.engine.slices import in_slices
from goqueue.gateways.console.forms import PRIORITIES
from goqueue.gateways.console.lane_history import LANE_NAMES, QueueWatch
from goqueue.gateways.console.page import Answer, Html, Live, NavItem, Page, Part, Update
from goqueue.gateways.console.pages.tabs import topic_tabs
from goqueue.gateways.console.sorted_pages import ListQuery, ordering, sorted_page
from goqueue.gateways.console.timeline import RANGES, Timeline
from goqueue.gateways.console.visit import RangeQuery, Visit
from goqueue.gateways.console.workers import workers_of
from goqueue.model.priority import LANES
from goqueue.model.topic import Topic, TopicName, topic_name

__all__ = ["PART"]

MOST_PARTITIONS_SHOWN = 200
MOST_GROUPS_SHOWN = 20
QUEUES_IN_A_SLICE = 5


class Depth(NamedTuple):
    """What a queue holds: known of all of them, to sort by."""

    topic: str
    group: str
    ready: int
    in_flight: int
    resting: int


COLUMNS: Mapping[str, Callable[[Depth], float]] = {
    "ready": lambda row: row.ready,
    "in_flight": lambda row: row.in_flight,
    "retry": lambda row: row.resting,
}
"""That the list can be sorted by, beside the name."""


class QueueRow(NamedTuple):
    """Rates are per second. `is_idle`: records are ready, and no worker takes them."""

    depth: Depth
    published: float
    taken: float
    workers: int
    is_paused: bool
    is_idle: bool
    acked: int
    failed: int
    dead_lettered: int


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
    values = await _list(visit)
    return Html("queues_rows.html" if visit.is_partial else "queues.html", values)


async def list_feed(visit: Visit, is_first: bool) -> Update:
    return Update({}, {"rows": visit.fragment("queues_rows.html", await _list(visit))}, is_first)


async def _list(visit: Visit) -> dict[str, Any]:
    query = visit.read_query(ListQuery)
    order = ordering(query.sort or "-ready", lambda row: f"{row.topic} {row.group}", COLUMNS)
    found = await visit.desk.recent(
        f"queues {query}", lambda: sorted_page(_depths(visit.broker, query.q.lower()), order, query.page)
    )
    rows = [_row(visit, depth) async for depth in in_slices(found.rows, QUEUES_IN_A_SLICE) if _is_there(visit, depth)]
    return {"found": found, "rows": rows, "query": query}


async def _depths(broker: Broker, wanted: str) -> AsyncIterator[Depth]:
    async for load in group_loads(broker):
        if load.is_queue and (wanted in load.topic.lower() or wanted in load.group.lower()):
            yield Depth(load.topic, load.group, sum(load.ready), load.in_flight, load.resting)


def _is_there(visit: Visit, depth: Depth) -> bool:
    return depth.group in visit.broker.groups and depth.topic in visit.broker.catalog


def _row(visit: Visit, depth: Depth) -> QueueRow:
    broker, now = visit.broker, visit.broker.clock.now_ns()
    group = broker.groups.group(depth.group)
    states = [one for one in broker.queues.of_group(depth.group) if one.log.topic == depth.topic]
    partitions = broker.partitions(TopicName(depth.topic))
    workers = broker.workers.count(group)
    return QueueRow(
        depth,
        sum(one.enqueued.per_second(lane, now=now) for one in partitions for lane in range(LANES)),
        sum(one.dequeued.per_second(lane, now=now) for one in states for lane in range(LANES)),
        workers,
        group.is_paused,
        bool(depth.ready) and not workers and not group.member_count,
        sum(one.tally.acked for one in states),
        sum(one.tally.nacked + one.tally.rejected + one.tally.expired for one in states),
        sum(one.tally.dead_lettered for one in states),
    )


async def queue(visit: Visit) -> Answer:
    topic, group, queues = await _chosen(visit)
    values: dict[str, Any] = {
        "topic": topic,
        "tabs": topic_tabs(topic.name),
        "queues": queues,
        "group": group,
        "ranges": RANGES,
    }
    if group:
        values |= await _state(visit, topic, group)
    return Html("queue.html", {**values, "lane_names": PRIORITIES})


async def feed(visit: Visit, is_first: bool) -> Update:
    topic, group, _ = await _chosen(visit)
    if not group:
        return Update(first=is_first)
    minutes = visit.read_query(RangeQuery).minutes
    state = await _state(visit, topic, group)
    ready: Timeline = state["watch"].ready
    html = {
        "queue-facts": visit.fragment("queue_facts.html", state),
        "lanes": visit.fragment("queue_lanes.html", state),
        "workers": visit.fragment("workers.html", state),
        "queue-partitions": visit.fragment("queue_partitions.html", {"topic": topic, **state}),
    }
    return Update({"lanes": ready.points(LANE_NAMES, minutes, is_first=is_first)}, html, is_first)


async def _chosen(visit: Visit) -> tuple[Topic, str, list[str]]:
    """The topic, the group to show, and some of those that work on it; the first one if none is asked for."""
    topic = visit.broker.catalog.topic(topic_name(visit.params["topic"]))
    wanted = visit.read_query(QueueQuery).group
    names = await visit.desk.recent(f"queues of {topic.name}", lambda: _groups_of(visit.broker, topic.name))
    is_one = any(one.log.topic == topic.name and one.delivery.is_open for one in visit.broker.queues.of_group(wanted))
    return topic, wanted if is_one else (names[0] if names else ""), names


async def _groups_of(broker: Broker, topic: TopicName) -> list[str]:
    found: set[str] = set()
    async for group in in_slices(list(watched_groups(broker))):
        states = broker.queues.of_group(group.name)
        if len(found) < MOST_GROUPS_SHOWN and any(one.log.topic == topic and one.delivery.is_open for one in states):
            found.add(group.name)
    return sorted(found)


async def _state(visit: Visit, topic: Topic, group: str) -> dict[str, Any]:
    watch = await visit.desk.lanes.look(group, topic.name)
    now = visit.now
    lanes = [_lane(watch, topic, lane, now) for lane in range(LANES)]
    states = [one for one in visit.broker.queues.of_group(group) if one.log.topic == topic.name]
    figures = Reliability(group, topic.name)
    for one in states:
        figures.add(one)
    waits = [lane.oldest_ms for lane in lanes if lane.oldest_ms is not None]
    return {
        "watch": watch,
        "lanes": lanes,
        "figures": figures,
        "published": sum(lane.enqueued for lane in lanes),
        "taken": sum(lane.dequeued for lane in lanes),
        "workers": workers_of(visit.broker, visit.broker.groups.group(group)),
        "now": now,
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
    live=(Live("/live/queues", list_feed), Live("/live/topics/{topic}/queue", feed)),
    nav=(NavItem("Consumers", "Queues", "/queues", "queues", "q"),),
)
