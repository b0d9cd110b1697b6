"""What a message says, as checked values: of its fields only those that were given."""

from typing import Any, TypeVar

import msgspec
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from goqueue.errors import InvalidRequest
from goqueue.gateways.grpc.forms.enums import text_of

__all__ = ["at_most", "convert", "given", "limited", "optional", "read", "without"]

T = TypeVar("T")


def read(message: Message, kind: type[T], **more: Any) -> T:
    """A struct with the fields of the message; those that were not given have the defaults of the struct."""
    return convert(given(message) | more, kind)


def convert(values: dict[str, Any], kind: type[T]) -> T:
    try:
        return msgspec.convert(values, kind, builtin_types=(bytes,))
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"the request cannot be read: {error}") from None


def given(message: Message) -> dict[str, Any]:
    """Values by field name; choices by their names in small letters."""
    return {field.name: _value(field, value) for field, value in message.ListFields()}


def _value(field: FieldDescriptor, value: Any) -> Any:
    kind = field.message_type
    if kind is not None and kind.GetOptions().map_entry:
        return dict(value)
    if field.is_repeated:
        return [_single(field, one) for one in value]
    return _single(field, value)


def _single(field: FieldDescriptor, value: Any) -> Any:
    if field.message_type is not None:
        return given(value)
    return value if field.enum_type is None else text_of(field.enum_type, value)


def optional(message: Message, name: str) -> Any:
    """The value of a field that may be left out, or None."""
    return getattr(message, name) if message.HasField(name) else None


def at_most(what: str, text: str, most: int) -> str:
    """Text that is not longer than so many characters."""
    if len(text) > most:
        raise InvalidRequest(f"a {what} of {len(text)} characters", hint=f"use at most {most}")
    return text


def limited(limit: int | None, otherwise: int, most: int) -> int:
    """How many are wanted, or what is usual."""
    if limit is None:
        return otherwise
    if not 1 <= limit <= most:
        raise InvalidRequest(f"a limit of {limit}", hint=f"give 1 to {most}")
    return limit


def without(settings: dict[str, Any], clearable: frozenset[str]) -> dict[str, Any]:
    """Settings with None for those that are named as cleared."""
    cleared = settings.pop("cleared", [])
    for name in cleared:
        if name not in clearable:
            raise InvalidRequest(
                f"{name[:60]!r} cannot be cleared", hint=f"what can be is {', '.join(sorted(clearable))}"
            )
        if name in settings:
            raise InvalidRequest(f"{name} is given and cleared", hint="do one of them")
    return settings | dict.fromkeys(cleared)
