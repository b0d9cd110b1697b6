"""One dead letter: what it is, why it died, and to send it back as it is or mended."""

from typing import Annotated, Any

import msgspec

from goqueue.engine.workbench.desk import Letter
from goqueue.engine.workbench.redrive import Orders, purge, redrive
from goqueue.engine.workbench.search import Wanted, show
from goqueue.errors import GoQueueError, OffsetOutOfRange
from goqueue.gateways.console.answering import Problem, problem_of
from goqueue.gateways.console.editing import edit_of, editable, own_headers
from goqueue.gateways.console.forms import PRIORITIES
from goqueue.gateways.console.letters import Filter, desk_in, is_on_list
from goqueue.gateways.console.page import Answer, Html, Page, Part
from goqueue.gateways.console.values import Form, as_text, decoded, shown
from goqueue.gateways.console.visit import Visit
from goqueue.model.topic import MOST_PARTITIONS

__all__ = ["PART"]


class LetterPlace(msgspec.Struct, frozen=True):
    partition: Annotated[int, msgspec.Meta(ge=0, lt=MOST_PARTITIONS)]
    offset: Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]


class LetterQuery(Filter, frozen=True):
    """With the filter of the list that one comes from, and goes back to."""

    form: Form = "auto"


async def letter(visit: Visit) -> Answer:
    values = await _values(visit, await _letter(visit))
    return Html("dlq_letter_part.html" if visit.is_partial else "dlq_letter.html", values)


async def send_back(visit: Visit) -> Answer:
    found = await _letter(visit)
    place = (found.partition, found.record.offset)
    try:
        edit = edit_of(found.record, visit.fields)
        report = await redrive(desk_in(visit), Orders(Wanted(places=(place,)), edit))
        _raise_first(report.failures)
    except GoQueueError as refusal:
        values = await _values(visit, found, problem_of(refusal), visit.fields)
        return Html("dlq_letter_part.html" if visit.is_partial else "dlq_letter.html", values, 400)
    if not report.moves:
        raise OffsetOutOfRange("somebody else has dealt with this letter", hint="the list shows what is left")
    values = {**_around(visit), "move": report.moves[0], "is_edited": edit.value is not msgspec.UNSET}
    return Html("dlq_sent_part.html" if visit.is_partial else "dlq_sent.html", values)


async def discard(visit: Visit) -> Answer:
    found = await _letter(visit)
    await purge(desk_in(visit), Orders(Wanted(places=((found.partition, found.record.offset),))))
    return Html("dlq_sent_part.html" if visit.is_partial else "dlq_sent.html", {**_around(visit), "move": None})


def _raise_first(failures: list[Any]) -> None:
    if failures:
        raise failures[0].error


async def _letter(visit: Visit) -> Letter:
    try:
        place = msgspec.convert(visit.params, LetterPlace, strict=False)
    except msgspec.ValidationError:
        raise OffsetOutOfRange("there is no such place", hint="a letter has a partition and an offset") from None
    return await show(desk_in(visit), place.partition, place.offset)


def _around(visit: Visit) -> dict[str, Any]:
    given = visit.read_query(Filter).given
    return {"topic": visit.params["topic"], "given": given, "is_on_list": is_on_list(visit)}


async def _values(
    visit: Visit, found: Letter, problem: Problem | None = None, given: dict[str, str] | None = None
) -> dict[str, Any]:
    record, origin = found.record, found.origin
    form = visit.read_query(LetterQuery).form
    value = None
    if record.value is not None:
        value = shown(record.value, form, await decoded(visit.broker, record.value))
    texts = editable(record)
    kept = {name: (given or {}).get(name, text) if text is not None else None for name, text in texts.items()}
    return {
        **_around(visit),
        "partition": found.partition,
        "record": record,
        "origin": origin,
        "fault": found.fault or "",
        "priority": PRIORITIES[record.priority],
        "key": None if record.key is None else as_text(record.key),
        "headers": [(name, as_text(content)) for name, content in own_headers(record)],
        "value": value,
        "form": form,
        "forms": ("auto", "json", "text", "hex"),
        "size": len(record.value or b""),
        "texts": kept,
        "to_topic": (given or {}).get("topic", ""),
        "is_editing": given is not None,
        "problem": problem,
        "now": visit.now,
    }


PART = Part(
    pages=(
        Page("GET", "/dlq/{topic}/{partition}/{offset}", letter),
        Page("POST", "/dlq/{topic}/{partition}/{offset}/redrive", send_back),
        Page("POST", "/dlq/{topic}/{partition}/{offset}/purge", discard),
    ),
)
