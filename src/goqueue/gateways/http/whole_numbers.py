"""Whole numbers that a body gives as 1.0 or 1e3: JSON Schema takes them for integers, the decoder for floats.

They become integers where the type of a field is one, and nowhere else: values of records stay as they came. Only a
body that could not be read is looked at again, so the usual one costs nothing.
"""

import functools
import re
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Raw, inspect

__all__ = ["WholeNumbers"]

MOST_DIGITS = 30
"""More than any integer here has; a number with a large exponent would be a long text."""

_NUMBER = re.compile(rb"(-?)([0-9]{1,30})(?:\.([0-9]{1,30}))?(?:[eE]([+-]?[0-9]{1,2}))?")
_members = msgspec.json.Decoder(dict[str, Raw]).decode
_items = msgspec.json.Decoder(list[Raw]).decode
_encode = msgspec.json.Encoder().encode


class WholeNumbers:
    """Of bodies of one type."""

    def __init__(self, body: Any) -> None:
        self._body = body

    @functools.cached_property
    def _kind(self) -> inspect.Type:
        return inspect.type_info(self._body)

    def as_integers(self, body: bytes) -> bytes:
        """The same body, which has to be JSON. What else is wrong with it stays wrong."""
        return _rewritten(self._kind, body.strip())


def _rewritten(kind: inspect.Type, text: bytes) -> bytes:
    first = text[:1]
    for one in _alternatives(kind):
        match one:
            case inspect.StructType() if first == b"{":
                fields = {field.encode_name: field.type for field in one.fields}
                found = _members(text)
                return _encode(
                    {name: Raw(_rewritten(fields.get(name, _ANY), bytes(raw))) for name, raw in found.items()}
                )
            case inspect.DictType() if first == b"{":
                found = _members(text)
                return _encode({name: Raw(_rewritten(one.value_type, bytes(raw))) for name, raw in found.items()})
            case inspect.ListType() | inspect.VarTupleType() if first == b"[":
                return _encode([Raw(_rewritten(one.item_type, bytes(raw))) for raw in _items(text)])
            case inspect.TupleType() if first == b"[":
                items = _items(text)
                if len(items) == len(one.item_types):
                    pairs = zip(one.item_types, items, strict=True)
                    return _encode([Raw(_rewritten(item, bytes(raw))) for item, raw in pairs])
            case inspect.IntType():
                return _integer(text) or text
            case _:
                continue
    return text


_ANY = inspect.AnyType()


def _alternatives(kind: inspect.Type) -> Iterator[inspect.Type]:
    match kind:
        case inspect.Metadata():
            yield from _alternatives(kind.type)
        case inspect.UnionType():
            for one in kind.types:
                yield from _alternatives(one)
        case _:
            yield kind


def _integer(text: bytes) -> bytes | None:
    """A number as it is written without fraction and exponent; None when that would be another number."""
    parts = _NUMBER.fullmatch(text)
    if parts is None:
        return None
    sign, whole, fraction, exponent = parts[1], parts[2], parts[3] or b"", int(parts[4] or 0)
    digits, point = whole + fraction, len(whole) + exponent
    if point < 0 or point > MOST_DIGITS or digits[point:].strip(b"0"):
        return None
    number = int(digits[:point].ljust(point, b"0") or b"0")
    return b"%s%d" % (sign if number else b"", number)
