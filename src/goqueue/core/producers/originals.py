"""Records of a batch that were not written again, each with the place of its original, packed to be kept for long.

24 bytes each, big-endian: number in the batch u32, partition u32, offset i64, timestamp i64 Unix nanoseconds.
"""

import struct
from collections.abc import Iterable
from typing import NamedTuple

__all__ = ["Original", "count_originals", "pack_originals", "unpack_originals"]

_PACKED = struct.Struct(">IIqq")


class Original(NamedTuple):
    """Where the record with this number in its batch is since when."""

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
