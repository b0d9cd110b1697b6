"""Canonical .proto text: comments, notation of types and order of fields are normalized.

The order of messages is kept, because records name their message by its index; so is that of enum values, of which the
first is the default.
"""

from collections.abc import Iterable, Iterator, Sequence

from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    MethodDescriptorProto,
    ServiceDescriptorProto,
)
from google.protobuf.message import Message

from goqueue.core.schemas.protobuf.fields import is_map_entry, json_name_of, scalar_name
from goqueue.core.schemas.protobuf.options import OptionPrinter, quoted

__all__ = ["source_of"]

_LAST_FIELD_NUMBER = 536_870_911
_LAST_ENUM_NUMBER = 2_147_483_647

Lines = Iterator[str]


def source_of(file: FileDescriptorProto, imports: Sequence[FileDescriptorProto]) -> str:
    printer = _Printer(file.syntax == "proto3", OptionPrinter((*imports, file)))
    return "\n".join(printer.file(file)) + "\n"


class _Printer:
    def __init__(self, is_proto3: bool, options: OptionPrinter) -> None:
        self._is_proto3 = is_proto3
        self._options = options

    def file(self, file: FileDescriptorProto) -> Lines:
        yield f'syntax = "{"proto3" if self._is_proto3 else "proto2"}";'
        if file.package:
            yield f"package {file.package};"
        yield from _imports(file)
        yield from self._option_lines(file.options)
        for message in file.message_type:
            yield from self._message(message)
        for enum in file.enum_type:
            yield from self._enum(enum)
        yield from self._extensions(file.extension, file.message_type)
        for service in file.service:
            yield from self._service(service)

    def _message(self, message: DescriptorProto) -> Lines:
        yield f"message {message.name} {{"
        yield from _indented(self._body(message))
        yield "}"

    def _body(self, message: DescriptorProto) -> Lines:
        groups = _names_of_groups((*message.field, *message.extension))
        yield from self._option_lines(message.options)
        yield from self._fields(message)
        for nested in message.nested_type:
            if nested.name not in groups and not is_map_entry(nested):
                yield from self._message(nested)
        for enum in message.enum_type:
            yield from self._enum(enum)
        yield from self._extensions(message.extension, message.nested_type)
        for span in message.extension_range:
            yield f"extensions {_span(span.start, span.end - 1, _LAST_FIELD_NUMBER)}{self._bracketed(span.options)};"
        ranges = sorted((span.start, span.end - 1) for span in message.reserved_range)
        yield from _reserved(ranges, message.reserved_name, _LAST_FIELD_NUMBER)

    def _fields(self, message: DescriptorProto) -> Lines:
        """By number; a oneof is placed by its lowest field."""
        printed: set[int] = set()
        fields = sorted(message.field, key=lambda field: field.number)
        for field in fields:
            if not field.HasField("oneof_index") or field.proto3_optional:
                yield from self._field(field, message.nested_type)
            elif field.oneof_index not in printed:
                printed.add(field.oneof_index)
                oneof = message.oneof_decl[field.oneof_index]
                yield f"oneof {oneof.name} {{"
                yield from _indented(self._option_lines(oneof.options))
                for member in fields:
                    if member.HasField("oneof_index") and member.oneof_index == field.oneof_index:
                        yield from _indented(self._field(member, message.nested_type))
                yield "}"

    def _field(self, field: FieldDescriptorProto, siblings: Sequence[DescriptorProto]) -> Lines:
        label = self._label(field, siblings)
        end = f"= {field.number}{self._field_options(field)}"
        nested = _sibling(field, siblings)
        if field.type == FieldDescriptorProto.TYPE_GROUP and nested is not None:
            yield f"{label}group {nested.name} {end} {{"
            yield from _indented(self._body(nested))
            yield "}"
        else:
            yield f"{label}{_type(field, siblings)} {field.name} {end};"

    def _label(self, field: FieldDescriptorProto, siblings: Sequence[DescriptorProto]) -> str:
        nested = _sibling(field, siblings)
        if nested is not None and is_map_entry(nested):
            return ""
        if field.label == FieldDescriptorProto.LABEL_REPEATED:
            return "repeated "
        if field.label == FieldDescriptorProto.LABEL_REQUIRED:
            return "required "
        if field.proto3_optional:
            return "optional "
        return "" if self._is_proto3 or field.HasField("oneof_index") else "optional "

    def _field_options(self, field: FieldDescriptorProto) -> str:
        parts = []
        if field.HasField("default_value"):
            parts.append(f"default = {_default(field)}")
        if field.HasField("json_name") and not field.extendee and field.json_name != json_name_of(field.name):
            parts.append(f"json_name = {quoted(field.json_name)}")
        parts.extend(self._options.assignments(field.options))
        return f" [{', '.join(parts)}]" if parts else ""

    def _extensions(self, fields: Sequence[FieldDescriptorProto], siblings: Sequence[DescriptorProto]) -> Lines:
        for field in sorted(fields, key=lambda field: (field.extendee, field.number)):
            yield f"extend {field.extendee} {{"
            yield from _indented(self._field(field, siblings))
            yield "}"

    def _enum(self, enum: EnumDescriptorProto) -> Lines:
        yield f"enum {enum.name} {{"
        yield from _indented(self._option_lines(enum.options))
        for value in enum.value:
            yield f"  {value.name} = {value.number}{self._bracketed(value.options)};"
        ranges = sorted((span.start, span.end) for span in enum.reserved_range)
        yield from _indented(_reserved(ranges, enum.reserved_name, _LAST_ENUM_NUMBER))
        yield "}"

    def _service(self, service: ServiceDescriptorProto) -> Lines:
        yield f"service {service.name} {{"
        yield from _indented(self._option_lines(service.options))
        for method in service.method:
            yield from _indented(self._method(method))
        yield "}"

    def _method(self, method: MethodDescriptorProto) -> Lines:
        given = f"{'stream ' if method.client_streaming else ''}{method.input_type}"
        returned = f"{'stream ' if method.server_streaming else ''}{method.output_type}"
        yield f"rpc {method.name}({given}) returns ({returned}) {{"
        yield from _indented(self._option_lines(method.options))
        yield "}"

    def _option_lines(self, options: Message) -> Lines:
        for assignment in self._options.assignments(options):
            yield f"option {assignment};"

    def _bracketed(self, options: Message) -> str:
        assignments = self._options.assignments(options)
        return f" [{', '.join(assignments)}]" if assignments else ""


