"""The schema registry: subjects, their versions and what changed between them, what they promise, and new ones."""

import asyncio
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from goqueue.core.schemas.policies import Config, Level
from goqueue.core.schemas.schema import LATEST, Schema
from goqueue.core.schemas.views import RegistryView, VersionView
from goqueue.engine.broker import Broker
from goqueue.engine.schemas.changing import register_schema, remove_config, set_config
from goqueue.engine.schemas.looking import incompatibilities, settled_registry
from goqueue.errors import CompatibilityNotSet, GoQueueError, InvalidRequest
from goqueue.gateways.console.answering import Problem, problem_of
from goqueue.gateways.console.diffing import MOST_LINES, DiffRow, compared, readable_text
from goqueue.gateways.console.links import link
from goqueue.gateways.console.page import Answer, Html, NavItem, Page, Part, Redirect
from goqueue.gateways.console.visit import Visit
from goqueue.model.topic import SchemaValidation

__all__ = ["PART"]

PAGE_ROWS = 100
MOST_VERSIONS = 500
MOST_TOLD = 50
GLOBAL = "(global)"

Version = Annotated[int, msgspec.Meta(ge=1, lt=1 << 31)]


class ListQuery(msgspec.Struct, frozen=True):
    q: str = ""
    page: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 1


class SubjectQuery(msgspec.Struct, frozen=True):
    """Without a version the latest is shown; compared with the one before it, if none is named."""

    version: Version | None = None
    against: Version | None = None


class Draft(msgspec.Struct, frozen=True):
    subject: str = ""
    type: Annotated[str, msgspec.Meta(max_length=40)] = "AVRO"
    schema: str = ""
    do: Literal["try", "register"] = "try"


class LevelForm(msgspec.Struct, frozen=True):
    level: str = ""


class SubjectRow(NamedTuple):
    name: str
    type: str
    latest: int
    versions: int
    id: int
    level: str
    topics: list[str]


async def listing(visit: Visit) -> Answer:
    query = visit.read_query(ListQuery)
    view = (await settled_registry(visit.broker)).view
    names = [name for name in view.subjects() if query.q.lower() in name.lower()]
    first = (query.page - 1) * PAGE_ROWS
    users = _users(visit.broker)
    policies = visit.broker.schemas.policies
    values = {
        "rows": [_row(visit.broker, view, name, users) for name in names[first : first + PAGE_ROWS]],
        "total": len(names),
        "first": first,
        "query": query,
        "counts": view.counts(),
        "global_level": policies.config(None).compatibility,
        "levels": [(level.value, level.value) for level in Level],
        "mode": policies.mode(None).value,
    }
    return Html("schemas_rows.html" if visit.is_partial else "schemas.html", values)


async def subject(visit: Visit) -> Answer:
    return await _subject(visit, Draft())


async def check_or_register(visit: Visit) -> Answer:
    """For a subject that is there."""
    draft = visit.read_form(Draft)
    name = visit.params["subject"]
    try:
        found = await _tried(visit, name, draft)
    except GoQueueError as refusal:
        return await _subject(visit, draft, problem=problem_of(refusal))
    if found is None:
        return Redirect(link("schemas", name), "schema-registered")
    return await _subject(visit, draft, found=found)


async def new(visit: Visit) -> Answer:
    return Html("schema_new.html", _form(visit.broker, Draft()))


async def create(visit: Visit) -> Answer:
    draft = visit.read_form(Draft)
    name = draft.subject.strip()
    try:
        found = await _tried(visit, name, draft)
    except GoQueueError as refusal:
        return Html("schema_new.html", {**_form(visit.broker, draft), "problem": problem_of(refusal)}, 400)
    if found is None:
        return Redirect(link("schemas", name), "schema-registered")
    return Html("schema_new.html", {**_form(visit.broker, draft), "found": found})


async def set_level(visit: Visit) -> Answer:
    name, level = visit.params["subject"], visit.read_form(LevelForm).level
    visit.broker.schemas.view.check_subject(name)
    if level == GLOBAL:
        await remove_config(visit.broker, name)
    else:
        await set_config(visit.broker, name, Config(compatibility=Level.named(level)))
    return Redirect(link("schemas", name), "schema-level")


async def set_global_level(visit: Visit) -> Answer:
    await set_config(visit.broker, None, Config(compatibility=Level.named(visit.read_form(LevelForm).level)))
    return Redirect(link("schemas"), "schema-level")


