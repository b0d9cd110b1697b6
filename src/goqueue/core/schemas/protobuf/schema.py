"""Parsed Protobuf schema: descriptors of its file and of all files it imports."""

import base64
import binascii
from collections.abc import Iterator, Mapping

import msgspec
from google.protobuf.descriptor_pb2 import DescriptorProto, EnumDescriptorProto, FileDescriptorProto
from google.protobuf.message import DecodeError

from goqueue.errors import InvalidSchema

__all__ = ["ProtobufSchema", "TypeIndex", "decoded_descriptor"]


class ProtobufSchema(msgspec.Struct, frozen=True):
    """`imports` are the direct and indirect imports of `file`, each after its own imports."""

    file: FileDescriptorProto
    imports: tuple[FileDescriptorProto, ...]

    def serialized(self) -> str:
        """The form in which the REST API gives a schema when asked for `format=serialized`."""
        return base64.b64encode(self.file.SerializeToString(deterministic=True)).decode()


def decoded_descriptor(text: str) -> FileDescriptorProto | None:
    """The descriptor, if the text is one in base64; a .proto text never is, because of its semicolons and braces."""
    try:
        data = base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        return None
    if not data:
        return None
    try:
        return FileDescriptorProto.FromString(data)
    except DecodeError:
        raise InvalidSchema(
            "the text is base64, but not that of a FileDescriptorProto",
            hint="send the .proto text, or the serialized FileDescriptorProto in base64",
        ) from None


class Placed(msgspec.Struct, frozen=True):
    """A message or an enum together with the name of its file and the package of that file."""

    kind: DescriptorProto | EnumDescriptorProto
    package: str
    file: str

    def local_name(self, full_name: str) -> str:
        return full_name.removeprefix(f".{self.package}." if self.package else ".")


class TypeIndex:
    """Every type that a schema can refer to, by the full name that descriptors use, with a leading dot."""

    def __init__(self, schema: ProtobufSchema) -> None:
        self._types: Mapping[str, Placed] = {
            name: Placed(kind, file.package, file.name)
            for file in (*schema.imports, schema.file)
            for name, kind in _types_of(file)
        }

    def __getitem__(self, full_name: str) -> Placed:
        return self._types[full_name]

    def message(self, full_name: str) -> DescriptorProto:
        kind = self._types[full_name].kind
        assert isinstance(kind, DescriptorProto)
        return kind


def _types_of(file: FileDescriptorProto) -> Iterator[tuple[str, DescriptorProto | EnumDescriptorProto]]:
    prefix = f".{file.package}" if file.package else ""
    for enum in file.enum_type:
        yield f"{prefix}.{enum.name}", enum
    waiting = [(f"{prefix}.{message.name}", message) for message in file.message_type]
    while waiting:
        name, message = waiting.pop()
        yield name, message
        for enum in message.enum_type:
            yield f"{name}.{enum.name}", enum
        waiting.extend((f"{name}.{nested.name}", nested) for nested in message.nested_type)
