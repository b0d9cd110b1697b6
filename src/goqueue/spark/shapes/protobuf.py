"""The Spark type of a Protobuf message, and the class that reads it, made of what the registry has."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from google.protobuf import descriptor_pool, json_format, message_factory
from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message import Message
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from goqueue.client.schemas.protobuf import WELL_KNOWN, file_of
from goqueue.client.schemas.sync import Reference, Registry
from goqueue.errors import InvalidSchema, SchemaMismatch
from goqueue.spark.shapes.shape import Shape, array_of

__all__ = ["message_class", "protobuf_shape"]

ROOT = "goqueue-root.proto"
SCALARS: dict[int, DataType] = {
    FieldDescriptor.TYPE_DOUBLE: DoubleType(),
    FieldDescriptor.TYPE_FLOAT: FloatType(),
    FieldDescriptor.TYPE_INT32: IntegerType(),
    FieldDescriptor.TYPE_SINT32: IntegerType(),
    FieldDescriptor.TYPE_SFIXED32: IntegerType(),
    FieldDescriptor.TYPE_UINT32: LongType(),
    FieldDescriptor.TYPE_FIXED32: LongType(),
    FieldDescriptor.TYPE_INT64: LongType(),
    FieldDescriptor.TYPE_SINT64: LongType(),
    FieldDescriptor.TYPE_SFIXED64: LongType(),
    FieldDescriptor.TYPE_UINT64: DecimalType(20, 0),
    FieldDescriptor.TYPE_FIXED64: DecimalType(20, 0),
    FieldDescriptor.TYPE_BOOL: BooleanType(),
    FieldDescriptor.TYPE_STRING: StringType(),
    FieldDescriptor.TYPE_BYTES: BinaryType(),
}
WRAPPERS = frozenset(
    f"google.protobuf.{name}Value"
    for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
)
FREE_FORM = frozenset(f"google.protobuf.{name}" for name in ("Any", "Struct", "Value", "ListValue"))
"""What these hold no schema says: they come as JSON text."""


def message_class(registry: Registry, schema_id: int, name: str | None) -> type[Message]:
    """The message of this name, without its package, or else the first of the file."""
    pool = descriptor_pool.DescriptorPool()
    root = _add(registry, pool, schema_id, ROOT, set())
    wanted = name or (root.message_type[0].name if root.message_type else "")
    full = f"{root.package}.{wanted}" if root.package else wanted
    try:
        return message_factory.GetMessageClass(pool.FindMessageTypeByName(full))
    except KeyError:
        there = ", ".join(message.name for message in root.message_type) or "none"
        raise InvalidSchema(f"schema {schema_id} has no message {wanted}", hint=f"there are: {there}") from None


def _add(registry: Registry, pool: Any, schema_id: int, name: str, added: set[str]) -> FileDescriptorProto:
    """A file after those that it imports."""
    schema = registry.schema(schema_id, serialized=True)
    file = file_of(schema.text)
    file.name = name
    references: dict[str, Reference] = {one.name: one for one in schema.references}
    for imported in file.dependency:
        if imported in added:
            continue
        added.add(imported)
        reference = references.get(imported)
        if reference is not None:
            _add(registry, pool, registry.version(reference.subject, reference.version).id, imported, added)
        elif imported.startswith(WELL_KNOWN):
            _add_known(pool, imported, added)
        else:
            raise InvalidSchema(f"schema {schema_id} imports {imported}, which is not among its references")
    try:
        pool.Add(file)
    except TypeError as error:
        raise InvalidSchema(f"schema {schema_id} cannot be used: {error}") from None
    return file


def _add_known(pool: Any, name: str, added: set[str]) -> None:
    """Files that come with the library."""
    try:
        import_module(f"{name.removesuffix('.proto').replace('/', '.')}_pb2")
        found = descriptor_pool.Default().FindFileByName(name)
    except (ImportError, KeyError):
        raise InvalidSchema(f"{name} is imported, and is not installed here") from None
    for other in found.dependencies:
        if other.name not in added:
            added.add(other.name)
            _add_known(pool, other.name, added)
    pool.AddSerializedFile(found.serialized_pb)


def protobuf_shape(message: Descriptor, within: tuple[str, ...] = ()) -> Shape:
    """Of messages of this kind, which become dictionaries."""
    known = _well_known(message)
    if known is not None:
        return known
    if message.full_name in within:
        raise InvalidSchema(
            f"the message {message.full_name} holds itself, and a column cannot",
            hint="read the values as they are, or register a schema without it for reading",
        )
    fields = [(field.name, *_field(field, (*within, message.full_name))) for field in message.fields]
    kind = StructType([StructField(name, shape.type) for name, shape, _ in fields])

    def convert(value: Message) -> dict[str, Any]:
        return {name: get(value) for name, _, get in fields}

    return Shape(kind, convert)


def _well_known(message: Descriptor) -> Shape | None:
    name = message.full_name
    if name == "google.protobuf.Timestamp":
        return Shape(TimestampType(), _microseconds)
    if name == "google.protobuf.Duration":
        return Shape(DayTimeIntervalType(), _microseconds)
    if name in WRAPPERS:
        return Shape(SCALARS[message.fields_by_name["value"].type], lambda value: value.value)
    if name in FREE_FORM:
        return Shape(StringType(), _json)
    return None


def _microseconds(value: Any) -> Any:
    """Of a Timestamp or a Duration, which may be larger than what Python's own types can be."""
    return value.seconds * 1_000_000 + value.nanos // 1000


def _json(value: Message) -> str:
    try:
        return json_format.MessageToJson(value, indent=None)
    except (TypeError, ValueError, RecursionError, json_format.Error) as error:
        raise SchemaMismatch(f"at {value.DESCRIPTOR.full_name}: {error}") from None


def _field(field: FieldDescriptor, within: tuple[str, ...]) -> tuple[Shape, Callable[[Any], Any]]:
    """The field's shape, and what takes its value out of a message."""
    name = field.name
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        return _map(field, within)
    one = _single(field, within)
    convert = one.convert
    if field.is_repeated:
        if convert is None:
            return array_of(Shape(one.type)), lambda message: list(getattr(message, name))
        return array_of(Shape(one.type)), lambda message: [convert(value) for value in getattr(message, name)]

    def get(message: Any) -> Any:
        value = getattr(message, name)
        return value if convert is None else convert(value)

    if not field.has_presence:
        return one, get
    return one, lambda message: get(message) if message.HasField(name) else None


def _map(field: FieldDescriptor, within: tuple[str, ...]) -> tuple[Shape, Callable[[Any], Any]]:
    assert field.message_type is not None
    entry = field.message_type.fields_by_name
    keys, values, name = _single(entry["key"], within), _single(entry["value"], within), field.name
    convert = values.convert or (lambda value: value)
    shape = Shape(MapType(keys.type, values.type))
    return shape, lambda message: [(key, convert(value)) for key, value in getattr(message, name).items()]


def _single(field: FieldDescriptor, within: tuple[str, ...]) -> Shape:
    if field.message_type is not None:
        return protobuf_shape(field.message_type, within)
    if field.enum_type is not None:
        names = {number: value.name for number, value in field.enum_type.values_by_number.items()}
        # A number that a newer writer gave a name is shown as it is.
        return Shape(StringType(), lambda number: names.get(number, str(number)))
    return Shape(SCALARS[field.type])
