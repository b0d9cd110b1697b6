"""Avro format for the registry."""

from collections.abc import Mapping
from typing import Any

from fastavro.schema import parse_schema

from goqueue.core.schemas.avro.compatibility import incompatibilities
from goqueue.core.schemas.avro.reading import read_schema
from goqueue.core.schemas.avro.types import AvroSchema
from goqueue.core.schemas.avro.writing import canonical_text, whole
from goqueue.core.schemas.formats import Incompatibility
from goqueue.errors import InvalidSchema

__all__ = ["AvroFormat", "for_fastavro"]


class AvroFormat:
    name = "AVRO"

    def parse(self, text: str, references: Mapping[str, str]) -> AvroSchema:
        schema = read_schema(text, references)
        for_fastavro(schema)
        return schema

    def canonical(self, parsed: AvroSchema) -> str:
        return canonical_text(parsed)

    def incompatibilities(self, reader: AvroSchema, writer: AvroSchema) -> list[Incompatibility]:
        return incompatibilities(reader, writer)

    def reuses(self, newer: AvroSchema, older: AvroSchema) -> list[Incompatibility]:
        return []


def for_fastavro(schema: AvroSchema) -> Any:
    """The schema as fastavro takes it for reading and writing data, including the types of its references.

    Called when a schema is parsed, so that the registry has no schema that fastavro rejects.
    """
    try:
        return parse_schema(whole(schema))
    except Exception as error:
        # The library has no common exception for invalid schemas, and wrong attributes of logical types raise any.
        raise InvalidSchema(f"Avro schema: {str(error)[:300] or type(error).__name__}") from None
