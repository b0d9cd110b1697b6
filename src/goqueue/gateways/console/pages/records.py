"""Records of a topic: newest first, or from a time, an offset or a key on, with a text in them; and each in full."""

import re
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from goqueue.engine.broker import Broker
from goqueue.engine.browse import Found, Place, Selection, browse, read_page
from goqueue.engine.browse_back import browse_back
from goqueue.errors import InvalidRequest, OffsetOutOfRange
from goqueue.gateways.console.curl import publish_command, read_command
from goqueue.gateways.console.forms import PRIORITIES, instant_ns
from goqueue.gateways.console.links import link
from goqueue.gateways.console.page import Answer, Html, Page, Part
from goqueue.gateways.console.pages.tabs import topic_tabs
from goqueue.gateways.console.values import Form, Shown, as_text, decoded, decoded_all, preview, shown
from goqueue.gateways.console.visit import Visit
from goqueue.model.topic import MOST_PARTITIONS, TopicName, topic_name

__all__ = ["PART"]

PAGE_RECORDS = 50
MOST_TEXT = 200
LARGEST = (1 << 63) - 1
SEARCH_NS = 1_500_000_000
"""Of one request for a key or a text; then it says how far it came."""

_PLACE = re.compile(r"[0-9]{1,19}\.[0-9]{1,5}\.[0-9]{1,19}", re.ASCII)
Number = Annotated[int, msgspec.Meta(ge=0, lt=MOST_PARTITIONS)]


class RecordsQuery(msgspec.Struct, frozen=True):
    """`at` says what to seek by. `before` and `after` are places where another page ended."""

    at: Literal["newest", "oldest", "time", "offset", "key"] = "newest"
    partition: Number | None = None
    offset: Annotated[int, msgspec.Meta(ge=0, le=LARGEST)] = 0
    time: str = ""
    key: str = ""
    text: Annotated[str, msgspec.Meta(max_length=MOST_TEXT)] = ""
    before: str = ""
    after: str = ""

    @property
    def is_search(self) -> bool:
        """Then a page may be empty before the end."""
        return self.at == "key" or bool(self.text)


class RecordQuery(msgspec.Struct, frozen=True):
    form: Form = "auto"


class Row(NamedTuple):
    partition: int
    offset: int
    timestamp_ns: int
    priority: str
    key: str | None
    value: str
    is_tombstone: bool
    headers: int
    size: int


class Window(NamedTuple):
    """Records in the order in which they are shown, and the places from which the pages around them go on."""

    found: list[Found]
    older: str
    newer: str
    looked_until: int = 0
    """When a search ended before it was through: the time of the last record it looked at."""


async def records(visit: Visit) -> Answer:
    topic = visit.broker.catalog.topic(topic_name(visit.params["topic"]))
    query = visit.read_query(RecordsQuery)
    window = await _window(visit.broker, topic.name, query)
    values = {
        "topic": topic,
        "tabs": topic_tabs(topic.name),
        "query": query,
        "rows": await _rows(visit.broker, window.found),
        "window": window,
        "is_back": bool(query.before) or (query.at == "newest" and not query.after),
        "now": visit.now,
        "older": _around(topic.name, query, before=window.older) if window.older else "",
        "newer": _around(topic.name, query, after=window.newer) if window.newer else "",
    }
    return Html("records_rows.html" if visit.is_partial else "records.html", values)


async def record(visit: Visit) -> Answer:
    topic = visit.broker.catalog.topic(topic_name(visit.params["topic"]))
    place = visit.read_params(RecordPlace)
    form = visit.read_query(RecordQuery).form
    found = (await read_page(visit.broker, topic.name, place.partition, place.offset, 1)).found
    if not found or found[0].record.offset != place.offset:
        raise OffsetOutOfRange(
            f"there is no record to be seen at offset {place.offset} of partition {place.partition}",
            hint="it may be delayed, compacted away, or a part of a transaction that has not been committed",
        )
    values = await _record_values(visit, topic.name, found[0], form)
    return Html("record_part.html" if visit.is_partial else "record.html", {**values, "topic": topic})


class RecordPlace(msgspec.Struct, frozen=True):
    partition: Number
    offset: Annotated[int, msgspec.Meta(ge=0, le=LARGEST)]


# Pages of records.


