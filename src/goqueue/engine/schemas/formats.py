"""The schema formats that a broker knows, by the names that clients use."""

from collections.abc import Mapping

from goqueue.core.schemas.avro.format import AvroFormat
from goqueue.core.schemas.formats import SchemaFormat
from goqueue.core.schemas.json_schema.format import JsonSchemaFormat
from goqueue.core.schemas.protobuf.format import ProtobufFormat
from goqueue.engine.ports import CompileProto
from goqueue.errors import InvalidSchema

__all__ = ["no_protoc", "schema_formats"]


def schema_formats(compile_proto: CompileProto) -> dict[str, SchemaFormat]:
    known: tuple[SchemaFormat, ...] = (AvroFormat(), JsonSchemaFormat(), ProtobufFormat(compile_proto))
    return {each.name: each for each in known}


def no_protoc(_: str, __: Mapping[str, str]) -> bytes:
    """For a broker that was given no compiler."""
    raise InvalidSchema("this broker cannot compile Protobuf schemas", hint="it takes Avro and JSON schemas")
