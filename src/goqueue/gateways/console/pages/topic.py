"""One topic: how it fares, its partitions, its settings."""

from itertools import islice
from typing import NamedTuple

import msgspec

from goqueue.engine.broker import Broker
from goqueue.engine.groups import lag_of
from goqueue.engine.partition import Partition
from goqueue.engine.topics import amend_topic, delete_topic
from goqueue.errors import GoQueueError, InvalidRequest
from goqueue.gateways.console.answering import problem_of
from goqueue.gateways.console.desk import Desk
from goqueue.gateways.console.history import TopicMoment
from goqueue.gateways.console.links import link
from goqueue.gateways.console.page import Answer, Html, Live, Page, Part, Points, Redirect, Update
from goqueue.gateways.console.pages.tabs import topic_tabs
from goqueue.gateways.console.topic_form import SECTIONS, config_of, texts_of
from goqueue.gateways.console.visit import Visit
from goqueue.model.topic import HASH_SPACE, Topic, TopicName, topic_name

__all__ = ["PART"]

MOST_PARTITIONS_SHOWN = 200
MOST_GROUPS = 1000
"""Among so many those that read the topic are looked for."""
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
    return Html("topic.html", {**_around(topic), "charts": CHARTS, **_state(visit.desk, topic)})


async def feed(visit: Visit, is_first: bool) -> Update:
    topic = _topic(visit)
    moments = list(visit.desk.history.of(topic.name))
    new = moments if is_first else moments[-1:]
    state = _state(visit.desk, topic)
    html = {
        "topic-facts": visit.fragment("topic_facts.html", state),
        "partitions": visit.fragment("topic_partitions.html", {"topic": topic, **state}),
        "readers": visit.fragment("topic_readers.html", {"topic": topic, **state}),
    }
    return Update({name: _points(new, name) for name, _ in CHARTS}, html, is_first)


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


def _state(desk: Desk, topic: Topic) -> dict[str, object]:
    broker = desk.broker
    partitions = broker.partitions(topic.name)
    tally = broker.tally.of(topic.name)
    return {
        "records": sum(max(0, one.high_watermark - one.log.start_offset) for one in partitions),
        "size": sum(one.log.size for one in partitions),
        "delayed": sum(len(one.delays) for one in partitions),
        "partition_count": len(partitions),
        "partitions": [_row(topic, one) for one in partitions[:MOST_PARTITIONS_SHOWN]],
        "readers": desk.recent(f"readers of {topic.name}", lambda: _readers(broker, topic.name)),
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


def _readers(broker: Broker, name: TopicName) -> list[ReaderRow]:
    rows = []
    for group in islice(broker.groups, MOST_GROUPS):
        view = group.describe()
        lags = [one.lag for one in lag_of(broker, group) if one.partition.topic == name]
        if lags:
            rows.append(ReaderRow(group.name, view.state.value, view.is_paused, sum(lags)))
    return sorted(rows)


def _points(moments: list[TopicMoment], name: str) -> Points:
    return Points([one.at for one in moments], [[getattr(one, name) for one in moments]])


PART = Part(
    pages=(
        Page("GET", "/topics/{topic}", details),
        Page("GET", "/topics/{topic}/settings", settings),
        Page("POST", "/topics/{topic}/settings", change),
        Page("POST", "/topics/{topic}/delete", delete),
    ),
    live=(Live("/live/topics/{topic}", feed),),
)
