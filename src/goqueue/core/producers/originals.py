"""Originals of the repeated records of a batch: for each, the position of the first record with its id.

Packed in 24 bytes each, big-endian: index in the batch u32, partition u32, offset i64, timestamp i64 Unix nanoseconds.
"""

import struct
from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["Original", "count_originals", "pack_originals", "unpack_originals"]

_PACKED = struct.Struct(">IIqq")


class Original(NamedTuple):
    """Position and time of the original of the record with this index in its batch."""

    step: int
    partition: int
    offset: int
    timestamp_ns: int


def pack_originals(originals: Iterable[Original]) -> bytes:
    return b"".join(_PACKED.pack(*original) for original in originals)


def unpack_originals(packed: bytes) -> tuple[Original, ...]:
    return tuple(Original(*fields) for fields in _PACKED.iter_unpack(packed))


def count_originals(packed: bytes) -> int:
    return len(packed) // _PACKED.size
