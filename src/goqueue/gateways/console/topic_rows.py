"""Rows of topics as the lists show them: what is in each, what goes in and out, and who is furthest behind."""

import heapq
from typing import NamedTuple

from goqueue.engine.broker import Broker
from goqueue.engine.group_load import group_loads
from goqueue.engine.queue.dead_letters import DEAD_LETTER_SUFFIX
from goqueue.engine.slices import in_slices
from goqueue.engine.workbench.desk import Desk as LetterDesk
from goqueue.gateways.console.desk import Desk
from goqueue.gateways.console.figures import size, span
from goqueue.gateways.console.letters import open_count
from goqueue.model.topic import Cleanup, Topic, TopicConfig, TopicName

__all__ = ["Lags", "TopicRow", "lags", "topic_rows"]

MOST_BEHIND = 8
TOPICS_IN_A_SLICE = 20
FOREVER = float("inf")


class Lags(NamedTuple):
    """`of_topic` is the lag of the group that is furthest behind; topics that no group reads are not in it."""

    of_topic: dict[str, int]
    furthest: list[tuple[str, int]]
    """The groups that are furthest behind in all they read."""


class TopicRow(NamedTuple):
    """`lag` is None where no group reads; `letters` wait in `dead_letter_topic`."""

    name: str
    partitions: int
    records: int
    size: int
    published: float
    delivered: float
    lag: int | None
    letters: int
    dead_letter_topic: str
    retention: str
    retention_ms: float


async def lags(desk: Desk) -> Lags:
    return await desk.recent("lags", lambda: _find_lags(desk.broker))


async def _find_lags(broker: Broker) -> Lags:
    of_topic: dict[str, int] = {}
    furthest: list[tuple[int, str]] = []
    group, total = "", 0
    async for load in group_loads(broker):
        of_topic[load.topic] = max(load.lag, of_topic.get(load.topic, 0))
        if load.group != group:
            furthest = _with(furthest, total, group)
            group, total = load.group, 0
        total += load.lag
    furthest = _with(furthest, total, group)
    in_order = sorted(furthest, key=lambda one: (-one[0], one[1]))
    return Lags(of_topic, [(name, lag) for lag, name in in_order])


def _with(furthest: list[tuple[int, str]], lag: int, group: str) -> list[tuple[int, str]]:
    return heapq.nlargest(MOST_BEHIND, [*furthest, (lag, group)]) if group else furthest


async def topic_rows(desk: Desk) -> list[TopicRow]:
    """Of all topics."""
    return await desk.recent("topics", lambda: _find_rows(desk))


async def _find_rows(desk: Desk) -> list[TopicRow]:
    broker, found = desk.broker, await lags(desk)
    rows = []
    async for topic in in_slices(list(broker.catalog), TOPICS_IN_A_SLICE):
        if topic.name in broker.catalog:
            rows.append(_row(desk, topic, found.of_topic.get(topic.name)))
    return rows


def _row(desk: Desk, topic: Topic, lag: int | None) -> TopicRow:
    broker = desk.broker
    partitions = broker.partitions(topic.name)
    is_compacted = topic.config.cleanup is Cleanup.COMPACT
    dead = TopicName(topic.config.dead_letter_topic or f"{topic.name}{DEAD_LETTER_SUFFIX}")
    return TopicRow(
        topic.name,
        topic.partitions,
        sum(max(0, one.high_watermark - one.log.start_offset) for one in partitions),
        sum(one.log.size for one in partitions),
        desk.history.rate(topic.name, "published"),
        desk.history.rate(topic.name, "delivered"),
        lag,
        open_count(broker, LetterDesk(broker, dead, None)) if dead in broker.catalog else 0,
        dead,
        _retention(topic.config),
        FOREVER if topic.config.retention_ms is None or is_compacted else topic.config.retention_ms,
    )


def _retention(config: TopicConfig) -> str:
    """7d or 10 GiB; compacted."""
    if config.cleanup is Cleanup.COMPACT:
        return "compacted"
    limits = [] if config.retention_ms is None else [span(config.retention_ms)]
    limits += [] if config.retention_bytes is None else [size(config.retention_bytes)]
    kept = " or ".join(limits) or "for ever"
    return kept if config.cleanup is Cleanup.DELETE else f"compacted, {kept}"
