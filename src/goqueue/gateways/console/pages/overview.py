"""Overview: what the broker does now, and what deserves a look."""

from typing import NamedTuple

from goqueue.gateways.console.group_rows import group_rows
from goqueue.gateways.console.page import Answer, Html, Live, NavItem, Page, Part, Update
from goqueue.gateways.console.timeline import RANGES
from goqueue.gateways.console.topic_rows import lags, topic_rows
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
    values = {"signals": SIGNALS, "ranges": RANGES, **await _facts(visit), **await _tables(visit)}
    return Html("overview.html", values)


async def feed(visit: Visit, is_first: bool) -> Update:
    minutes = visit.read_query(RangeQuery).minutes
    history = visit.desk.history.whole
    charts = {one.name: history.points((one.name,), minutes, is_first=is_first) for one in SIGNALS}
    tables = await _tables(visit)
    html = {
        "facts": visit.fragment("overview_facts.html", await _facts(visit)),
        "busiest": visit.fragment("overview_topics.html", tables),
        "behind": visit.fragment("overview_groups.html", tables),
    }
    return Update(charts, html, is_first)


async def _facts(visit: Visit) -> dict[str, object]:
    broker, rows = visit.broker, await topic_rows(visit.desk)
    return {
        "topic_count": len(broker.catalog),
        "partition_count": sum(row.partitions for row in rows),
        "record_count": sum(row.records for row in rows),
        "stored": sum(row.size for row in rows),
        "group_count": len(broker.groups),
        "disk": broker.guard.used_share,
        "is_disk_full": broker.guard.is_full,
        "failure": "" if broker.storage.failure is None else broker.storage.failure.message,
        "uptime_ms": (visit.now - visit.desk.started_ns) // 1_000_000_000 * 1000,
    }


async def _tables(visit: Visit) -> dict[str, object]:
    topics = sorted(
        await topic_rows(visit.desk), key=lambda row: (-(row.published + row.delivered), -row.records, row.name)
    )
    behind = (await lags(visit.desk)).furthest
    groups = await group_rows(visit.broker, [name for name, _ in behind])
    return {"topics": topics[:MOST_ROWS], "groups": sorted(groups, key=lambda row: (-row.lag, row.name))}


PART = Part(
    pages=(Page("GET", "/", overview),),
    live=(Live("/live/overview", feed),),
    nav=(NavItem("", "Overview", "", "overview", "o"),),
)
