"""Schemas by their ids, which is how readers of records ask for them."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from goqueue.core.schemas.schema import Schema
from goqueue.engine.broker import Broker
from goqueue.engine.schemas.looking import settled_registry
from goqueue.gateways.http.api.schemas.dialect import endpoint
from goqueue.gateways.http.api.schemas.shapes import (
    Limit,
    Offset,
    ReferenceShape,
    page,
    references_out,
    shown_text,
    subject_in,
    type_out,
)

__all__ = ["ENDPOINTS"]


class IdParams(msgspec.Struct, frozen=True):
    id: Annotated[int, Meta(ge=0, le=2**31 - 1, description="id of a schema")]


class IdQuery(msgspec.Struct, frozen=True):
    subject: Annotated[str, Meta(description="makes no difference: ids are those of the whole registry")] = ""
    format: Annotated[str, Meta(description="serialized: Protobuf as a descriptor in base64")] = ""
    fetch_max_id: Annotated[bool, msgspec.Meta(description="answer with the highest id, too")] = msgspec.field(
        default=False, name="fetchMaxId"
    )


class TextQuery(msgspec.Struct, frozen=True):
    format: Annotated[str, Meta(description="serialized: Protobuf as a descriptor in base64")] = ""


class PlacesQuery(msgspec.Struct, frozen=True):
    subject: Annotated[str, Meta(description="only this one")] = ""
    deleted: bool = False
    offset: Offset = 0
    limit: Limit = -1


class SchemaOut(msgspec.Struct, frozen=True, rename="camel"):
    """A schema. Without a type it is AVRO."""

    schema: str
    schema_type: str | UnsetType = UNSET
    references: list[ReferenceShape] | UnsetType = UNSET
    max_id: int | UnsetType = UNSET


class Place(msgspec.Struct, frozen=True):
    """A version of a subject."""

    subject: str
    version: int


async def show(broker: Broker, params: IdParams, query: IdQuery, _: None) -> SchemaOut:
    view = (await settled_registry(broker)).view
    schema = view.schema(params.id)
    return SchemaOut(
        schema=await shown_text(broker, params.id, schema, query.format),
        schema_type=type_out(schema),
        references=references_out(schema),
        max_id=view.counts().highest_id if query.fetch_max_id else UNSET,
    )


async def text(broker: Broker, params: IdParams, query: TextQuery, _: None) -> msgspec.Raw:
    schema = await _schema(broker, params.id)
    return msgspec.Raw((await shown_text(broker, params.id, schema, query.format)).encode())


async def subjects(broker: Broker, params: IdParams, query: PlacesQuery, _: None) -> list[str]:
    found = await _places(broker, params.id, query)
    return page(list(dict.fromkeys(subject for subject, _ in found)), query.offset, query.limit)


async def versions(broker: Broker, params: IdParams, query: PlacesQuery, _: None) -> list[Place]:
    found = page(await _places(broker, params.id, query), query.offset, query.limit)
    return [Place(subject, version) for subject, version in found]


async def _schema(broker: Broker, schema_id: int) -> Schema:
    return (await settled_registry(broker)).view.schema(schema_id)


async def _places(broker: Broker, schema_id: int, query: PlacesQuery) -> list[tuple[str, int]]:
    found = (await settled_registry(broker)).view.places(schema_id, deleted=query.deleted)
    wanted = subject_in(query.subject)
    return [place for place in found if not wanted or place[0] == wanted]


ENDPOINTS = (
    endpoint("GET", "/schemas/ids/{id}", "A schema by its id", show, SchemaOut, params=IdParams, query=IdQuery),
    endpoint("GET", "/ids/{id}", "A schema by its id, in short", show, SchemaOut, params=IdParams, query=IdQuery),
    endpoint("GET", "/schemas/ids/{id}/schema", "Its text alone", text, msgspec.Raw, params=IdParams, query=TextQuery),
    endpoint(
        "GET",
        "/schemas/ids/{id}/subjects",
        "Subjects that have it",
        subjects,
        list[str],
        params=IdParams,
        query=PlacesQuery,
    ),
    endpoint(
        "GET",
        "/schemas/ids/{id}/versions",
        "Subjects and versions that have it",
        versions,
        list[Place],
        params=IdParams,
        query=PlacesQuery,
    ),
)
