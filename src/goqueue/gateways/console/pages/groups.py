"""Groups: their members and workers, how far behind they are, and what an operator can do about it."""

from collections import Counter
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from goqueue.core.delivery.group_policies import GroupPolicy
from goqueue.core.groups.views import GroupView
from goqueue.engine.expiry import expires_at
from goqueue.engine.group_load import group_loads
from goqueue.engine.group_views import shown_state
from goqueue.engine.groups import (
    OffsetReset,
    delete_group,
    lag_of,
    pause_group,
    reset_offsets,
)
from goqueue.engine.queue.policies import set_policy
from goqueue.engine.slices import in_slices
from goqueue.errors import GoQueueError, InvalidRequest
from goqueue.gateways.console.answering import problem_of
from goqueue.gateways.console.forms import duration_text, instant_ns
from goqueue.gateways.console.group_rows import group_rows
from goqueue.gateways.console.links import link
from goqueue.gateways.console.page import Answer, Html, Live, NavItem, Page, Part, Redirect, Update
from goqueue.gateways.console.sorted_pages import ListQuery, ordering, sorted_page
from goqueue.gateways.console.visit import Visit
from goqueue.gateways.console.workers import workers_of
from goqueue.model.durations import parse_duration_ms

__all__ = ["PART"]

MOST_LAGS_SHOWN = 500
MOST_MEMBERS_SHOWN = 200
POLICY_LABELS = {
    "visibility": "Visibility timeout",
    "max_attempts": "Attempts",
    "backoff": "First pause",
    "backoff_max": "Longest pause",
    "jitter": "Jitter, 0 to 1",
    "offsets_retention": "Kept when empty",
}


class NameAndLag(NamedTuple):
    name: str
    lag: int


class ResetForm(msgspec.Struct, frozen=True):
    to: Literal["earliest", "latest", "offset", "time"] = "earliest"
    offset: Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)] | None = None
    time: str = ""
    topic: str = ""
    do: Literal["preview", "reset"] = "preview"


class PolicyForm(msgspec.Struct, frozen=True):
    visibility: str = ""
    max_attempts: int | None = None
    backoff: str = ""
    backoff_max: str = ""
    jitter: float | None = None
    offsets_retention: str = ""


class Deletion(msgspec.Struct, frozen=True):
    name: str = ""


async def listing(visit: Visit) -> Answer:
    query = visit.read_query(ListQuery)
    order = ordering(query.sort, lambda row: row.name, {"lag": lambda row: row.lag})
    found = await sorted_page(_named(visit, query), order, query.page)
    groups = await group_rows(visit.broker, [row.name for row in found.rows])
    values = {"found": found, "groups": groups, "query": query}
    return Html("groups_rows.html" if visit.is_partial else "groups.html", values)


async def _named(visit: Visit, query: ListQuery) -> AsyncIterator[NameAndLag]:
    """Groups with the wanted words in their names; how far behind they are only if the list is sorted by it."""
    broker, wanted = visit.broker, query.q.lower()
    lags: Counter[str] = Counter()
    if query.sort.removeprefix("-") == "lag":
        async for load in group_loads(broker):
            lags[load.group] += load.lag
    async for group in in_slices(list(broker.groups)):
        if wanted in group.name.lower() and group.name in broker.groups:
            yield NameAndLag(group.name, lags[group.name])


async def details(visit: Visit) -> Answer:
    return Html("group.html", _values(visit))


async def feed(visit: Visit, is_first: bool) -> Update:
    state = _state(visit)
    html = {
        "group-facts": visit.fragment("group_facts.html", state),
        "lags": visit.fragment("group_lags.html", state),
        "members": visit.fragment("group_members.html", state),
        "workers": visit.fragment("group_workers.html", state),
    }
    return Update({}, html, is_first)


async def pause(visit: Visit) -> Answer:
    await pause_group(visit.broker, visit.params["group"], paused=True)
    return Redirect(_home(visit), "group-paused")


async def resume(visit: Visit) -> Answer:
    await pause_group(visit.broker, visit.params["group"], paused=False)
    return Redirect(_home(visit), "group-resumed")


async def reset(visit: Visit) -> Answer:
    name = visit.broker.groups.group(visit.params["group"]).name
    try:
        form = visit.read_form(ResetForm)
        wanted = OffsetReset(*_target(form), [form.topic] if form.topic else None, form.do == "preview")
        changes = await reset_offsets(visit.broker, name, wanted)
    except GoQueueError as refusal:
        return _refused(visit, "reset", refusal)
    if form.do == "preview":
        return Html("group.html", {**_values(visit), "changes": changes})
    return Redirect(_home(visit), "group-reset")


async def change_policy(visit: Visit) -> Answer:
    name = visit.broker.groups.group(visit.params["group"]).name
    try:
        await set_policy(visit.broker, name, _policy(visit.read_form(PolicyForm)))
    except GoQueueError as refusal:
        return _refused(visit, "policy", refusal)
    return Redirect(_home(visit), "policy-changed")