def _imports(file: FileDescriptorProto) -> Lines:
    for index in sorted(range(len(file.dependency)), key=lambda index: file.dependency[index]):
        kind = "public " if index in file.public_dependency else "weak " if index in file.weak_dependency else ""
        yield f"import {kind}{quoted(file.dependency[index])};"


def _type(field: FieldDescriptorProto, siblings: Sequence[DescriptorProto]) -> str:
    entry = _sibling(field, siblings)
    if entry is not None and is_map_entry(entry):
        key, value = sorted(entry.field, key=lambda part: part.number)
        return f"map<{_type(key, ())}, {_type(value, ())}>"
    return field.type_name or scalar_name(field)


def _sibling(field: FieldDescriptorProto, siblings: Sequence[DescriptorProto]) -> DescriptorProto | None:
    """The type of a map or a group is nested in the same message, under the name that the type ends with."""
    name = field.type_name.rpartition(".")[2]
    is_group = field.type == FieldDescriptorProto.TYPE_GROUP
    return next((each for each in siblings if each.name == name and (is_group or is_map_entry(each))), None)


def _names_of_groups(fields: Iterable[FieldDescriptorProto]) -> set[str]:
    return {field.type_name.rpartition(".")[2] for field in fields if field.type == FieldDescriptorProto.TYPE_GROUP}


def _default(field: FieldDescriptorProto) -> str:
    if field.type == FieldDescriptorProto.TYPE_STRING:
        return quoted(field.default_value)
    if field.type == FieldDescriptorProto.TYPE_BYTES:
        return f'"{field.default_value}"'
    return field.default_value


def _reserved(ranges: Sequence[tuple[int, int]], names: Sequence[str], last: int) -> Lines:
    if ranges:
        yield f"reserved {', '.join(_span(start, end, last) for start, end in ranges)};"
    if names:
        yield f"reserved {', '.join(quoted(name) for name in sorted(names))};"


def _span(start: int, end: int, last: int) -> str:
    if start == end:
        return str(start)
    return f"{start} to {'max' if end == last else end}"


def _indented(lines: Iterable[str]) -> Lines:
    return (f"  {line}" for line in lines)
