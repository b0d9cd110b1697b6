"""Delayed records: how many wait in which topic, which are next, and to cancel them or give them another time."""

from typing import Annotated, Any, NamedTuple

import msgspec

from goqueue import codec
from goqueue.core.delay.states import DelayState
from goqueue.engine import delays
from goqueue.engine.broker import Broker
from goqueue.engine.browse import as_given
from goqueue.engine.queue.gather import gather
from goqueue.errors import GoQueueError, InvalidRequest, UnknownDelay
from goqueue.gateways.console.answering import Problem, problem_of
from goqueue.gateways.console.forms import PRIORITIES, instant_ns
from goqueue.gateways.console.letters import ticked
from goqueue.gateways.console.links import link
from goqueue.gateways.console.page import Answer, Html, Live, NavItem, Page, Part, Redirect, Update
from goqueue.gateways.console.values import Form, as_text, decoded, preview, shown
from goqueue.gateways.console.visit import Visit
from goqueue.model.delay import due_ns
from goqueue.model.durations import parse_duration_ms
from goqueue.model.record import Record
from goqueue.model.topic import MOST_PARTITIONS, TopicName, topic_name

__all__ = ["PART"]

PAGE_RECORDS = 50
MOST_SEARCHED = 2000
"""Of a search, so many of the next ones are looked through."""
MOST_BYTES = 16 * 1024 * 1024


