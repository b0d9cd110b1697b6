"""The first page: what happens right now, and what deserves a look."""

from itertools import islice
from typing import NamedTuple

from goqueue.engine.broker import Broker
from goqueue.engine.groups import lag_of
from goqueue.gateways.console.history import History, Moment
from goqueue.gateways.console.page import Answer, Html, Live, NavItem, Page, Part, Points, Update
from goqueue.gateways.console.visit import Visit

__all__ = ["PART"]

MOST_ROWS = 8
MOST_GROUPS = 1000
"""Among so many the furthest behind are looked for."""


class Signal(NamedTuple):
    """One chart; `unit` is how its figures are written, `tone` how it is drawn."""

    name: str
    label: str
    unit: str
    tone: str = "accent"


SIGNALS = (
    Signal("published", "Published", "rate"),
    Signal("delivered", "Delivered", "rate"),
    Signal("acked", "Acknowledged", "rate"),
    Signal("bytes_in", "Bytes in", "size"),
    Signal("in_flight", "In flight", "count"),
    Signal("delayed", "Delayed", "count"),
    Signal("failed", "Failures", "rate", "bad"),
    Signal("dead_lettered", "Dead letters", "rate", "bad"),
)


class TopicRow(NamedTuple):
    name: str
    partitions: int
    records: int
    size: int
    published: float
    delivered: float


class GroupRow(NamedTuple):
    name: str
    state: str
    members: int
    lag: int
    is_paused: bool


async def overview(visit: Visit) -> Answer:
    return Html("overview.html", {"signals": SIGNALS, **_facts(visit), **_tables(visit)})


async def feed(visit: Visit, is_first: bool) -> Update:
    moments = list(visit.desk.history.moments)
    new = moments if is_first else moments[-1:]
    charts = {signal.name: _points(new, signal.name) for signal in SIGNALS}
    tables = _tables(visit)
    html = {
        "facts": visit.fragment("overview_facts.html", _facts(visit)),
        "busiest": visit.fragment("overview_topics.html", tables),
        "behind": visit.fragment("overview_groups.html", tables),
    }
    return Update(charts, html, is_first)


def _points(moments: list[Moment], name: str) -> Points:
    return Points([one.at for one in moments], [[getattr(one, name) for one in moments]])


def _facts(visit: Visit) -> dict[str, object]:
    broker = visit.broker
    logs = [broker.storage.log(log) for log in broker.storage.logs()]
    return {
        "topic_count": len(broker.catalog),
        "partition_count": len(logs),
        "record_count": sum(log.next_offset - log.start_offset for log in logs),
        "stored": sum(log.size for log in logs),
        "group_count": len(broker.groups),
        "disk": broker.guard.used_share,
        "is_disk_full": broker.guard.is_full,
        "failure": "" if broker.storage.failure is None else broker.storage.failure.message,
        "uptime_ms": (visit.now - visit.desk.started_ns) // 1_000_000_000 * 1000,
    }


def _tables(visit: Visit) -> dict[str, object]:
    """With many groups, to know how far each is behind takes a while: it is found out once for all who watch."""
    return visit.desk.recent("overview", lambda: _find_tables(visit))


def _find_tables(visit: Visit) -> dict[str, object]:
    topics = topic_rows(visit.broker, visit.desk.history)
    topics.sort(key=lambda row: (-(row.published + row.delivered), -row.records, row.name))
    names = [group.name for group in islice(visit.broker.groups, MOST_GROUPS)]
    groups = [_group_row(visit.broker, name) for name in names]
    groups.sort(key=lambda row: (-row.lag, row.name))
    return {"topics": topics[:MOST_ROWS], "groups": groups[:MOST_ROWS]}


def topic_rows(broker: Broker, history: History) -> list[TopicRow]:
    rows = []
    for topic in broker.catalog:
        partitions = broker.partitions(topic.name)
        last = history.of(topic.name)
        rows.append(
            TopicRow(
                topic.name,
                topic.partitions,
                sum(max(0, one.high_watermark - one.log.start_offset) for one in partitions),
                sum(one.log.size for one in partitions),
                last[-1].published if last else 0.0,
                last[-1].delivered if last else 0.0,
            )
        )
    return rows


def _group_row(broker: Broker, name: str) -> GroupRow:
    group = broker.groups.group(name)
    view = group.describe()
    lag = sum(one.lag for one in lag_of(broker, group))
    return GroupRow(name, view.state.value, group.member_count, lag, view.is_paused)


PART = Part(
    pages=(Page("GET", "/", overview),),
    live=(Live("/live/overview", feed),),
    nav=(NavItem("", "Overview", "", "overview", "o"),),
)
