"""Oneof compatibility: fields moving into or out of a oneof, of which a reader keeps only the last one written."""

from collections.abc import Iterator

from google.protobuf.descriptor_pb2 import DescriptorProto

from goqueue.core.schemas.formats import Incompatibility

__all__ = ["oneof_problems", "oneofs_by_number"]

Reasons = Iterator[Incompatibility]


def oneofs_by_number(message: DescriptorProto) -> dict[int, str]:
    """The oneof of each field that is in one; `optional` in proto3 is not one, though descriptors show it as one."""
    return {
        field.number: message.oneof_decl[field.oneof_index].name
        for field in message.field
        if field.HasField("oneof_index") and not field.proto3_optional
    }


def oneof_problems(reader: DescriptorProto, writer: DescriptorProto, path: str) -> Reasons:
    read, written = oneofs_by_number(reader), oneofs_by_number(writer)
    yield from _fields_moved_in(read, written, {field.number for field in writer.field}, path)
    yield from _fields_removed(reader, writer, path)


def _fields_moved_in(read: dict[int, str], written: dict[int, str], known: set[int], path: str) -> Reasons:
    """Fields that could be written together must not become alternatives; new fields were never written."""
    for oneof in dict.fromkeys(read.values()):
        members = [number for number, name in read.items() if name == oneof and number in known]
        single = [number for number in members if number not in written]
        origins = len(single) + len({written[number] for number in members if number in written})
        if origins <= 1:
            continue
        numbers = ", ".join(map(str, members))
        why = f"the fields {numbers} are alternatives in the oneof {oneof}, and could be written together before"
        kind = "MULTIPLE_FIELDS_MOVED_TO_ONEOF" if len(single) > 1 else "FIELD_MOVED_TO_EXISTING_ONEOF"
        yield Incompatibility(kind, f"{path}/{oneof}", why)


def _fields_removed(reader: DescriptorProto, writer: DescriptorProto, path: str) -> Reasons:
    """A oneof may be removed as a whole; after a partial removal, readers cannot tell if a removed field was set."""
    left = {field.number for field in reader.field}
    kept_names = {oneof.name for oneof in reader.oneof_decl}
    written = oneofs_by_number(writer)
    for number, oneof in written.items():
        survives = oneof in kept_names or any(other in left for other, name in written.items() if name == oneof)
        if number not in left and survives:
            why = f"the reader has no field {number}, an alternative of the oneof {oneof}"
            yield Incompatibility("ONEOF_FIELD_REMOVED", f"{path}/{oneof}/{number}", why)
