"""The workbench for dead letters: which topics have some and why, and those of one topic that fit a filter."""

from typing import NamedTuple

from goqueue.engine.broker import Broker
from goqueue.engine.queue.dead_letters import is_dead_letter_topic
from goqueue.engine.workbench.desk import Desk
from goqueue.engine.workbench.stats import LetterStats, letter_stats
from goqueue.gateways.console.cursors import cursor, place
from goqueue.gateways.console.figures import count
from goqueue.gateways.console.letters import Filter, desk_in, open_count, rows_from
from goqueue.gateways.console.links import link
from goqueue.gateways.console.page import Answer, Html, Live, NavItem, Page, Part, Update
from goqueue.gateways.console.visit import Visit
from goqueue.model.topic import TopicName

__all__ = ["PART"]

MOST_TOPICS = 200
COUNTED_AT_ONCE = 5000
"""Letters whose reasons are looked at while a page is made; with more of them, somebody has to ask."""
MOST_REASONS = 6
CAUSES = (("", "Any"), ("rejected", "Rejected"), ("failed too often", "Failed too often"), ("expired", "Expired"))


class DeadTopic(NamedTuple):
    """`sources` are topics whose records die into this one."""

    name: str
    letters: int
    sources: list[str]
    reasons: list[tuple[str, int]]
    newest_ns: int | None


class ListQuery(Filter, frozen=True):
    after: str = ""


async def overview(visit: Visit) -> Answer:
    return Html("dlq.html", await _topics(visit.broker, visit.now))


async def overview_feed(visit: Visit, _: bool) -> Update:
    """Only how many there are: to know why, they would have to be read every second."""
    broker = visit.broker
    names = sorted(_sources(broker))[:MOST_TOPICS]
    counts = {name: open_count(broker, Desk(broker, TopicName(name), None)) for name in names}
    shown = {f"letters-of-{name}": visit.fragment("dlq_count.html", {"count": many}) for name, many in counts.items()}
    return Update(html={**shown, "letters-in-all": count(sum(counts.values()))})


async def letters(visit: Visit) -> Answer:
    desk, query = desk_in(visit), visit.read_query(ListQuery)
    page = await rows_from(visit.broker, desk, query.wanted, place(query.after))
    letter_count = open_count(visit.broker, desk)
    values = {
        "topic": visit.params["topic"],
        "desk": desk,
        "query": query,
        "given": query.given,
        "causes": CAUSES,
        "rows": page.rows,
        "count": letter_count,
        "next": link("dlq", visit.params["topic"], **query.given, after=cursor(page.last)) if page.last else "",
    }
    if visit.is_partial:
        return Html("dlq_letters.html", values)
    stats = await letter_stats(desk) if letter_count <= COUNTED_AT_ONCE else None
    return Html("dlq_topic.html", {**values, **_stats_values(visit, desk, stats)})


async def stats(visit: Visit) -> Answer:
    desk = desk_in(visit)
    values = _stats_values(visit, desk, await letter_stats(desk))
    template = "dlq_stats.html" if visit.is_partial else "dlq_stats_page.html"
    return Html(template, {**values, "topic": visit.params["topic"], "count": open_count(visit.broker, desk)})


def _stats_values(visit: Visit, desk: Desk, found: LetterStats | None) -> dict[str, object]:
    return {
        "stats": found,
        "reasons": [] if found is None else found.by_reason.most_common(MOST_REASONS),
        "by_cause": [] if found is None else found.by_cause.most_common(),
        "by_group": [] if found is None else found.by_group.most_common(MOST_REASONS),
        "now": visit.now,
        "sources": _sources(visit.broker).get(desk.name, []),
    }


async def _topics(broker: Broker, now: int) -> dict[str, object]:
    names = sorted(_sources(broker).items())
    rows = [await _topic_row(broker, name, sources) for name, sources in names[:MOST_TOPICS]]
    return {
        "topics": sorted(rows, key=lambda row: (-row.letters, row.name)),
        "total": len(names),
        "letters": sum(row.letters for row in rows),
        "now": now,
    }


async def _topic_row(broker: Broker, name: str, sources: list[str]) -> DeadTopic:
    desk = Desk(broker, TopicName(name), None)
    letter_count = open_count(broker, desk)
    found = await letter_stats(desk) if letter_count <= COUNTED_AT_ONCE else None
    reasons = [] if found is None else found.by_reason.most_common(2)
    return DeadTopic(name, letter_count, sources, reasons, None if found is None else found.newest_ns)


def _sources(broker: Broker) -> dict[str, list[str]]:
    """Topics of dead letters that are there, each with those whose records may come there."""
    found: dict[str, list[str]] = {topic.name: [] for topic in broker.catalog if is_dead_letter_topic(topic.name)}
    named = {topic.config.dead_letter_topic for topic in broker.catalog}
    found.update({topic.name: [] for topic in broker.catalog if topic.name in named})
    for topic in broker.catalog:
        into = topic.config.dead_letter_topic or f"{topic.name}.dlq"
        if into in found and topic.name != into:
            found[into].append(topic.name)
    return found


PART = Part(
    pages=(
        Page("GET", "/dlq", overview),
        Page("GET", "/dlq/{topic}", letters),
        Page("GET", "/dlq/{topic}/stats", stats),
    ),
    live=(Live("/live/dlq", overview_feed),),
    nav=(NavItem("Consumers", "Dead letters", "/dlq", "dead", "d"),),
)
