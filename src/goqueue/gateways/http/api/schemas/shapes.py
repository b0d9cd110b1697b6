"""What schemas look like in JSON, coming and going.

Answers have the fields that every version of the API has, and no more: older clients give up on one that they do not
know.
"""

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, TypeVar

import msgspec
from msgspec import UNSET, Meta, UnsetType

from goqueue.core.schemas.schema import LATEST, MOST_ID, Reference, Schema
from goqueue.core.schemas.views import VersionView
from goqueue.engine.broker import Broker
from goqueue.engine.schemas.parsing import serialized_text
from goqueue.errors import InvalidSchema
from goqueue.gateways.http.rules import AtLeastOne, Rule

__all__ = [
    "MOST_LISTED",
    "Limit",
    "NoMembers",
    "Offset",
    "ReferenceShape",
    "SchemaIn",
    "SubjectParams",
    "VersionOut",
    "page",
    "references_out",
    "schema_in",
    "shown_text",
    "subject_in",
    "type_out",
    "version_out",
]

AVRO = "AVRO"
DEFAULT_CONTEXT = ":.:"
MOST_LISTED = 20_000

SubjectText = Annotated[str, Meta(description="name of the subject, such as orders-value", examples=["orders-value"])]
Offset = Annotated[int, Meta(description="how many to leave out at the beginning")]
Limit = Annotated[int, Meta(description="how many at most; all if it is below zero")]
Number = Annotated[int, Meta(ge=LATEST, le=MOST_ID)]
Item = TypeVar("Item")


class SubjectParams(msgspec.Struct, frozen=True):
    subject: SubjectText


class ReferenceShape(msgspec.Struct, frozen=True):
    """The text knows the schema as `name`; it is registered as `version` of `subject`, the latest if it is −1."""

    name: str
    subject: str
    version: Number


NoMembers = Annotated[dict[str, Any], Meta(extra_json_schema={"maxProperties": 0})]
SchemaType = Annotated[str, Meta(extra_json_schema={"enum": ["AVRO", "JSON", "PROTOBUF"]})]


class SchemaIn(msgspec.Struct, frozen=True, rename="camel"):
    """A schema. Rules and metadata are not kept; id and version are for registries in import mode."""

    schema: str | None = None
    schema_type: SchemaType | None = None
    references: list[ReferenceShape] | None = None
    id: Number | None = None
    version: Number | None = None
    metadata: NoMembers | None = None
    rule_set: NoMembers | None = None

    # The registry has a code of its own for a body without a schema, so this is checked when it is used.
    RULES: ClassVar[tuple[Rule, ...]] = (AtLeastOne("schema"),)


class VersionOut(msgspec.Struct, frozen=True, rename="camel"):
    """A version of a subject. Without a type it is AVRO."""

    subject: str
    version: int
    id: int
    schema: str
    schema_type: str | UnsetType = UNSET
    references: list[ReferenceShape] | UnsetType = UNSET


def schema_in(body: SchemaIn) -> Schema:
    if body.rule_set or body.metadata:
        raise InvalidSchema("this registry keeps neither rules nor metadata", hint="leave out ruleSet and metadata")
    if body.schema is None:
        raise InvalidSchema("there is no schema", hint="send its text as `schema`")
    references = (Reference(one.name, subject_in(one.subject), one.version or LATEST) for one in body.references or ())
    return Schema(AVRO if body.schema_type is None else body.schema_type, body.schema, tuple(references))


def subject_in(name: str) -> str:
    """Names may come with the context that all subjects are in."""
    return name.removeprefix(DEFAULT_CONTEXT)


async def shown_text(broker: Broker, schema_id: int, schema: Schema, form: str) -> str:
    """Only Protobuf has another form than the one that was registered."""
    serialized = await serialized_text(broker, schema_id) if form == "serialized" else None
    return schema.text if serialized is None else serialized


async def version_out(broker: Broker, view: VersionView, form: str = "") -> VersionOut:
    return VersionOut(
        subject=view.subject,
        version=view.version,
        id=view.id,
        schema=await shown_text(broker, view.id, view.schema, form),
        schema_type=type_out(view.schema),
        references=references_out(view.schema),
    )


def type_out(schema: Schema) -> str | UnsetType:
    return UNSET if schema.type == AVRO else schema.type


def references_out(schema: Schema) -> list[ReferenceShape] | UnsetType:
    return [ReferenceShape(one.name, one.subject, one.version) for one in schema.references] or UNSET


def page(items: Sequence[Item], offset: int, limit: int, most: int = MOST_LISTED) -> list[Item]:
    first = max(offset, 0)
    return list(items[first : first + (most if limit < 0 else min(limit, most))])
