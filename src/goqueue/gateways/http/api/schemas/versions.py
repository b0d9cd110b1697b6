"""Versions of a subject: register, list, show and delete."""

from typing import Annotated

import msgspec
from msgspec import Meta

from goqueue.core.schemas.schema import LATEST, VERSION_PATTERN, parse_version
from goqueue.core.schemas.views import VersionView
from goqueue.engine.broker import Broker
from goqueue.engine.schemas import changing
from goqueue.engine.schemas.looking import settled_registry
from goqueue.gateways.http.api.schemas.dialect import endpoint
from goqueue.gateways.http.api.schemas.shapes import (
    Limit,
    Offset,
    SchemaIn,
    SubjectParams,
    SubjectText,
    VersionOut,
    page,
    schema_in,
    shown_text,
    subject_in,
    version_out,
)

__all__ = ["ENDPOINTS", "VersionParams"]


class VersionParams(msgspec.Struct, frozen=True):
    subject: SubjectText
    version: Annotated[
        str,
        Meta(
            description="a number, or latest",
            examples=["latest"],
            extra_json_schema={"pattern": VERSION_PATTERN},
        ),
    ]


class RegisterQuery(msgspec.Struct, frozen=True):
    normalize: Annotated[bool, Meta(description="schemas that mean the same are the same")] = False


class VersionsQuery(msgspec.Struct, frozen=True):
    deleted: Annotated[bool, Meta(description="deleted ones, too")] = False
    deleted_only: bool = False
    deletedOnly: bool = False  # noqa: N815
    offset: Offset = 0
    limit: Limit = -1


class VersionQuery(msgspec.Struct, frozen=True):
    deleted: Annotated[bool, Meta(description="also if it is deleted")] = False
    format: Annotated[str, Meta(description="serialized: Protobuf as a descriptor in base64")] = ""


class ReferrersQuery(msgspec.Struct, frozen=True):
    deleted: bool = False
    offset: Offset = 0
    limit: Limit = -1


class DeleteQuery(msgspec.Struct, frozen=True):
    permanent: Annotated[bool, Meta(description="for good, after it has been deleted")] = False


class IdOut(msgspec.Struct, frozen=True):
    """The id of a schema."""

    id: int


async def register(broker: Broker, params: SubjectParams, query: RegisterQuery, body: SchemaIn) -> IdOut:
    done = await changing.register_schema(
        broker,
        subject_in(params.subject),
        schema_in(body),
        normalize=query.normalize,
        schema_id=None if body.id in (LATEST, 0) else body.id,
        version=None if body.version in (LATEST, 0) else body.version,
    )
    return IdOut(done.id)


async def listing(broker: Broker, params: SubjectParams, query: VersionsQuery, _: None) -> list[int]:
    view = (await settled_registry(broker)).view
    deleted_only = query.deleted_only or query.deletedOnly
    found = view.versions(subject_in(params.subject), deleted=query.deleted, deleted_only=deleted_only)
    return page(found, query.offset, query.limit)


async def show(broker: Broker, params: VersionParams, query: VersionQuery, _: None) -> VersionOut:
    return await version_out(broker, await _version(broker, params, query), query.format)


async def text(broker: Broker, params: VersionParams, query: VersionQuery, _: None) -> msgspec.Raw:
    found = await _version(broker, params, query)
    return msgspec.Raw((await shown_text(broker, found.id, found.schema, query.format)).encode())


async def referrers(broker: Broker, params: VersionParams, query: ReferrersQuery, _: None) -> list[int]:
    view = (await settled_registry(broker)).view
    found = view.referrers(subject_in(params.subject), parse_version(params.version), deleted=query.deleted)
    return page(found, query.offset, query.limit)


async def delete(broker: Broker, params: VersionParams, query: DeleteQuery, _: None) -> int:
    subject, version = subject_in(params.subject), parse_version(params.version)
    return await changing.delete_version(broker, subject, version, permanent=query.permanent)


async def _version(broker: Broker, params: VersionParams, query: VersionQuery) -> VersionView:
    view = (await settled_registry(broker)).view
    return view.version(subject_in(params.subject), parse_version(params.version), deleted=query.deleted)


_ALL, _ONE = "/subjects/{subject}/versions", "/subjects/{subject}/versions/{version}"

ENDPOINTS = (
    endpoint(
        "POST",
        _ALL,
        "Register a schema, unless the subject has it",
        register,
        IdOut,
        params=SubjectParams,
        query=RegisterQuery,
        body=SchemaIn,
    ),
    endpoint("GET", _ALL, "Versions of a subject", listing, list[int], params=SubjectParams, query=VersionsQuery),
    endpoint("GET", _ONE, "A version with its schema", show, VersionOut, params=VersionParams, query=VersionQuery),
    endpoint("DELETE", _ONE, "Delete a version", delete, int, params=VersionParams, query=DeleteQuery),
    endpoint(
        "GET",
        f"{_ONE}/schema",
        "The text of a version alone",
        text,
        msgspec.Raw,
        params=VersionParams,
        query=VersionQuery,
    ),
    endpoint(
        "GET",
        f"{_ONE}/referencedby",
        "Ids of schemas that refer to a version",
        referrers,
        list[int],
        params=VersionParams,
        query=ReferrersQuery,
    ),
)
