"""Protobuf compatibility: why a schema cannot read data written with another; fields are matched by number.

Messages are matched by name. The rules are those of schema registries, under the same names. Three of them are stricter
here, because data would be lost: an absent label counts as optional, a group is not a message, and a field that is
required for the reader has to be required for the writer. Everything else is allowed: adding and removing fields, enums
and enum values, renaming, moving a message, changing a default.
"""

from collections.abc import Iterator, Sequence

from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto

from goqueue.core.schemas.formats import Incompatibility
from goqueue.core.schemas.protobuf.fields import Family, Kind, family_of, is_map_entry, kind_of, label_of, scalar_name
from goqueue.core.schemas.protobuf.oneofs import oneof_problems, oneofs_by_number
from goqueue.core.schemas.protobuf.schema import ProtobufSchema, TypeIndex

__all__ = ["incompatibilities"]

MOST_REASONS = 100

Reasons = Iterator[Incompatibility]


def incompatibilities(reader: ProtobufSchema, writer: ProtobufSchema) -> list[Incompatibility]:
    found: list[Incompatibility] = []
    for reason in _Comparison(reader, writer).reasons():
        if len(found) == MOST_REASONS:
            break
        found.append(reason)
    return found


class _Comparison:
    def __init__(self, reader: ProtobufSchema, writer: ProtobufSchema) -> None:
        self._reader = reader
        self._writer = writer
        self._reader_types = TypeIndex(reader)
        self._writer_types = TypeIndex(writer)
        # A list instead of recursion: imported types may refer to each other in long chains, and in cycles.
        self._imported: set[tuple[str, str]] = set()
        self._waiting: list[tuple[str, str]] = []

    def reasons(self) -> Reasons:
        if self._reader.file.package != self._writer.file.package:
            yield Incompatibility(
                "PACKAGE_CHANGED",
                "#/",
                f"the package was {self._writer.file.package!r} and is {self._reader.file.package!r}",
            )
        yield from self._messages(self._reader.file.message_type, self._writer.file.message_type, "#")
        yield from self._imported_messages()

    def _messages(self, reader: Sequence[DescriptorProto], writer: Sequence[DescriptorProto], path: str) -> Reasons:
        by_name = {message.name: message for message in reader}
        for written in writer:
            if is_map_entry(written):
                continue
            place = f"{path}/{written.name}"
            read = by_name.get(written.name)
            if read is None or is_map_entry(read):
                yield Incompatibility("MESSAGE_REMOVED", place, f"the reader has no message {written.name}")
            else:
                yield from self._message(read, written, place)

    def _message(self, reader: DescriptorProto, writer: DescriptorProto, path: str) -> Reasons:
        yield from oneof_problems(reader, writer, path)
        yield from self._fields(reader, writer, path)
        yield from self._messages(reader.nested_type, writer.nested_type, path)

    def _fields(self, reader: DescriptorProto, writer: DescriptorProto, path: str) -> Reasons:
        read = {field.number: field for field in reader.field}
        written = {field.number: field for field in writer.field}
        oneofs = oneofs_by_number(reader)
        for number in sorted(read.keys() | written.keys()):
            place = f"{path}/{oneofs[number]}/{number}" if number in oneofs else f"{path}/{number}"
            if number not in read:
                if label_of(written[number]) == "required":
                    why = f"the reader has no field {written[number].name}, which the writer requires"
                    yield Incompatibility("REQUIRED_FIELD_REMOVED", place, why)
            elif label_of(read[number]) == "required" and (
                number not in written or label_of(written[number]) != "required"
            ):
                why = f"the reader requires the field {read[number].name}, which the writer may leave out"
                yield Incompatibility("REQUIRED_FIELD_ADDED", place, why)
            elif number in written:
                yield from self._field(read[number], written[number], place)

    def _field(self, reader: FieldDescriptorProto, writer: FieldDescriptorProto, path: str) -> Reasons:
        reader_kind = kind_of(reader, self._entry(reader, self._reader_types))
        writer_kind = kind_of(writer, self._entry(writer, self._writer_types))
        if reader_kind is not writer_kind:
            why = f"the field {writer.name} was {writer_kind.value} and is {reader_kind.value}"
            yield Incompatibility("FIELD_KIND_CHANGED", path, why)
        elif reader_kind is Kind.SCALAR:
            yield from _scalars(reader, writer, path)
        elif reader_kind is Kind.MAP:
            yield from self._maps(reader, writer, path)
        else:
            yield from self._named_types(reader, writer, path)

    def _entry(self, field: FieldDescriptorProto, types: TypeIndex) -> DescriptorProto | None:
        return types.message(field.type_name) if field.type == FieldDescriptorProto.TYPE_MESSAGE else None

    def _maps(self, reader: FieldDescriptorProto, writer: FieldDescriptorProto, path: str) -> Reasons:
        read = self._reader_types.message(reader.type_name)
        written = self._writer_types.message(writer.type_name)
        for part, other in zip(_key_and_value(read), _key_and_value(written), strict=True):
            yield from self._field(part, other, f"{path}/{part.name}")

    def _named_types(self, reader: FieldDescriptorProto, writer: FieldDescriptorProto, path: str) -> Reasons:
        read = self._reader_types[reader.type_name]
        written = self._writer_types[writer.type_name]
        now, before = read.local_name(reader.type_name), written.local_name(writer.type_name)
        if now != before:
            why = f"the field {writer.name} was of the type {before} and is of the type {now}"
            yield Incompatibility("FIELD_NAMED_TYPE_CHANGED", path, why)
            return
        if read.file != self._reader.file.name or written.file != self._writer.file.name:
            self._found_imported(reader.type_name, writer.type_name)

    def _found_imported(self, reader: str, writer: str) -> None:
        """Messages of the schema itself are compared separately; those of imports once a field refers to them."""
        if (reader, writer) not in self._imported:
            self._imported.add((reader, writer))
            self._waiting.append((reader, writer))

    def _imported_messages(self) -> Reasons:
        while self._waiting:
            reader, writer = self._waiting.pop()
            place = f"#/{self._reader_types[reader].local_name(reader).replace('.', '/')}"
            yield from self._message(self._reader_types.message(reader), self._writer_types.message(writer), place)


def _scalars(reader: FieldDescriptorProto, writer: FieldDescriptorProto, path: str) -> Reasons:
    now, before = family_of(reader), family_of(writer)
    if now is not before:
        why = (
            f"the field {writer.name} was {_shown(writer)} and is {_shown(reader)}; on the wire, {_shown(writer)} is "
            f"like {before.value} only"
        )
        yield Incompatibility("FIELD_SCALAR_KIND_CHANGED", path, why)
    elif now is not Family.TEXT and label_of(reader) != label_of(writer):
        why = (
            f"the field {writer.name} was {label_of(writer)} and is {label_of(reader)}; numbers write these differently"
        )
        yield Incompatibility("FIELD_NUMERIC_LABEL_CHANGED", path, why)


def _shown(field: FieldDescriptorProto) -> str:
    return f"enum {field.type_name[1:]}" if field.type == FieldDescriptorProto.TYPE_ENUM else scalar_name(field)


def _key_and_value(entry: DescriptorProto) -> Sequence[FieldDescriptorProto]:
    return sorted(entry.field, key=lambda field: field.number)
