"""Piecewise msgpack encoding of large values: one call for all would hold the interpreter and block the event loop."""

from collections.abc import Collection, Iterator
from typing import Any

import msgspec

__all__ = ["encode_pieces", "joined"]

LARGE = 1000
"""From this length on, items are encoded one by one."""

_encode = msgspec.msgpack.Encoder().encode


def encode_pieces(value: Any) -> bytes:
    """Encode as msgspec does. Large tuples are split, also as fields of an array-like struct."""
    return b"".join(_pieces(value))


def joined(items: Collection[bytes]) -> bytes:
    """An array of values that are already encoded."""
    return _array_head(len(items)) + b"".join(items)


def _pieces(value: Any) -> Iterator[bytes]:
    if type(value) is tuple and len(value) >= LARGE:
        yield _array_head(len(value))
        yield from map(_encode, value)
    elif isinstance(value, msgspec.Struct) and value.__struct_config__.array_like:
        assert value.__struct_config__.tag is None
        yield _array_head(len(value.__struct_fields__))
        for name in value.__struct_fields__:
            yield from _pieces(getattr(value, name))
    else:
        yield _encode(value)


def _array_head(length: int) -> bytes:
    if length < 16:
        return bytes((0x90 | length,))
    if length < 1 << 16:
        return b"\xdc" + length.to_bytes(2, "big")
    return b"\xdd" + length.to_bytes(4, "big")
