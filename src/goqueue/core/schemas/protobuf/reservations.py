"""Reservations: numbers and names that an older schema reserved, and a newer one uses.

This is checked apart from compatibility, because it depends on which schema is older: removing a field and reserving
its number is good practice, and is the same pair of schemas in the other direction.
"""

from collections.abc import Iterator, Sequence

from google.protobuf.descriptor_pb2 import DescriptorProto, EnumDescriptorProto

from goqueue.core.schemas.formats import Incompatibility
from goqueue.core.schemas.protobuf.schema import ProtobufSchema

__all__ = ["reused_reservations"]

Reasons = Iterator[Incompatibility]


def reused_reservations(newer: ProtobufSchema, older: ProtobufSchema) -> list[Incompatibility]:
    found = list(_in_enums(newer.file.enum_type, older.file.enum_type, "#"))
    found.extend(_in_messages(newer.file.message_type, older.file.message_type, "#"))
    return found


def _in_messages(newer: Sequence[DescriptorProto], older: Sequence[DescriptorProto], path: str) -> Reasons:
    before = {message.name: message for message in older}
    for message in newer:
        if message.name not in before:
            continue
        past, place = before[message.name], f"{path}/{message.name}"
        spans = [(span.start, span.end - 1) for span in past.reserved_range]
        for field in message.field:
            yield from _reused(field.number, field.name, spans, past.reserved_name, place)
        yield from _in_enums(message.enum_type, past.enum_type, place)
        yield from _in_messages(message.nested_type, past.nested_type, place)


def _in_enums(newer: Sequence[EnumDescriptorProto], older: Sequence[EnumDescriptorProto], path: str) -> Reasons:
    before = {enum.name: enum for enum in older}
    for enum in newer:
        if enum.name in before:
            past = before[enum.name]
            spans = [(span.start, span.end) for span in past.reserved_range]
            for value in enum.value:
                yield from _reused(value.number, value.name, spans, past.reserved_name, f"{path}/{enum.name}")


def _reused(number: int, name: str, spans: Sequence[tuple[int, int]], names: Sequence[str], path: str) -> Reasons:
    if any(start <= number <= end for start, end in spans):
        why = f"{name} has the number {number}, which was reserved: data may still hold it with another meaning"
        yield Incompatibility("RESERVED_NUMBER_REUSED", f"{path}/{number}", why)
    if name in names:
        yield Incompatibility("RESERVED_NAME_REUSED", f"{path}/{number}", f"the name {name} was reserved")
