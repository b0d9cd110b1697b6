"""Recurring schedules: make, look at, change, pause, delete."""

from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

from goqueue.core.schedules.checks import ID_PATTERN, LONGEST_EVERY_S, LONGEST_JITTER_MS, LONGEST_LATENESS_MS
from goqueue.core.schedules.cron import Gap, Overlap
from goqueue.core.schedules.schedule import Misfire, ScheduleConfig, SchedulePatch
from goqueue.core.schedules.state import HistoryEntry, ScheduleState
from goqueue.engine import schedules
from goqueue.engine.broker import Broker
from goqueue.errors import InvalidRequest
from goqueue.gateways.http.api.params import TopicText
from goqueue.gateways.http.endpoint import Endpoint, Nothing
from goqueue.gateways.http.forms.times import (
    MILLISECONDS,
    InstantText,
    duration_ms,
    duration_schema,
    instant_ns,
    instant_text,
)
from goqueue.gateways.http.forms.values import (
    FormName,
    Headers,
    PriorityName,
    header_map,
    header_pairs,
    key_and_value,
    priority_number,
    shown,
)
from goqueue.gateways.http.lists import json_list
from goqueue.gateways.http.rules import AtMostOne, ExactlyOne, Rule, Ruled

__all__ = ["ENDPOINTS"]

TAG = "Schedules"
ID_BYTES = 6

ScheduleId = Annotated[
    str,
    Meta(description="id of the schedule", extra_json_schema={"pattern": ID_PATTERN}, examples=["daily"]),
]
"""Documented with its rule; the schedule itself checks it, and says what is wrong."""

CronText = Annotated[str, Meta(max_length=200, extra_json_schema={"format": "cron"}, examples=["0 9 * * MON-FRI"])]
ZoneText = Annotated[str, Meta(max_length=100, extra_json_schema={"format": "time-zone"}, examples=["Europe/Berlin"])]
Every = (
    Annotated[str, Meta(extra_json_schema=duration_schema(1000, LONGEST_EVERY_S * 1000, 1000))]
    | Annotated[int, Meta(ge=1000, le=LONGEST_EVERY_S * 1000, multiple_of=1000, description=MILLISECONDS)]
)
Lateness = (
    Annotated[str, Meta(extra_json_schema=duration_schema(0, LONGEST_LATENESS_MS))]
    | Annotated[int, Meta(ge=0, le=LONGEST_LATENESS_MS, description=MILLISECONDS)]
)
ScheduleJitter = (
    Annotated[str, Meta(extra_json_schema=duration_schema(0, LONGEST_JITTER_MS))]
    | Annotated[int, Meta(ge=0, le=LONGEST_JITTER_MS, description=MILLISECONDS)]
)


class ScheduleParams(msgspec.Struct, frozen=True):
    schedule: ScheduleId