async def _window(broker: Broker, name: TopicName, query: RecordsQuery) -> Window:
    if query.before or (query.at == "newest" and not query.after):
        return await _window_back(broker, name, query)
    selection = _selection(query)
    after = _place(query.after) if query.after else None
    began = broker.clock.now_ns()
    page_found: list[Found] = []
    last = after
    while True:
        part = await browse(broker, name, selection, PAGE_RECORDS - len(page_found), last)
        page_found, last = page_found + part.found, part.last
        if last is None or page_found or broker.clock.now_ns() - began > SEARCH_NS:
            break
    older = _text(_place_of(page_found[0])) if page_found and query.at != "key" else ""
    until = last.timestamp_ns if last is not None and not page_found else 0
    return Window(_shown_order(query, page_found), older, _text(last) if last else "", until)


async def _window_back(broker: Broker, name: TopicName, query: RecordsQuery) -> Window:
    first = before = _place(query.before) if query.before else None
    began = broker.clock.now_ns()
    while True:
        page = await browse_back(
            broker, name, PAGE_RECORDS, partition=query.partition, before=first, text=_wanted_text(query)
        )
        first = page.first
        if first is None or page.found or broker.clock.now_ns() - began > SEARCH_NS:
            break
    newest = page.found[-1] if page.found else None
    newer = _text(_place_of(newest)) if newest is not None and before is not None else ""
    until = first.timestamp_ns if first is not None and not page.found else 0
    return Window(_shown_order(query, page.found), _text(first) if first else "", newer, until)


def _wanted_text(query: RecordsQuery) -> bytes | None:
    return query.text.encode() if query.text else None


def _selection(query: RecordsQuery) -> Selection:
    text = _wanted_text(query)
    match query.at:
        case "time":
            if not query.time:
                raise InvalidRequest("there is no time to seek", hint="write 2026-01-31 12:00:00 (UTC)")
            return Selection(query.partition, from_ns=instant_ns(query.time, "Time"), text=text)
        case "offset":
            if query.partition is None:
                raise InvalidRequest("an offset is one of a partition", hint="choose a partition")
            return Selection(query.partition, offset=query.offset, text=text)
        case "key":
            return Selection(query.partition, key=query.key.encode(), text=text)
        case _:
            return Selection(query.partition, text=text)


def _shown_order(query: RecordsQuery, found: list[Found]) -> list[Found]:
    return found[::-1] if query.at == "newest" else found


def _place_of(found: Found) -> Place:
    return Place(found.record.timestamp_ns, found.partition, found.record.offset)


def _text(place: Place) -> str:
    return "{}.{}.{}".format(*place)


def _place(text: str) -> Place:
    if not _PLACE.fullmatch(text):
        raise InvalidRequest(f"{text[:60]!r} is not a place in a topic", hint="use the buttons to go on")
    timestamp_ns, partition, offset = map(int, text.split("."))
    return Place(min(timestamp_ns, LARGEST - 1), partition, min(offset, LARGEST - 1))


def _around(name: str, query: RecordsQuery, **place: str) -> str:
    """The same search at another place."""
    kept: dict[str, Any] = {"at": query.at, "partition": query.partition, "time": query.time, "key": query.key}
    kept["text"] = query.text
    if query.at == "offset":
        kept["offset"] = query.offset
    return link("topics", name, "records", **kept, **place)


async def _rows(broker: Broker, found: list[Found]) -> list[Row]:
    decodings = await decoded_all(broker, [one.record.value for one in found])
    return [_row(one, whole) for one, whole in zip(found, decodings, strict=True)]


def _row(found: Found, whole: Shown | None) -> Row:
    record = found.record
    return Row(
        found.partition,
        record.offset,
        record.timestamp_ns,
        PRIORITIES[record.priority],
        None if record.key is None else as_text(record.key),
        preview(record.value, whole),
        record.value is None,
        len(record.headers),
        len(record.value or b""),
    )


# One record.


async def _record_values(visit: Visit, name: TopicName, found: Found, form: Form) -> dict[str, Any]:
    record = found.record
    host = visit.header(b"host")
    value = None
    if record.value is not None:
        value = shown(record.value, form, await decoded(visit.broker, record.value))
    return {
        "record": record,
        "partition": found.partition,
        "fault": found.fault or "",
        "priority": PRIORITIES[record.priority],
        "key": None if record.key is None else as_text(record.key),
        "headers": [(name, as_text(content)) for name, content in record.headers],
        "value": value,
        "size": len(record.value or b""),
        "form": form,
        "forms": ("auto", "json", "text", "hex"),
        "read_curl": read_command(host, name, found.partition, record.offset),
        "publish_curl": publish_command(host, name, record),
    }


PART = Part(
    pages=(
        Page("GET", "/topics/{topic}/records", records),
        Page("GET", "/topics/{topic}/records/{partition}/{offset}", record),
    ),
)
