"""Recurring schedules: what fires when, what came of the last firings, and to make, pause or delete one."""

from typing import Annotated, NamedTuple

import msgspec

from goqueue.core.schedules.cron import LAST_INSTANT
from goqueue.core.schedules.schedule import Misfire
from goqueue.core.schedules.state import ScheduleState, Status
from goqueue.engine import schedules
from goqueue.engine.broker import Broker
from goqueue.errors import GoQueueError, InvalidRequest
from goqueue.gateways.console.answering import problem_of
from goqueue.gateways.console.forms import PRIORITIES, duration_text
from goqueue.gateways.console.links import link
from goqueue.gateways.console.page import Answer, Html, Live, NavItem, Page, Part, Redirect, Update
from goqueue.gateways.console.schedule_form import BLANK, NewSchedule, config_from
from goqueue.gateways.console.values import as_text, shown
from goqueue.gateways.console.visit import Visit

__all__ = ["PART"]

PAGE_ROWS = 100
MOST_TOPICS_OFFERED = 1000
NEXT_SHOWN = 5
TONES = {Status.ACTIVE: "good", Status.PAUSED: "warn", Status.ENDED: ""}
MISFIRES = (
    (Misfire.ONCE.value, "fire once for all that were missed"),
    (Misfire.ALL.value, "fire each of them"),
    (Misfire.SKIP.value, "leave them out"),
)
MISSED = {Misfire.ONCE: "once for all", Misfire.ALL: "each of them", Misfire.SKIP: "left out"}


class ScheduleRow(NamedTuple):
    id: str
    status: str
    tone: str
    when: str
    zone: str
    topic: str
    due_ns: int | None
    fired: int
    last: str
    description: str


class ListQuery(msgspec.Struct, frozen=True):
    q: str = ""
    page: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 1


class Deletion(msgspec.Struct, frozen=True):
    id: str = ""


async def listing(visit: Visit) -> Answer:
    return Html("schedules_rows.html" if visit.is_partial else "schedules.html", _all(visit))


async def listing_feed(visit: Visit, _: bool) -> Update:
    return Update(html={"schedules": visit.fragment("schedules_rows.html", _all(visit))})


async def details(visit: Visit) -> Answer:
    return Html("schedule.html", _one(visit))


async def details_feed(visit: Visit, _: bool) -> Update:
    values = _one(visit)
    parts = ("facts", "next", "history")
    return Update(html={f"schedule-{part}": visit.fragment(f"schedule_{part}.html", values) for part in parts})


async def new(visit: Visit) -> Answer:
    return Html("schedule_new.html", {**_form(visit.broker, BLANK), "problem": None})


async def create(visit: Visit) -> Answer:
    try:
        config = config_from(visit.read_form(NewSchedule))
        await schedules.create_schedule(visit.broker, config)
    except GoQueueError as refusal:
        values = {**_form(visit.broker, {**BLANK, **visit.fields}), "problem": problem_of(refusal)}
        return Html("schedule_new.html", values, 400)
    return Redirect(link("schedules", config.id), "schedule-created")


async def pause(visit: Visit) -> Answer:
    return await _paused(visit, paused=True)


async def resume(visit: Visit) -> Answer:
    return await _paused(visit, paused=False)


async def delete(visit: Visit) -> Answer:
    name = visit.params["schedule"]
    try:
        if visit.read_form(Deletion).id != name:
            raise InvalidRequest("the name does not match, so nothing was deleted", hint=f"type {name[:200]}")
        await schedules.delete_schedule(visit.broker, name)
    except GoQueueError as refusal:
        return Html("schedule.html", {**_one(visit), "problem": problem_of(refusal)}, 400)
    return Redirect(link("schedules"), "schedule-deleted")


async def _paused(visit: Visit, *, paused: bool) -> Answer:
    name = visit.params["schedule"]
    await schedules.pause_schedule(visit.broker, name, paused=paused)
    return Redirect(link("schedules", name), "schedule-paused" if paused else "schedule-resumed")


def _all(visit: Visit) -> dict[str, object]:
    """The next to fire first; what is to be shown of each is found out for one page only."""
    query, kept = visit.read_query(ListQuery), visit.broker.schedules
    found = [state for state in kept if query.q.lower() in state.config.id.lower()]
    found.sort(key=lambda state: (kept.due_at(state.config.id) or LAST_INSTANT, state.config.id))
    first = (query.page - 1) * PAGE_ROWS
    return {
        "rows": [_row(visit.broker, state) for state in found[first : first + PAGE_ROWS]],
        "total": len(found),
        "first": first,
        "query": query,
        "now": visit.now,
    }


def _row(broker: Broker, state: ScheduleState) -> ScheduleRow:
    config, status = state.config, state.status
    last = state.history[-1].outcome.value.replace("_", " ") if state.history else ""
    due = broker.schedules.due_at(config.id)
    return ScheduleRow(
        config.id,
        status.value,
        TONES[status],
        _when(state),
        config.zone,
        config.topic,
        due,
        state.fired,
        last,
        config.description,
    )


def _when(state: ScheduleState) -> str:
    config = state.config
    return config.cron if config.cron is not None else f"every {duration_text((config.every_s or 0) * 1000)}"


def _one(visit: Visit) -> dict[str, object]:
    state = visit.broker.schedules.state(visit.params["schedule"])
    config = state.config
    occurrences = state.first(LAST_INSTANT, NEXT_SHOWN) if state.remaining != 0 else []
    most = NEXT_SHOWN if state.remaining is None else state.remaining
    return {
        "state": state,
        "config": config,
        "row": _row(visit.broker, state),
        "is_paused": config.paused,
        "is_ended": state.status is Status.ENDED,
        "coming": [state.due_at(one) for one in occurrences[:most]],
        "history": state.history[::-1],
        "key": None if config.key is None else as_text(config.key),
        "headers": [(name, as_text(content)) for name, content in config.headers],
        "value": shown(config.value, "auto"),
        "priority": PRIORITIES[config.priority],
        "misfire": MISSED[config.misfire],
        "problem": None,
        "now": visit.now,
    }


def _form(broker: Broker, texts: object) -> dict[str, object]:
    return {
        "texts": texts,
        "misfires": MISFIRES,
        "priorities": [(name, name) for name in PRIORITIES],
        "topics": sorted(topic.name for topic in broker.catalog)[:MOST_TOPICS_OFFERED],
    }


PART = Part(
    pages=(
        Page("GET", "/schedules", listing),
        Page("GET", "/new-schedule", new),
        Page("POST", "/new-schedule", create),
        Page("GET", "/schedules/{schedule}", details),
        Page("POST", "/schedules/{schedule}/pause", pause),
        Page("POST", "/schedules/{schedule}/resume", resume),
        Page("POST", "/schedules/{schedule}/delete", delete),
    ),
    live=(Live("/live/schedules", listing_feed), Live("/live/schedules/{schedule}", details_feed)),
    nav=(NavItem("Time", "Schedules", "/schedules", "schedules", "h"),),
)
