"""Read values that any writer's schema was used for, into the shape of one schema."""

from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import msgspec
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_type

from goqueue.client.schemas.avro import parsed
from goqueue.client.schemas.json_schema import Check
from goqueue.client.schemas.schema import AVRO, JSON
from goqueue.client.schemas.sync import AvroDeserializer, JsonDeserializer, ProtobufDeserializer, Registry, Schema
from goqueue.codec.values.json import check_json
from goqueue.errors import SchemaMismatch, UnknownSchema
from goqueue.spark.shapes import Shape, avro_shape, json_shape, message_class, protobuf_shape
from goqueue.wire.framed_values import HEAD_BYTES, schema_id_of

if TYPE_CHECKING:
    from google.protobuf.descriptor import Descriptor

__all__ = ["Reading", "ValueReader", "reader_of"]

MOST_READERS = 64
MOST_UNKNOWN = 1000


class Reading(msgspec.Struct, frozen=True):
    """With which schema values are read: plain, as it goes to every task."""

    registry: str
    headers: tuple[tuple[str, str], ...]
    schema_id: int
    schema: Schema
    message: str | None = None


@lru_cache(maxsize=MOST_READERS)
def reader_of(reading: Reading) -> "ValueReader":
    """Kept by each process for as long as it lives, with the schemas of all writers that it has met."""
    return ValueReader(reading)


class ValueReader:
    """Values of all writers, in the shape of one schema."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        registry, schema = Registry(reading.registry, headers=dict(reading.headers)), reading.schema
        self._plain: Check | None = None
        self._unknown: dict[bytes, UnknownSchema] = {}
        self._decode: Callable[[bytes], Any]
        if schema.type == AVRO:
            self.shape: Shape = avro_shape(parsed(registry, schema))
            self._decode = AvroDeserializer(registry, schema).decode
        elif schema.type == JSON:
            self.shape = json_shape(registry, schema)
            # What a value has to be is said by its writer's schema; its shape is that of the reader's.
            self._decode = JsonDeserializer(registry).decode
            self._plain = Check(registry, schema)
        else:
            kind = message_class(registry, reading.schema_id, reading.message)
            self.shape = protobuf_shape(cast("Descriptor", kind.DESCRIPTOR))
            self._decode = ProtobufDeserializer(registry, kind).decode
        self.arrow: pa.DataType = to_arrow_type(self.shape.type, timezone="UTC")

    def read(self, data: bytes | None) -> Any:
        if data is None:
            return None
        value = self._value(data)
        convert = self.shape.convert
        if convert is None or value is None:
            return value
        try:
            return convert(value)
        except SchemaMismatch as error:
            raise type(error)(f"{error.message} ({self.sides(data)})") from None
        except (ValueError, TypeError, AttributeError) as error:
            raise SchemaMismatch(f"{type(error).__name__} {error} ({self.sides(data)})") from None

    def _value(self, data: bytes) -> Any:
        if self._plain is not None and data[:1] != b"\x00":
            return self._plain_value(data, self._plain)
        head = data[:HEAD_BYTES]
        if head in self._unknown:
            raise self._unknown[head]
        try:
            return self._decode(data)
        except UnknownSchema as error:
            if len(self._unknown) < MOST_UNKNOWN:
                self._unknown[head] = error
            raise

    def _plain_value(self, data: bytes, check: Check) -> Any:
        try:
            check_json(data)
            value = msgspec.json.decode(data)
            check(value)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise SchemaMismatch(f"the value is not JSON: {error} ({self.sides(data)})") from None
        except SchemaMismatch as error:
            raise type(error)(f"{error.message} ({self.sides(data)})", path=error.path) from None
        return value

    def sides(self, data: bytes) -> str:
        framed = data[:1] == b"\x00" and len(data) >= HEAD_BYTES
        written = f"written with schema {schema_id_of(data)}" if framed else "plain JSON"
        return f"{written}; read with schema {self._reading.schema_id}"
