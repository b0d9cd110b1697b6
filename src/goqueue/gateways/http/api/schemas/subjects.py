"""Subjects: list, look a schema up, delete."""

from typing import Annotated

import msgspec
from msgspec import Meta

from goqueue.core.schemas.views import VersionView
from goqueue.engine.broker import Broker
from goqueue.engine.schemas import changing
from goqueue.engine.schemas.looking import find_schema, settled_registry
from goqueue.gateways.http.api.schemas.dialect import endpoint
from goqueue.gateways.http.api.schemas.shapes import (
    DEFAULT_CONTEXT,
    Limit,
    Offset,
    SchemaIn,
    SubjectParams,
    VersionOut,
    page,
    schema_in,
    subject_in,
    version_out,
)

__all__ = ["ENDPOINTS", "prefix_in"]

ANY_CONTEXT = ":*:"


class SubjectsQuery(msgspec.Struct, frozen=True):
    subject_prefix: str = msgspec.field(default="", name="subjectPrefix")
    deleted: Annotated[bool, Meta(description="deleted ones, too")] = False
    deleted_only: bool = False
    deletedOnly: bool = False  # noqa: N815
    offset: Offset = 0
    limit: Limit = -1


class LookUpQuery(msgspec.Struct, frozen=True):
    normalize: Annotated[bool, Meta(description="schemas that mean the same are the same")] = False
    deleted: Annotated[bool, Meta(description="also if it is deleted")] = False
    format: Annotated[str, Meta(description="serialized: Protobuf as a descriptor in base64")] = ""


class DeleteSubjectQuery(msgspec.Struct, frozen=True):
    permanent: Annotated[bool, Meta(description="for good, after it has been deleted")] = False


async def listing(broker: Broker, _: object, query: SubjectsQuery, __: None) -> list[str]:
    view = (await settled_registry(broker)).view
    found = view.subjects(
        prefix=prefix_in(query.subject_prefix),
        deleted=query.deleted,
        deleted_only=query.deleted_only or query.deletedOnly,
    )
    return page(found, query.offset, query.limit)


async def look_up(broker: Broker, params: SubjectParams, query: LookUpQuery, body: SchemaIn) -> VersionOut:
    found = await find_schema(
        broker, subject_in(params.subject), schema_in(body), normalize=query.normalize, deleted=query.deleted
    )
    view = VersionView(found.subject, found.version, found.id, found.schema)
    return await version_out(broker, view, query.format)


async def delete(broker: Broker, params: SubjectParams, query: DeleteSubjectQuery, _: None) -> list[int]:
    return list(await changing.delete_subject(broker, subject_in(params.subject), permanent=query.permanent))


def prefix_in(given: str) -> str:
    """All subjects are in one context, and those in any are all there are."""
    return given.removeprefix(ANY_CONTEXT).removeprefix(DEFAULT_CONTEXT)


_ONE = "/subjects/{subject}"

ENDPOINTS = (
    endpoint("GET", "/subjects", "All subjects", listing, list[str], query=SubjectsQuery),
    endpoint(
        "POST",
        _ONE,
        "The version under which a subject has a schema",
        look_up,
        VersionOut,
        params=SubjectParams,
        query=LookUpQuery,
        body=SchemaIn,
    ),
    endpoint(
        "DELETE",
        _ONE,
        "Delete a subject with all versions",
        delete,
        list[int],
        params=SubjectParams,
        query=DeleteSubjectQuery,
    ),
)