class ScheduleChanges(Ruled, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is left out stays as it is. `cron` takes the place of `every`, and the other way round."""

    topic: TopicText | UnsetType = UNSET
    key: msgspec.Raw | UnsetType = UNSET
    value: Annotated[msgspec.Raw, Meta(extra_json_schema={"not": {"type": "null"}})] | UnsetType = UNSET
    headers: Headers | UnsetType = UNSET
    priority: PriorityName | Annotated[int, Meta(ge=0, le=4)] | UnsetType = UNSET
    cron: CronText | UnsetType = UNSET
    every: Every | UnsetType = UNSET
    zone: ZoneText | UnsetType = UNSET
    start: InstantText | UnsetType | None = UNSET
    end: InstantText | UnsetType | None = UNSET
    misfire: Misfire | UnsetType = UNSET
    misfire_after: Lateness | UnsetType = UNSET
    catch_up_most: Annotated[int, Meta(ge=1, le=1000)] | UnsetType = UNSET
    dst_gap: Gap | UnsetType = UNSET
    dst_overlap: Overlap | UnsetType = UNSET
    jitter: ScheduleJitter | UnsetType = UNSET
    max_firings: Annotated[int, Meta(ge=1, le=(1 << 53) - 1)] | UnsetType | None = UNSET
    paused: bool | UnsetType = UNSET
    description: Annotated[str, Meta(max_length=1000)] | UnsetType = UNSET

    RULES: ClassVar[tuple[Rule, ...]] = (AtMostOne("cron", "every"),)


class CreateSchedule(ScheduleChanges, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Either `cron` or `every` is given; without an id it gets one."""

    id: ScheduleId | UnsetType = UNSET
    topic: TopicText

    RULES = (ExactlyOne("cron", "every"),)


class Firing(msgspec.Struct, frozen=True, kw_only=True):
    """`count` is for how many occurrences it stands; where the record is, when there is one."""

    occurrence: str
    at: str
    outcome: str
    count: int
    partition: int | None
    offset: int | None
    reason: str


class ScheduleOut(msgspec.Struct, frozen=True, kw_only=True):
    """A schedule, when it is due, and what it did."""

    id: str
    status: str
    """`active`, `paused` or `ended`."""
    topic: str
    key: Any
    key_format: FormName | None
    value: Any
    format: FormName
    headers: Headers
    priority: int
    cron: str | None
    every_seconds: int | None
    zone: str
    start: str | None
    end: str | None
    misfire: Misfire
    misfire_after_ms: int
    catch_up_most: int
    dst_gap: Gap
    dst_overlap: Overlap
    jitter_ms: int
    max_firings: int | None
    description: str
    created_at: str
    changed_at: str
    next_due: str | None
    fired: int
    history: list[Firing]
    """The last twenty, the newest first."""


class ScheduleList(msgspec.Struct, frozen=True):
    """All schedules."""

    schedules: list[ScheduleOut]


class Deleted(msgspec.Struct, frozen=True):
    """It is deleted."""

    id: str
    deleted: bool = True


async def create(broker: Broker, _: Nothing, __: Nothing, body: CreateSchedule) -> ScheduleOut:
    schedule_id = broker.entropy.token_bytes(ID_BYTES).hex() if body.id is UNSET else body.id
    config = ScheduleConfig(id=schedule_id, **_fields(body))
    return _out(broker, await schedules.create_schedule(broker, config))


async def listing(broker: Broker, _: Nothing, __: Nothing, ___: None) -> msgspec.Raw:
    return await json_list("schedules", list(broker.schedules), lambda state: _out(broker, state))


async def show(broker: Broker, params: ScheduleParams, _: Nothing, __: None) -> ScheduleOut:
    return _out(broker, broker.schedules.state(params.schedule))


async def change(broker: Broker, params: ScheduleParams, _: Nothing, body: ScheduleChanges) -> ScheduleOut:
    return _out(broker, await schedules.change_schedule(broker, params.schedule, SchedulePatch(**_fields(body))))


async def delete(broker: Broker, params: ScheduleParams, _: Nothing, __: None) -> Deleted:
    await schedules.delete_schedule(broker, params.schedule)
    return Deleted(params.schedule)


def _fields(body: ScheduleChanges) -> dict[str, Any]:
    plain = ("topic", "cron", "zone", "misfire", "catch_up_most", "dst_gap", "dst_overlap", "max_firings")
    found = {name: getattr(body, name) for name in (*plain, "paused", "description")}
    found["start"] = instant_ns(body.start, "start") if isinstance(body.start, str) else body.start
    found["end"] = instant_ns(body.end, "end") if isinstance(body.end, str) else body.end
    found["misfire_after_ms"] = _milliseconds(body.misfire_after, "misfire_after")
    found["jitter_ms"] = _milliseconds(body.jitter, "jitter")
    found["every_s"] = _seconds(body.every)
    if body.priority is not UNSET:
        found["priority"] = priority_number(body.priority)
    headers = {} if body.headers is UNSET else body.headers
    if body.headers is not UNSET:
        found["headers"] = header_pairs(headers)
    if body.key is not UNSET or body.value is not UNSET:
        value = msgspec.Raw(b'""') if body.value is UNSET else body.value
        given = key_and_value(None if body.key is UNSET else body.key, value, headers)
        if given.headers:
            # They tell that key or value are JSON.
            found["headers"] = given.headers
        if body.key is not UNSET:
            found["key"] = given.key
        if body.value is not UNSET:
            if given.value is None:
                raise InvalidRequest("a schedule cannot publish a tombstone", hint="give a value that is not null")
            found["value"] = given.value
    return {name: value for name, value in found.items() if value is not UNSET}


def _milliseconds(given: str | int | UnsetType, name: str) -> int | UnsetType:
    return UNSET if given is UNSET else duration_ms(given, name)


def _seconds(given: str | int | UnsetType) -> int | UnsetType:
    if given is UNSET:
        return UNSET
    milliseconds = duration_ms(given, "every")
    if milliseconds < 1000 or milliseconds % 1000:
        raise InvalidRequest(f"every must be a whole number of seconds, at least 1, got {milliseconds} ms")
    return milliseconds // 1000


def _out(broker: Broker, state: ScheduleState) -> ScheduleOut:
    config = state.config
    key, key_format = (None, None) if config.key is None else shown(config.key, None)
    value, value_format = shown(config.value, None)
    due = broker.schedules.due_at(config.id)
    return ScheduleOut(
        id=config.id,
        status=state.status.value,
        topic=config.topic,
        key=key,
        key_format=key_format,
        value=value,
        format=value_format,
        headers=header_map(config.headers),
        priority=config.priority,
        cron=config.cron,
        every_seconds=config.every_s,
        zone=config.zone,
        start=_instant(config.start),
        end=_instant(config.end),
        misfire=config.misfire,
        misfire_after_ms=config.misfire_after_ms,
        catch_up_most=config.catch_up_most,
        dst_gap=config.dst_gap,
        dst_overlap=config.dst_overlap,
        jitter_ms=config.jitter_ms,
        max_firings=config.max_firings,
        description=config.description,
        created_at=instant_text(state.created_at),
        changed_at=instant_text(state.changed_at),
        next_due=_instant(due),
        fired=state.fired,
        history=[_firing(entry) for entry in reversed(state.history)],
    )


def _firing(entry: HistoryEntry) -> Firing:
    return Firing(
        occurrence=instant_text(entry.occurrence),
        at=instant_text(entry.at),
        outcome=entry.outcome.value,
        count=entry.count,
        partition=entry.place.partition if entry.place else None,
        offset=entry.place.offset if entry.place else None,
        reason=entry.reason,
    )


def _instant(instant: int | None) -> str | None:
    return None if instant is None else instant_text(instant)


def _endpoint(method: str, path: str, summary: str, handler: Any, response: type, **more: Any) -> Endpoint:
    return Endpoint(method=method, path=path, tag=TAG, summary=summary, handler=handler, response=response, **more)


_ONE: dict[str, Any] = {"params": ScheduleParams, "errors": (404,)}

ENDPOINTS = (
    _endpoint(
        "POST",
        "/schedules",
        "Make a schedule",
        create,
        ScheduleOut,
        body=CreateSchedule,
        status=201,
        errors=(404, 409, 422),
    ),
    _endpoint("GET", "/schedules", "All schedules", listing, ScheduleList),
    _endpoint("GET", "/schedules/{schedule}", "A schedule with its last firings", show, ScheduleOut, **_ONE),
    _endpoint(
        "PATCH",
        "/schedules/{schedule}",
        "Change, pause or resume a schedule",
        change,
        ScheduleOut,
        body=ScheduleChanges,
        params=ScheduleParams,
        errors=(404, 409, 422),
    ),
    _endpoint("DELETE", "/schedules/{schedule}", "Delete a schedule", delete, Deleted, **_ONE),
)
