"""Protobuf messages of classes that protoc made, framed with the path to their message."""

import base64
from typing import Any, cast

from google.protobuf.descriptor import Descriptor, FileDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from google.protobuf.message import DecodeError, EncodeError, Message

from goqueue.client.schemas.deserializing import Read, Reader
from goqueue.client.schemas.schema import PROTOBUF, Reference, Schema, SubjectStrategy, topic_value
from goqueue.client.schemas.serializing import HasRegistry, Writer
from goqueue.codec.values.protobuf import ProtobufValues
from goqueue.errors import InvalidSchema, SchemaMismatch
from goqueue.wire.framed_values import message_path, read_message_path

__all__ = ["WELL_KNOWN", "ProtobufReader", "ProtobufWriter", "file_of"]

WELL_KNOWN = ("google/protobuf/", "google/type/", "confluent/")
"""Files that every reader has: they are not registered."""


class ProtobufWriter(Writer):
    def __init__(
        self,
        registry: HasRegistry,
        message_type: type[Message],
        *,
        subject_strategy: SubjectStrategy = topic_value,
        auto_register: bool = True,
        normalize: bool = False,
    ) -> None:
        """Files that the message's file imports are registered under their own names."""
        super().__init__(registry, subject_strategy, auto_register=auto_register, normalize=normalize)
        self._type = message_type
        self._indexes = message_path(_indexes(_descriptor(message_type)))

    def _schema(self) -> Schema:
        return self._schema_of(_descriptor(self._type).file)

    def _schema_of(self, file: FileDescriptor) -> Schema:
        imports = [each for each in file.dependencies if not each.name.startswith(WELL_KNOWN)]
        return Schema(_serialized(file), PROTOBUF, tuple(self._reference(each) for each in imports))

    def _reference(self, file: FileDescriptor) -> Reference:
        schema = self._schema_of(file)
        self._id_in(file.name, schema)
        return Reference(
            file.name, file.name, self._registry.look_up(file.name, schema, normalize=self._normalize).version
        )

    def _path(self) -> bytes:
        return self._indexes

    def _body(self, value: Any) -> bytes:
        if not isinstance(value, self._type):
            wanted = self._type.DESCRIPTOR.full_name
            raise SchemaMismatch(f"the value is a {type(value).__name__}, and not a message {wanted}")
        try:
            return value.SerializeToString()
        except EncodeError as error:
            raise SchemaMismatch(f"the message cannot be written: {error}") from error


class ProtobufReader(Reader):
    def __init__(self, registry: HasRegistry, message_type: type[Message]) -> None:
        super().__init__(registry, Schema(_serialized(_descriptor(message_type).file), PROTOBUF))
        self._type = message_type

    def _make(self, schema_id: int) -> Read:
        written = self._registry.schema(schema_id, serialized=True)
        if written.type != PROTOBUF:
            raise SchemaMismatch(f"schema {schema_id} is {written.type}, and Protobuf is read here")
        file = file_of(written.text)
        values = ProtobufValues(self._type)
        wanted = _local_name(_descriptor(self._type))

        def read(data: bytes) -> Message:
            path, start = read_message_path(data)
            name = _name_at(file, path)
            if name != wanted:
                # The bytes of any message can be taken for those of any other.
                raise SchemaMismatch(f"the value is a message {name}, and {wanted} is read here", path=f"/{name}")
            message = self._type()
            try:
                values.decode(message, data[start:])
            except DecodeError as error:
                raise SchemaMismatch(f"the bytes are not a message {name}: {error}", path=f"/{name}") from error
            return message

        return read

    def _name_of_own(self, subjects: list[str]) -> str:
        return f"the message class {self._type.DESCRIPTOR.full_name} of {self._type.DESCRIPTOR.file.name}"


def _descriptor(message_type: type[Message]) -> Descriptor:
    # There are several implementations, which all have the same attributes.
    return cast(Descriptor, message_type.DESCRIPTOR)


def _serialized(file: FileDescriptor) -> str:
    return base64.b64encode(file.serialized_pb).decode()


def file_of(text: str) -> FileDescriptorProto:
    """Of a schema that the registry gave as `serialized`."""
    try:
        return FileDescriptorProto.FromString(base64.b64decode(text, validate=True))
    except (ValueError, DecodeError) as error:
        raise InvalidSchema("the registry does not give Protobuf schemas as descriptors") from error


def _indexes(message: Descriptor) -> list[int]:
    path: list[int] = []
    while message.containing_type is not None:
        parent = message.containing_type
        path.insert(0, [each.name for each in parent.nested_types].index(message.name))
        message = parent
    return [list(message.file.message_types_by_name).index(message.name), *path]


def _local_name(message: Descriptor) -> str:
    """Without the package, which two sides may have in different places."""
    package = message.file.package
    return message.full_name.removeprefix(f"{package}.") if package else message.full_name


def _name_at(file: FileDescriptorProto, path: tuple[int, ...]) -> str:
    names: list[str] = []
    messages = file.message_type
    for index in path:
        if index >= len(messages):
            raise SchemaMismatch(f"the schema has no message at the path {list(path)}")
        names.append(messages[index].name)
        messages = messages[index].nested_type
    return ".".join(names)
