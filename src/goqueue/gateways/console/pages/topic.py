"""Topic page: what goes in and out, its partitions, its readers, its settings."""

import heapq
from typing import NamedTuple

import msgspec

from goqueue.engine.broker import Broker
from goqueue.engine.group_load import group_loads
from goqueue.engine.group_views import shown_state
from goqueue.engine.partition import Partition
from goqueue.engine.topics import amend_topic, delete_topic
from goqueue.errors import GoQueueError, InvalidRequest
from goqueue.gateways.console.answering import problem_of
from goqueue.gateways.console.desk import Desk
from goqueue.gateways.console.links import link
from goqueue.gateways.console.page import Answer, Html, Live, Page, Part, Redirect, Update
from goqueue.gateways.console.pages.tabs import topic_tabs
from goqueue.gateways.console.timeline import RANGES
from goqueue.gateways.console.topic_form import SECTIONS, config_of, texts_of
from goqueue.gateways.console.visit import RangeQuery, Visit
from goqueue.model.topic import HASH_SPACE, Topic, TopicName, topic_name

__all__ = ["PART"]

MOST_PARTITIONS_SHOWN = 200
MOST_READERS = 100
"""Groups that read the topic, those that are furthest behind."""
CHARTS = (("published", "Published"), ("delivered", "Delivered"), ("acked", "Acknowledged"), ("failed", "Failures"))


class PartitionRow(NamedTuple):
    number: int
    earliest: int
    latest: int
    stable: int
    size: int
    segments: int
    delayed: int
    share: float
    failure: str


class ReaderRow(NamedTuple):
    group: str
    state: str
    is_paused: bool
    lag: int


class Deletion(msgspec.Struct, frozen=True):
    name: str = ""


async def details(visit: Visit) -> Answer:
    topic = _topic(visit)
    return Html("topic.html", {**_around(topic), "charts": CHARTS, "ranges": RANGES, **await _state(visit.desk, topic)})


async def feed(visit: Visit, is_first: bool) -> Update:
    topic = _topic(visit)
    minutes = visit.read_query(RangeQuery).minutes
    history = visit.desk.history.of(topic.name)
    charts = {name: history.points((name,), minutes, is_first=is_first) for name, _ in CHARTS}
    state = await _state(visit.desk, topic)
    html = {
        "topic-facts": visit.fragment("topic_facts.html", state),
        "partitions": visit.fragment("topic_partitions.html", {"topic": topic, **state}),
        "readers": visit.fragment("topic_readers.html", {"topic": topic, **state}),
    }
    return Update(charts, html, is_first)


async def settings(visit: Visit) -> Answer:
    topic = _topic(visit)
    return Html("topic_settings.html", _form(topic, texts_of(topic.config)))


async def change(visit: Visit) -> Answer:
    topic = _topic(visit)
    try:
        await amend_topic(visit.broker, topic.name, lambda config: config_of(config, visit.fields))
    except GoQueueError as refusal:
        values = _form(topic, {**texts_of(topic.config), **visit.fields})
        return Html("topic_settings.html", {**values, "problem": problem_of(refusal)}, 400)
    return Redirect(link("topics", topic.name, "settings"), "topic-changed")


async def delete(visit: Visit) -> Answer:
    topic = _topic(visit)
    try:
        if visit.read_form(Deletion).name != topic.name:
            raise InvalidRequest("the name does not match, so nothing was deleted", hint=f"type {topic.name}")
        await delete_topic(visit.broker, topic.name)
    except GoQueueError as refusal:
        values = _form(topic, texts_of(topic.config))
        return Html("topic_settings.html", {**values, "problem": problem_of(refusal)}, 400)
    return Redirect(link("topics"), "topic-deleted")


def _topic(visit: Visit) -> Topic:
    return visit.broker.catalog.topic(topic_name(visit.params["topic"]))


def _around(topic: Topic) -> dict[str, object]:
    return {"topic": topic, "tabs": topic_tabs(topic.name)}


def _form(topic: Topic, texts: dict[str, str]) -> dict[str, object]:
    return {**_around(topic), "sections": SECTIONS, "texts": texts, "problem": None}


async def _state(desk: Desk, topic: Topic) -> dict[str, object]:
    broker = desk.broker
    partitions = broker.partitions(topic.name)
    tally = broker.tally.of(topic.name)
    return {
        "records": sum(max(0, one.high_watermark - one.log.start_offset) for one in partitions),
        "size": sum(one.log.size for one in partitions),
        "delayed": sum(len(one.delays) for one in partitions),
        "partition_count": len(partitions),
        "partitions": [_row(topic, one) for one in partitions[:MOST_PARTITIONS_SHOWN]],
        "readers": await desk.recent(f"readers of {topic.name}", lambda: _readers(broker, topic.name)),
        "tally": tally,
    }


def _row(topic: Topic, partition: Partition) -> PartitionRow:
    keys = topic.ranges[partition.id.partition]
    failure = partition.log.failure
    return PartitionRow(
        partition.id.partition,
        partition.log.start_offset,
        partition.high_watermark,
        partition.stable_offset,
        partition.log.size,
        len(partition.log.segments),
        len(partition.delays),
        (keys.stop - keys.start) / HASH_SPACE,
        "" if failure is None else failure.message,
    )


async def _readers(broker: Broker, name: TopicName) -> list[ReaderRow]:
    lags: list[tuple[int, str]] = []
    async for load in group_loads(broker):
        if load.topic == name:
            lags.append((load.lag, load.group))
    rows = []
    for lag, group_name in heapq.nlargest(MOST_READERS, lags):
        if group_name in broker.groups:
            group = broker.groups.group(group_name)
            state = shown_state(group, broker.workers.count(group))
            rows.append(ReaderRow(group_name, state.value, group.is_paused, lag))
    return rows


PART = Part(
    pages=(
        Page("GET", "/topics/{topic}", details),
        Page("GET", "/topics/{topic}/settings", settings),
        Page("POST", "/topics/{topic}/settings", change),
        Page("POST", "/topics/{topic}/delete", delete),
    ),
    live=(Live("/live/topics/{topic}", feed),),
)
