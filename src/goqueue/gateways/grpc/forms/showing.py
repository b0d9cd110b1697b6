"""Values on their way out, as messages: fields are filled by their names."""

from typing import Any, TypeVar

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from msgspec import UNSET

from goqueue.engine.browse import Found
from goqueue.gateways.grpc.forms.enums import number_of
from goqueue.model.record import Record
from goqueue.wire.grpc.v1 import records_pb2

__all__ = ["headers_out", "show", "stored"]

M = TypeVar("M", bound=Message)


def show(kind: type[M], source: Any, **more: Any) -> M:
    """A message with what the source has under the names of its fields; `more` has what it calls otherwise.

    What is None is left out. The source has to have all other fields, so that none is forgotten.
    """
    return kind(**_values(kind.DESCRIPTOR, source, more))


def _values(kind: Any, source: Any, more: dict[str, Any]) -> dict[str, Any]:
    """`kind` is the descriptor of a message."""
    found = {}
    for field in kind.fields:
        value = more[field.name] if field.name in more else getattr(source, field.name)
        if value is not None and value is not UNSET:
            found[field.name] = _value(field, value)
    return found


def _value(field: FieldDescriptor, value: Any) -> Any:
    if isinstance(value, dict):
        return value
    if field.is_repeated:
        return [_single(field, one) for one in value]
    return _single(field, value)


def _single(field: FieldDescriptor, value: Any) -> Any:
    if field.message_type is not None:
        return value if isinstance(value, Message) else _values(field.message_type, value, {})
    return value if field.enum_type is None else number_of(field.enum_type, value)


# Records.


def headers_out(headers: tuple[tuple[str, bytes], ...]) -> list[records_pb2.Header]:
    return [records_pb2.Header(name=name, value=value) for name, value in headers]


def stored(topic: str, found: Found) -> records_pb2.StoredRecord:
    record: Record = found.record
    return records_pb2.StoredRecord(
        topic=topic,
        partition=found.partition,
        offset=record.offset,
        timestamp_ns=record.timestamp_ns,
        key=record.key,
        value=record.value,
        headers=headers_out(record.headers),
        priority=record.priority,
        value_error=found.fault or "",
    )
