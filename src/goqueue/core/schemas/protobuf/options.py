"""Options of a .proto file as text, including those that the schema or its imports define."""

from collections.abc import Iterable
from typing import Any

from google.protobuf import text_encoding, text_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from goqueue.errors import InvalidSchema

__all__ = ["OptionPrinter", "quoted"]

_DESCRIPTOR_FILE = "google/protobuf/descriptor.proto"
# Implied by the syntax of a map field; and a leftover of a parser, which no compiled file has.
_NEVER_WRITTEN = {"map_entry", "uninterpreted_option"}


class OptionPrinter:
    """Knows the options that files define; without those files, only the options of Protobuf itself are printed."""

    def __init__(self, files: Iterable[FileDescriptorProto]) -> None:
        known = tuple(files)
        self._pool = DescriptorPool() if any(file.name == _DESCRIPTOR_FILE for file in known) else None
        if self._pool is None:
            return
        for file in known:
            try:
                self._pool.AddSerializedFile(file.SerializeToString())
            except TypeError as reason:
                raise InvalidSchema(f"the descriptors contradict each other: {reason}") from None

    def assignments(self, options: Message) -> list[str]:
        """Each option as `name = value`, sorted by name."""
        found: list[str] = []
        for field, value in self._understood(options).ListFields():
            if field.name in _NEVER_WRITTEN:
                continue
            name = f"(.{field.full_name})" if field.is_extension else field.name
            values = value if field.is_repeated else [value]
            found.extend(f"{name} = {_value(field, each)}" for each in values)
        return sorted(found, key=lambda assignment: assignment.split(" = ", 1)[0])

    def _understood(self, options: Message) -> Message:
        if self._pool is None:
            return options
        kind = GetMessageClass(self._pool.FindMessageTypeByName(options.DESCRIPTOR.full_name))
        understood: Message = kind.FromString(options.SerializeToString())
        return understood


def quoted(text: str | bytes) -> str:
    data = text.encode() if isinstance(text, str) else text
    return f'"{text_encoding.CEscape(data, as_utf8=False)}"'


def _value(field: FieldDescriptor, value: Any) -> str:
    if field.enum_type is not None:
        return str(field.enum_type.values_by_number[value].name)
    if field.type in (FieldDescriptor.TYPE_MESSAGE, FieldDescriptor.TYPE_GROUP):
        return f"{{ {text_format.MessageToString(value, as_one_line=True)} }}"
    if isinstance(value, str | bytes):
        return quoted(value)
    return str(value).lower() if isinstance(value, bool) else str(value)
