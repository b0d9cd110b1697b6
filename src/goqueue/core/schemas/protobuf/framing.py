"""Protobuf framing: name of a record's message type, and its path of indexes, see `goqueue.wire.framed_values`."""

from collections.abc import Sequence

from google.protobuf.descriptor_pb2 import DescriptorProto

from goqueue.core.schemas.protobuf.schema import ProtobufSchema
from goqueue.errors import InvalidRecord

__all__ = ["message_indexes", "message_name"]


def message_indexes(schema: ProtobufSchema, name: str) -> tuple[int, ...]:
    """The path to the message of this full name, e.g. `shop.Order.Line`; the file must contain it, not import it."""
    package = schema.file.package
    local = name.removeprefix(f"{package}.") if package else name
    messages: Sequence[DescriptorProto] = schema.file.message_type
    path = []
    for part in local.split("."):
        found = next((index for index, each in enumerate(messages) if each.name == part), None)
        if found is None or (package and local == name):
            raise InvalidRecord(f"the schema has no message {name}", hint=_choices(schema))
        path.append(found)
        messages = messages[found].nested_type
    return tuple(path)


def message_name(schema: ProtobufSchema, indexes: Sequence[int]) -> str:
    names = [schema.file.package] if schema.file.package else []
    messages: Sequence[DescriptorProto] = schema.file.message_type
    for index in indexes:
        if not 0 <= index < len(messages):
            raise InvalidRecord(f"the schema has no message at the path {list(indexes)}", hint=_choices(schema))
        names.append(messages[index].name)
        messages = messages[index].nested_type
    if not indexes:
        raise InvalidRecord("the path to the message is empty", hint="[0] is the first message of the file")
    return ".".join(names)


def _choices(schema: ProtobufSchema) -> str:
    names = ", ".join(message.name for message in schema.file.message_type[:10])
    return f"its messages are {names}" if names else "it has no message at all"
