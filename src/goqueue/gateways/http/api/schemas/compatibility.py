"""Whether a schema could be registered, and if not, why."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from goqueue.core.schemas.schema import parse_version
from goqueue.engine.broker import Broker
from goqueue.engine.schemas.looking import incompatibilities
from goqueue.gateways.http.api.schemas.dialect import endpoint
from goqueue.gateways.http.api.schemas.shapes import SchemaIn, SubjectParams, schema_in, subject_in
from goqueue.gateways.http.api.schemas.versions import VersionParams

__all__ = ["ENDPOINTS"]


class CompatibilityQuery(msgspec.Struct, frozen=True):
    verbose: Annotated[bool, Meta(description="with the reasons")] = False
    normalize: bool = False


class CompatibilityOut(msgspec.Struct, frozen=True):
    """Whether a schema may follow, and with verbose=true why not."""

    is_compatible: bool
    messages: list[str] | UnsetType = UNSET


async def with_all(
    broker: Broker, params: SubjectParams, query: CompatibilityQuery, body: SchemaIn
) -> CompatibilityOut:
    return await _compared(broker, params.subject, None, query, body)


async def with_one(
    broker: Broker, params: VersionParams, query: CompatibilityQuery, body: SchemaIn
) -> CompatibilityOut:
    return await _compared(broker, params.subject, parse_version(params.version), query, body)


async def _compared(
    broker: Broker, subject: str, version: int | None, query: CompatibilityQuery, body: SchemaIn
) -> CompatibilityOut:
    found = await incompatibilities(
        broker, subject_in(subject), schema_in(body), version=version, normalize=query.normalize
    )
    return CompatibilityOut(not found, found if query.verbose else UNSET)


_PATH = "/compatibility/subjects/{subject}/versions"

ENDPOINTS = (
    endpoint(
        "POST",
        _PATH,
        "Whether a schema may follow those of a subject",
        with_all,
        CompatibilityOut,
        params=SubjectParams,
        query=CompatibilityQuery,
        body=SchemaIn,
    ),
    endpoint(
        "POST",
        f"{_PATH}/{{version}}",
        "Whether a schema may follow a version",
        with_one,
        CompatibilityOut,
        params=VersionParams,
        query=CompatibilityQuery,
        body=SchemaIn,
    ),
)
