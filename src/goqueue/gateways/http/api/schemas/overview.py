"""What the registry as a whole has: formats, contexts, all schemas, figures."""

from itertools import islice
from typing import Annotated

import msgspec
from msgspec import Meta

from goqueue.core.schemas.registering import MOST_SCHEMAS
from goqueue.core.schemas.views import Counts
from goqueue.engine.broker import Broker
from goqueue.engine.schemas.looking import settled_registry
from goqueue.gateways.http.api.schemas.dialect import endpoint
from goqueue.gateways.http.api.schemas.shapes import Limit, Offset, VersionOut, version_out
from goqueue.gateways.http.api.schemas.subjects import prefix_in
from goqueue.gateways.http.endpoint import Nothing

__all__ = ["ENDPOINTS"]

MOST_SCHEMAS_LISTED = 1000
THE_CONTEXT = "."


class SchemasQuery(msgspec.Struct, frozen=True):
    subject_prefix: str = msgspec.field(default="", name="subjectPrefix")
    deleted: Annotated[bool, Meta(description="deleted ones, too")] = False
    latest_only: Annotated[bool, Meta(description="of each subject only the latest version")] = msgspec.field(
        default=False, name="latestOnly"
    )
    offset: Offset = 0
    limit: Annotated[int, Meta(description=f"how many at most; {MOST_SCHEMAS_LISTED} if it is below zero")] = -1


class PageQuery(msgspec.Struct, frozen=True):
    offset: Offset = 0
    limit: Limit = -1


async def root(_: Broker, __: Nothing, ___: Nothing, ____: None) -> dict[str, str]:
    return {}


async def types(broker: Broker, _: Nothing, __: Nothing, ___: None) -> list[str]:
    return list(broker.schemas.types)


async def contexts(_: Broker, __: Nothing, query: PageQuery, ___: None) -> list[str]:
    return [THE_CONTEXT][max(query.offset, 0) :][: None if query.limit < 0 else query.limit]


async def schemas(broker: Broker, _: Nothing, query: SchemasQuery, __: None) -> list[VersionOut]:
    view = (await settled_registry(broker)).view
    found = view.schemas(prefix=prefix_in(query.subject_prefix), deleted=query.deleted, latest_only=query.latest_only)
    # There are never as many; what is larger does not fit into a machine word.
    first = min(max(query.offset, 0), MOST_SCHEMAS)
    most = MOST_SCHEMAS_LISTED if query.limit < 0 else min(query.limit, MOST_SCHEMAS_LISTED)
    return [await version_out(broker, one) for one in list(islice(found, first, first + most))]


async def stats(broker: Broker, _: Nothing, __: Nothing, ___: None) -> Counts:
    return (await settled_registry(broker)).view.counts()


ENDPOINTS = (
    endpoint("GET", "/", "Whether there is a registry", root, dict[str, str]),
    endpoint("GET", "/schemas", "All schemas", schemas, list[VersionOut], query=SchemasQuery),
    endpoint("GET", "/schemas/types", "Formats that schemas can have", types, list[str]),
    endpoint("GET", "/contexts", "The one context that all subjects are in", contexts, list[str], query=PageQuery),
    endpoint("GET", "/stats", "How much there is in the registry", stats, Counts),
)