async def delete(visit: Visit) -> Answer:
    name = visit.broker.groups.group(visit.params["group"]).name
    try:
        if visit.read_form(Deletion).name != name:
            raise InvalidRequest("the name does not match, so nothing was deleted", hint=f"type {name}")
        await delete_group(visit.broker, name)
    except GoQueueError as refusal:
        return _refused(visit, "delete", refusal)
    return Redirect(link("groups"), "group-deleted")


def _refused(visit: Visit, dialog: str, refusal: GoQueueError) -> Answer:
    """The page again, with the dialog open as it was filled in."""
    return Html("group.html", {**_values(visit), "problem": problem_of(refusal), "failed": dialog}, 400)


def _home(visit: Visit) -> str:
    return link("groups", visit.params["group"])


def _values(visit: Visit) -> dict[str, Any]:
    state = _state(visit)
    view: GroupView = state["view"]
    policy = visit.broker.policies.of(view.name)
    return {
        **state,
        "fields": {"to": "earliest", "offset": "", "time": "", "topic": "", **visit.fields},
        "topics": sorted({one.partition.topic for one in state["lags"]}),
        "policy": {
            "visibility": duration_text(policy.visibility_timeout_ms),
            "max_attempts": "" if policy.max_attempts is None else policy.max_attempts,
            "backoff": duration_text(policy.retry_backoff_ms),
            "backoff_max": duration_text(policy.retry_backoff_max_ms),
            "jitter": "" if policy.retry_jitter is None else policy.retry_jitter,
            "offsets_retention": duration_text(policy.offsets_retention_ms),
        },
        "labels": POLICY_LABELS,
        "changes": None,
        "problem": None,
        "failed": "",
    }


def _state(visit: Visit) -> dict[str, Any]:
    group = visit.broker.groups.group(visit.params["group"])
    view = group.describe()
    lags = lag_of(visit.broker, group)
    workers = workers_of(visit.broker, group)
    lag_of_member: Counter[str] = Counter()
    for one in lags:
        lag_of_member[one.member_id or ""] += one.lag
    return {
        "view": view,
        "lag_of_member": lag_of_member,
        "most_members": MOST_MEMBERS_SHOWN,
        "lags": lags[:MOST_LAGS_SHOWN],
        "lag_count": len(lags),
        "lag": sum(one.lag for one in lags),
        "delayed": sum(one.delayed for one in lags),
        "most_behind": max((one.lag for one in lags), default=0) or 1,
        "workers": workers,
        "shown_state": shown_state(group, workers.total).value,
        "in_flight": sum(state.delivery.leased_count for state in visit.broker.queues.of_group(group.name)),
        "resting": sum(
            state.delivery.resting_count(now=visit.now) for state in visit.broker.queues.of_group(group.name)
        ),
        "queue_logs": {state.log for state in visit.broker.queues.of_group(group.name) if state.delivery.is_open},
        "expires_at": expires_at(visit.broker, group),
        "now": visit.now,
    }


def _target(form: ResetForm) -> tuple[str | int, bool]:
    match form.to:
        case "offset":
            if form.offset is None:
                raise InvalidRequest("there is no offset to reset to", hint="give a number")
            return form.offset, False
        case "time":
            return instant_ns(form.time, "Time"), True
        case _:
            return form.to, False


def _policy(form: PolicyForm) -> GroupPolicy:
    given = {
        "visibility_timeout_ms": parse_duration_ms(form.visibility, "Visibility timeout") if form.visibility else None,
        "max_attempts": form.max_attempts,
        "retry_backoff_ms": parse_duration_ms(form.backoff, "First pause") if form.backoff else None,
        "retry_backoff_max_ms": parse_duration_ms(form.backoff_max, "Longest pause") if form.backoff_max else None,
        "retry_jitter": form.jitter,
        "offsets_retention_ms": parse_duration_ms(form.offsets_retention, "Kept when empty")
        if form.offsets_retention
        else None,
    }
    try:
        return msgspec.convert(given, GroupPolicy)
    except msgspec.ValidationError as error:
        raise InvalidRequest(str(error).replace("`$.", "`")) from None


PART = Part(
    pages=(
        Page("GET", "/groups", listing),
        Page("GET", "/groups/{group}", details),
        Page("POST", "/groups/{group}/pause", pause),
        Page("POST", "/groups/{group}/resume", resume),
        Page("POST", "/groups/{group}/reset", reset),
        Page("POST", "/groups/{group}/policy", change_policy),
        Page("POST", "/groups/{group}/delete", delete),
    ),
    live=(Live("/live/groups/{group}", feed),),
    nav=(NavItem("Consumers", "Groups", "/groups", "groups", "u"),),
)
