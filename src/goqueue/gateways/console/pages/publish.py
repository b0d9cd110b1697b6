"""Publish one record by hand."""

import base64
import binascii
from typing import Annotated, Any, Literal

import msgspec

from goqueue.engine.publish_records import Outgoing, Placed, publish_records
from goqueue.errors import GoQueueError, InvalidRequest
from goqueue.gateways.console.answering import Problem, problem_of
from goqueue.gateways.console.forms import PRIORITIES, header_lines
from goqueue.gateways.console.links import link
from goqueue.gateways.console.page import Answer, Html, NavItem, Page, Part, Redirect
from goqueue.gateways.console.pages.tabs import topic_tabs
from goqueue.gateways.console.visit import Visit
from goqueue.model.delay import due_ns
from goqueue.model.durations import parse_duration_ms
from goqueue.model.expiry import expires_ns, with_expiry
from goqueue.model.record import Record
from goqueue.model.topic import MOST_PARTITIONS, Topic, topic_name

__all__ = ["PART"]

JSON_HEADER = ("content-type", b"application/json")
MOST_TOPICS_OFFERED = 1000
FIELDS = ("key", "value", "headers", "partition", "priority", "delay", "ttl", "id", "kind")


class Draft(msgspec.Struct, frozen=True):
    """As it stands in the form."""

    key: str | None = None
    value: str = ""
    kind: Literal["text", "json", "base64", "tombstone"] = "text"
    headers: str = ""
    partition: Annotated[int, msgspec.Meta(ge=0, lt=MOST_PARTITIONS)] | None = None
    priority: Literal["critical", "high", "normal", "low", "background"] = "normal"
    delay: str = ""
    ttl: str = ""
    id: str | None = None


class ChooseQuery(msgspec.Struct, frozen=True):
    topic: str = ""


async def choose(visit: Visit) -> Answer:
    topic = visit.read_query(ChooseQuery).topic
    if topic:
        return Redirect(link("topics", topic, "publish"))
    names = sorted(topic.name for topic in visit.broker.catalog)
    return Html("publish_choose.html", {"names": names[:MOST_TOPICS_OFFERED]})


async def form(visit: Visit) -> Answer:
    return Html("publish.html", _values(_topic(visit), {}, None, None))


async def publish(visit: Visit) -> Answer:
    topic = _topic(visit)
    placed: Placed | None = None
    problem: Problem | None = None
    try:
        outgoing = _outgoing(visit.read_form(Draft), visit.now)
        (outcome,) = await publish_records(visit.broker, visit.desk.placement, topic.name, [outgoing])
        if isinstance(outcome, GoQueueError):
            raise outcome
        placed = outcome
    except GoQueueError as refusal:
        problem = problem_of(refusal)
    values = _values(topic, visit.fields, placed, problem)
    status = 200 if problem is None else problem.status
    return Html("publish_result.html" if visit.is_partial else "publish.html", values, status)


def _topic(visit: Visit) -> Topic:
    return visit.broker.catalog.topic(topic_name(visit.params["topic"]))


def _values(topic: Topic, fields: dict[str, str], placed: Placed | None, problem: Problem | None) -> dict[str, Any]:
    defaults = dict.fromkeys(FIELDS, "") | {"priority": "normal", "kind": "json"}
    return {
        "topic": topic,
        "tabs": topic_tabs(topic.name),
        "priorities": [(name, name) for name in PRIORITIES],
        "kinds": [("json", "JSON"), ("text", "Text"), ("base64", "Base64"), ("tombstone", "Nothing: a tombstone")],
        "texts": {**defaults, **{name: fields[name] for name in FIELDS if name in fields}},
        "placed": placed,
        "problem": problem,
    }


def _outgoing(draft: Draft, now_ns: int) -> Outgoing:
    headers = header_lines(draft.headers)
    value = _value_of(draft)
    if draft.kind == "json" and not any(name.lower() == JSON_HEADER[0] for name, _ in headers):
        headers = (*headers, JSON_HEADER)
    key = None if draft.key is None else draft.key.encode()
    record = Record(value, key, headers, PRIORITIES.index(draft.priority))
    if draft.ttl:
        expiry = expires_ns(parse_duration_ms(draft.ttl, "Expires after"), None, now_ns=now_ns)
        assert expiry is not None
        record = with_expiry(record, expiry)
    due = due_ns(parse_duration_ms(draft.delay, "Delay"), None, now_ns=now_ns) if draft.delay else 0
    return Outgoing(record, draft.partition, id=draft.id, due=due)


def _value_of(draft: Draft) -> bytes | None:
    match draft.kind:
        case "tombstone":
            return None
        case "base64":
            try:
                return base64.b64decode("".join(draft.value.split()), validate=True)
            except binascii.Error as error:
                raise InvalidRequest(f"the value is not base64: {error}") from None
        case "json":
            # Browsers send line breaks as two characters.
            text = draft.value.replace("\r\n", "\n").encode()
            try:
                msgspec.json.decode(text)
            except (msgspec.DecodeError, RecursionError) as error:
                hint = "choose Text if it is not meant to be JSON"
                raise InvalidRequest(f"the value is not JSON: {error}", hint=hint) from None
            return text
        case _:
            return draft.value.replace("\r\n", "\n").encode()


PART = Part(
    pages=(
        Page("GET", "/publish", choose),
        Page("GET", "/topics/{topic}/publish", form),
        Page("POST", "/topics/{topic}/publish", publish),
    ),
    nav=(NavItem("Data", "Publish", "/publish", "publish", "p"),),
)