class ListQuery(msgspec.Struct, frozen=True):
    q: Annotated[str, msgspec.Meta(max_length=1000)] = ""
    page: Annotated[int, msgspec.Meta(ge=1, le=delays.MOST_SKIPPED // PAGE_RECORDS)] = 1


class DelayQuery(msgspec.Struct, frozen=True):
    form: Form = "auto"


class DelayPlace(msgspec.Struct, frozen=True):
    partition: Annotated[int, msgspec.Meta(ge=0, lt=MOST_PARTITIONS)]
    offset: Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]


class Another(msgspec.Struct, frozen=True):
    """Another time: counted from now, or an instant."""

    delay: str = ""
    at: str = ""


class DelayRow(NamedTuple):
    partition: int
    offset: int
    due_ns: int
    key: str | None
    value: str


async def overview(visit: Visit) -> Answer:
    return Html("delays.html", _stats(visit))


async def overview_feed(visit: Visit, _: bool) -> Update:
    return Update(html={"delay-stats": visit.fragment("delays_topics.html", _stats(visit))})


async def listing(visit: Visit) -> Answer:
    name, query = _topic(visit), visit.read_query(ListQuery)
    pending = sum(one.delays.count(DelayState.PENDING) for one in visit.broker.partitions(name))
    rows = await _rows(visit.broker, name, query)
    has_more = not query.q and query.page * PAGE_RECORDS < min(pending, delays.MOST_SKIPPED)
    values = {
        "topic": name,
        "query": query,
        "pending": pending,
        "rows": rows[:PAGE_RECORDS],
        "is_cut": bool(query.q) and (pending > MOST_SEARCHED or len(rows) > PAGE_RECORDS),
        "searched": min(pending, MOST_SEARCHED),
        "has_more": has_more,
        "first": (query.page - 1) * PAGE_RECORDS,
        "now": visit.now,
    }
    return Html("delays_rows.html" if visit.is_partial else "delays_topic.html", values)


async def delay(visit: Visit) -> Answer:
    return await _delay(visit)


async def reschedule(visit: Visit) -> Answer:
    name, at = _topic(visit), _place(visit)
    try:
        form = visit.read_form(Another)
        if not form.delay and not form.at:
            raise InvalidRequest("neither a delay nor a time", hint="say in how long, or when")
        delay_ms = parse_duration_ms(form.delay, "In") if form.delay else None
        instant = instant_ns(form.at, "At") if form.at else None
        due = due_ns(delay_ms, instant, now_ns=visit.now)
        await delays.reschedule_delay(visit.broker, name, at.partition, at.offset, due)
    except GoQueueError as refusal:
        return await _delay(visit, problem_of(refusal))
    return Redirect(link("delays", name), "delay-rescheduled")


async def cancel(visit: Visit) -> Answer:
    name, at = _topic(visit), _place(visit)
    await delays.cancel_delay(visit.broker, name, at.partition, at.offset)
    return Redirect(link("delays", name), "delay-cancelled")


async def cancel_ticked(visit: Visit) -> Answer:
    name, places = _topic(visit), ticked(visit.fields)
    if not places:
        raise InvalidRequest("no record is ticked", hint="tick those that are never to be delivered")
    offsets: dict[int, list[int]] = {}
    for partition, offset in places:
        offsets.setdefault(partition, []).append(offset)
    parts = await delays.cancel_delays(visit.broker, name, offsets)
    refused = [one.error for part in parts for one in part.refused]
    if refused and not any(part.cancelled for part in parts):
        raise refused[0]
    return Redirect(link("delays", name), "delays-some-cancelled" if refused else "delays-cancelled")


def _topic(visit: Visit) -> TopicName:
    return visit.broker.catalog.topic(topic_name(visit.params["topic"])).name


def _place(visit: Visit) -> DelayPlace:
    try:
        return msgspec.convert(visit.params, DelayPlace, strict=False)
    except msgspec.ValidationError:
        raise UnknownDelay("there is no such place", hint="a record has a partition and an offset") from None


def _stats(visit: Visit) -> dict[str, Any]:
    found = delays.delay_stats(visit.broker)
    return {
        "topics": sorted(found, key=lambda one: (-one.pending, one.topic)),
        "sums": {state.value: sum(getattr(one, state.value) for one in found) for state in DelayState},
        "next_due": min((one.next_due for one in found if one.next_due is not None), default=None),
        "now": visit.now,
    }


async def _rows(broker: Broker, name: TopicName, query: ListQuery) -> list[DelayRow]:
    if not query.q:
        skip = (query.page - 1) * PAGE_RECORDS
        return await _read(broker, name, delays.list_delays(broker, name, skip=skip, limit=PAGE_RECORDS))
    found: list[DelayRow] = []
    for skip in range(0, MOST_SEARCHED, delays.MOST_LISTED):
        page = delays.list_delays(broker, name, skip=skip, limit=delays.MOST_LISTED)
        found += await _read(broker, name, page, query.q)
        if len(page) < delays.MOST_LISTED or len(found) > PAGE_RECORDS:
            break
    return found


async def _read(broker: Broker, name: TopicName, page: list[delays.DelayedRecord], wanted: str = "") -> list[DelayRow]:
    """With their records, of which compaction may have taken some. With `wanted`, only those that have it somewhere."""
    offsets: dict[int, list[int]] = {}
    for one in page:
        offsets.setdefault(one.partition, []).append(one.offset)
    records: dict[tuple[int, int], Record] = {}
    for number, some in offsets.items():
        gathered = await gather(broker, broker.partition(name, number), sorted(some), MOST_BYTES)
        for record in codec.decode(gathered.records):
            records[number, record.offset] = as_given(number, record).record
    rows = []
    for one in page:
        found = records.get((one.partition, one.offset))
        if not wanted or (found is not None and _has(found, wanted.encode())):
            rows.append(await _row(broker, one, found))
    return rows


def _has(record: Record, wanted: bytes) -> bool:
    return wanted in (record.key or b"") or wanted in (record.value or b"")


async def _row(broker: Broker, one: delays.DelayedRecord, record: Record | None) -> DelayRow:
    key = None if record is None or record.key is None else as_text(record.key)
    value = "" if record is None else preview(record.value, await decoded(broker, record.value))
    return DelayRow(one.partition, one.offset, one.due or 0, key, value)


async def _delay(visit: Visit, problem: Problem | None = None) -> Answer:
    name, at = _topic(visit), _place(visit)
    found = delays.find_delay(visit.broker, name, at.partition, at.offset)
    records = codec.decode(await delays.read_delayed(visit.broker, name, at.partition, at.offset))
    record = as_given(at.partition, records[0]).record if records else None
    form = visit.read_query(DelayQuery).form
    value = None
    if record is not None and record.value is not None:
        value = shown(record.value, form, await decoded(visit.broker, record.value))
    values = {
        "topic": name,
        "delay": found,
        "record": record,
        "key": None if record is None or record.key is None else as_text(record.key),
        "headers": [] if record is None else [(head, as_text(content)) for head, content in record.headers],
        "priority": "" if record is None else PRIORITIES[record.priority],
        "value": value,
        "texts": {"delay": visit.fields.get("delay", ""), "at": visit.fields.get("at", "")},
        "problem": problem,
        "now": visit.now,
    }
    return Html("delay_part.html" if visit.is_partial else "delay.html", values, 400 if problem else 200)


_AT = "/delays/{topic}/{partition}/{offset}"
PART = Part(
    pages=(
        Page("GET", "/delays", overview),
        Page("GET", "/delays/{topic}", listing),
        Page("POST", "/delays/{topic}/cancel", cancel_ticked),
        Page("GET", _AT, delay),
        Page("POST", f"{_AT}/reschedule", reschedule),
        Page("POST", f"{_AT}/cancel", cancel),
    ),
    live=(Live("/live/delays", overview_feed),),
    nav=(NavItem("Time", "Delays", "/delays", "delays", "l"),),
)
