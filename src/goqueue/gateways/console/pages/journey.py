"""Where is my message? What the log, the groups and the spans know of one record, on one page."""

from typing import Annotated, Any, Literal

import msgspec

from goqueue.engine.tracing.journey import Journey, journey_of, journey_of_id, journey_of_key
from goqueue.engine.tracing.standing import GroupStand
from goqueue.errors import GoQueueError, InvalidRequest
from goqueue.gateways.console.answering import problem_of
from goqueue.gateways.console.forms import PRIORITIES
from goqueue.gateways.console.page import Answer, Html, NavItem, Page, Part
from goqueue.gateways.console.values import as_text
from goqueue.gateways.console.visit import Visit
from goqueue.gateways.console.waterfall import waterfall
from goqueue.model.topic import MOST_PARTITIONS, topic_name

__all__ = ["PART"]

MOST_SPANS = 500
MOST_TOPICS_OFFERED = 1000

STANDS = {
    "waiting": ("waits to be taken", ""),
    "delayed": ("is delayed", "accent"),
    "retrying": ("will be tried again", "warn"),
    "behind_its_key": ("waits for another record of its key", ""),
    "in_flight": ("is being worked on", "accent"),
    "done": ("is done", "good"),
    "dead_lettered": ("is a dead letter", "bad"),
    "read": ("was read", "good"),
    "unread": ("was not read yet", ""),
}
"""What a record does in a group, and how that looks."""


class JourneyQuery(msgspec.Struct, frozen=True):
    """A record by its partition and offset, by its id, or the newest one with a key."""

    topic: Annotated[str, msgspec.Meta(max_length=1000)] = ""
    by: Literal["offset", "key", "id"] = "offset"
    partition: Annotated[int, msgspec.Meta(ge=0, lt=MOST_PARTITIONS)] | None = None
    offset: Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)] | None = None
    key: str = ""
    id: str = ""


async def journey(visit: Visit) -> Answer:
    names = sorted(topic.name for topic in visit.broker.catalog)[:MOST_TOPICS_OFFERED]
    values: dict[str, Any] = {"topics": names, "found": None, "problem": None, "now": visit.now}
    query, status = JourneyQuery(), 200
    try:
        query = visit.read_query(JourneyQuery)
        if query.topic:
            values |= _shown(await _find(visit, query))
    except GoQueueError as refusal:
        problem = problem_of(refusal)
        values["problem"], status = problem, problem.status
    return Html("journey.html", {**values, "query": query}, status)


async def _find(visit: Visit, query: JourneyQuery) -> Journey:
    name = topic_name(query.topic)
    match query.by:
        case "key":
            if not query.key:
                raise InvalidRequest("there is no key", hint="say which one the record has")
            return await journey_of_key(visit.broker, name, query.key.encode(), query.partition)
        case "id":
            if not query.id:
                raise InvalidRequest("there is no id", hint="say which one its producer gave it")
            return await journey_of_id(visit.broker, name, query.id)
        case "offset":
            if query.partition is None or query.offset is None:
                raise InvalidRequest("which record is not said", hint="give its partition and its offset")
            return await journey_of(visit.broker, name, query.partition, query.offset)


def _shown(found: Journey) -> dict[str, Any]:
    record = found.record
    return {
        "found": found,
        "headline": _headline(found),
        "key": None if record is None or record.key is None else as_text(record.key),
        "priority": "" if record is None else PRIORITIES[record.priority],
        "groups": [(stand, *STANDS[stand.state], _letter(stand)) for stand in found.groups],
        "fall": waterfall(found.spans[:MOST_SPANS]) if found.spans else None,
        "total": len(found.spans),
    }


def _letter(stand: GroupStand) -> tuple[str, str, str] | None:
    """Topic, partition and offset of the dead letter."""
    topic, _, rest = stand.dead_letter.partition("/")
    partition, _, offset = rest.partition("/")
    return (topic, partition, offset) if offset else None


def _headline(found: Journey) -> str:
    """The one sentence that somebody came for."""
    if found.found == "removed":
        return "It is gone: retention has removed it from the log."
    if found.found == "compacted":
        return "It is gone: compaction has removed it from the log."
    if found.found == "unreadable":
        return "It is in the log, but cannot be read."
    if found.transaction == "open":
        return "It is in the log, and nobody sees it before its transaction commits."
    if found.transaction == "aborted":
        return "It is in the log, and nobody ever sees it: its transaction was aborted."
    if found.delay is not None and found.delay.value == "pending":
        return "It is in the log, and waits until it is due."
    if found.delay is not None and found.delay.value == "cancelled":
        return "It was cancelled before it was delivered."
    if not found.groups:
        return "It is in the log. No group reads this topic."
    told = [f"for {stand.group} it {STANDS[stand.state][0]}" for stand in found.groups[:3]]
    return "It is in the log: " + "; ".join(told) + ("." if len(found.groups) == len(told) else "; and more.")


PART = Part(
    pages=(Page("GET", "/journey", journey),),
    nav=(NavItem("Insight", "Find a message", "/journey", "search", "j"),),
)
