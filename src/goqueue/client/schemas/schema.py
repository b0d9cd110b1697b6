"""Schemas as the registry gives and takes them, and how a subject is found for a topic."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from goqueue.errors import InvalidSchema

__all__ = [
    "AVRO",
    "JSON",
    "PROTOBUF",
    "Reference",
    "Schema",
    "SubjectStrategy",
    "Version",
    "schema_of",
    "topic_key",
    "topic_name",
    "topic_value",
]

AVRO, JSON, PROTOBUF = "AVRO", "JSON", "PROTOBUF"

SubjectStrategy = Callable[[str], str]
"""The subject under which the schemas of a topic stand."""


class Reference(msgspec.Struct, frozen=True):
    """The text knows the schema as `name`; it is registered as `version` of `subject`."""

    name: str
    subject: str
    version: int


class Schema(msgspec.Struct, frozen=True, rename={"text": "schema", "type": "schemaType"}):
    """A text with its format, and the schemas that it refers to."""

    text: str
    type: str = AVRO
    references: tuple[Reference, ...] = ()


class Version(msgspec.Struct, frozen=True, rename={"text": "schema", "type": "schemaType"}):
    """A schema as a version of a subject."""

    subject: str
    version: int
    id: int
    text: str
    type: str = AVRO
    references: tuple[Reference, ...] = ()

    @property
    def schema(self) -> Schema:
        return Schema(self.text, self.type, self.references)


def schema_of(given: Schema | str | Mapping[str, Any] | Sequence[Any], kind: str) -> Schema:
    """Schemas that are written in JSON can be given as text, as what the text stands for, or with references."""
    if isinstance(given, Schema):
        if given.type != kind:
            raise InvalidSchema(f"the schema is {given.type}, and {kind} is needed", hint=f'say type="{kind}"')
        return given
    return Schema(given if isinstance(given, str) else json.dumps(given), kind)


def topic_value(topic: str) -> str:
    """What Confluent's serializers do unless told otherwise."""
    return f"{topic}-value"


def topic_key(topic: str) -> str:
    return f"{topic}-key"


def topic_name(topic: str) -> str:
    """The topic itself."""
    return topic
