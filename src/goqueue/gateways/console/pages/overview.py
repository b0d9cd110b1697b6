"""Overview: what the broker does now, and what deserves a look."""

import heapq
from typing import NamedTuple

from goqueue.gateways.console.desk import Desk
from goqueue.gateways.console.group_rows import group_rows
from goqueue.gateways.console.page import Answer, Html, Live, NavItem, Page, Part, Update
from goqueue.gateways.console.timeline import RANGES
from goqueue.gateways.console.topic_rows import TopicRow, lags, topic_rows
from goqueue.gateways.console.visit import RangeQuery, Visit

__all__ = ["PART"]

MOST_ROWS = 8


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


async def overview(visit: Visit) -> Answer:
    values = {"signals": SIGNALS, "ranges": RANGES, **_state(visit), **await _figures(visit)}
    return Html("overview.html", values)


async def feed(visit: Visit, is_first: bool) -> Update:
    minutes = visit.read_query(RangeQuery).minutes
    history = visit.desk.history.whole
    charts = {one.name: history.points((one.name,), minutes, is_first=is_first) for one in SIGNALS}
    values = {**_state(visit), **await _figures(visit)}
    html = {
        "facts": visit.fragment("overview_facts.html", values),
        "busiest": visit.fragment("overview_topics.html", values),
        "behind": visit.fragment("overview_groups.html", values),
    }
    return Update(charts, html, is_first)


def _state(visit: Visit) -> dict[str, object]:
    broker = visit.broker
    return {
        "topic_count": len(broker.catalog),
        "group_count": len(broker.groups),
        "disk": broker.guard.used_share,
        "is_disk_full": broker.guard.is_full,
        "failure": "" if broker.storage.failure is None else broker.storage.failure.message,
        "uptime_ms": (visit.now - visit.desk.started_ns) // 1_000_000_000 * 1000,
    }


async def _figures(visit: Visit) -> dict[str, object]:
    """Sums and tables: found out once for all who watch."""
    return await visit.desk.recent("overview", lambda: _find_figures(visit.desk))


async def _find_figures(desk: Desk) -> dict[str, object]:
    topics = await topic_rows(desk)
    groups = await group_rows(desk.broker, [name for name, _ in (await lags(desk)).furthest])
    return {
        "partition_count": sum(row.partitions for row in topics),
        "record_count": sum(row.records for row in topics),
        "stored": sum(row.size for row in topics),
        "topics": heapq.nsmallest(MOST_ROWS, topics, key=_by_traffic),
        "groups": sorted(groups, key=lambda row: (-row.lag, row.name)),
    }


def _by_traffic(row: TopicRow) -> tuple[float, int, str]:
    return -(row.published + row.delivered), -row.records, row.name


PART = Part(
    pages=(Page("GET", "/", overview),),
    live=(Live("/live/overview", feed),),
    nav=(NavItem("", "Overview", "", "overview", "o"),),
)