async def _tried(visit: Visit, name: str, draft: Draft) -> list[str] | None:
    """Why it could not be registered; None when it is registered."""
    if not draft.schema.strip():
        raise InvalidRequest("there is no schema", hint="write or paste its text")
    schema = Schema(draft.type, draft.schema.replace("\r\n", "\n"))
    if draft.do == "try":
        return (await incompatibilities(visit.broker, name, schema))[:MOST_TOLD]
    await register_schema(visit.broker, name, schema)
    return None


async def _subject(
    visit: Visit, draft: Draft, *, problem: Problem | None = None, found: list[str] | None = None
) -> Answer:
    name, query = visit.params["subject"], visit.read_query(SubjectQuery)
    view = (await settled_registry(visit.broker)).view
    versions = view.versions(name)
    chosen = view.version(name, query.version or LATEST)
    before = [number for number in versions if number < chosen.version]
    against = query.against or (before[-1] if before else None)
    other = view.version(name, against) if against is not None else None
    diff = None if other is None else await _diff(visit.broker, other, chosen)
    own = _own_level(visit.broker, name)
    values = {
        "subject": name,
        "versions": versions[::-1][:MOST_VERSIONS],
        "chosen": chosen,
        "other": other,
        "text": readable_text(chosen.schema.text),
        "diff": diff,
        "most_lines": MOST_LINES if other is not None and _is_long(other, chosen) else 0,
        "came": sum(1 for row in diff or () if row.kind in ("added", "changed")),
        "went": sum(1 for row in diff or () if row.kind in ("removed", "changed")),
        "level": visit.broker.schemas.policies.level(name).value,
        "own_level": own or GLOBAL,
        "levels": [(GLOBAL, "as for all subjects"), *((level.value, level.value) for level in Level)],
        "mode": visit.broker.schemas.policies.mode_in_effect(name).value,
        "topics": _users(visit.broker).get(name, []),
        "referrers": view.referrers(name, chosen.version)[:MOST_TOLD],
        "draft": draft if draft.schema or problem else Draft(type=chosen.schema.type, schema=""),
        "types": [(kind, kind) for kind in visit.broker.schemas.types],
        "found": found,
        "problem": problem,
    }
    return Html("schema.html", values, 400 if problem else 200)


async def _diff(broker: Broker, left: VersionView, right: VersionView) -> list[DiffRow]:
    """Long texts take a while, and the event loop has other things to do."""
    texts = (readable_text(left.schema.text), readable_text(right.schema.text))
    return await asyncio.get_running_loop().run_in_executor(broker.readers, compared, *texts)


def _is_long(*views: VersionView) -> bool:
    return any(readable_text(one.schema.text).count("\n") >= MOST_LINES for one in views)


def _row(broker: Broker, view: RegistryView, name: str, users: dict[str, list[str]]) -> SubjectRow:
    latest = view.version(name, LATEST)
    level = broker.schemas.policies.level(name).value
    versions = len(view.versions(name))
    return SubjectRow(name, latest.schema.type, latest.version, versions, latest.id, level, users.get(name, []))


def _users(broker: Broker) -> dict[str, list[str]]:
    """Topics whose values are checked, by the subject that they are checked with."""
    found: dict[str, list[str]] = {}
    for topic in broker.catalog:
        if topic.config.schema_validation is not SchemaValidation.OFF:
            found.setdefault(topic.config.schema_subject or topic.name, []).append(topic.name)
    return found


def _own_level(broker: Broker, name: str) -> str:
    try:
        level = broker.schemas.policies.config(name).compatibility
    except CompatibilityNotSet:
        return ""
    return "" if level is None else level.value


def _form(broker: Broker, draft: Draft) -> dict[str, Any]:
    return {"draft": draft, "types": [(kind, kind) for kind in broker.schemas.types], "problem": None, "found": None}


PART = Part(
    pages=(
        Page("GET", "/schemas", listing),
        Page("POST", "/schemas", set_global_level),
        Page("GET", "/new-schema", new),
        Page("POST", "/new-schema", create),
        Page("GET", "/schemas/{subject}", subject),
        Page("POST", "/schemas/{subject}", check_or_register),
        Page("POST", "/schemas/{subject}/level", set_level),
    ),
    nav=(NavItem("Data", "Schemas", "/schemas", "schemas", "c"),),
)
