"""Sets of offsets as they are kept: 64-bit Roaring bitmaps, small whether the offsets lie side by side or far apart."""

from array import array
from collections.abc import Collection, Sequence

from pyroaring import BitMap64

__all__ = ["Offsets", "Packed", "pack", "unpack"]

Packed = bytes
"""In the portable 64-bit Roaring format; nothing at all for the empty set."""


Offsets = Collection[int] | BitMap64


def pack(offsets: Offsets) -> Packed:
    if not offsets:
        return b""
    bitmap = offsets if isinstance(offsets, BitMap64) else _bitmap(offsets)
    bitmap.run_optimize()
    return bitmap.serialize()


def _bitmap(offsets: Collection[int]) -> BitMap64:
    if isinstance(offsets, array):
        # Of lanes, which lie apart.
        return BitMap64(offsets)
    is_range = isinstance(offsets, range) and offsets.step == 1
    ascending: Sequence[int] = offsets if isinstance(offsets, range) and is_range else sorted(offsets)
    count = ascending[-1] - ascending[0] + 1
    # Some may be there twice.
    if count != len(ascending) or not (is_range or len(set(ascending)) == count):
        return BitMap64(ascending)
    # Most often they lie side by side, and then a range is much quicker.
    bitmap = BitMap64()
    bitmap.add_range(ascending[0], ascending[-1] + 1)
    return bitmap


def unpack(packed: Packed) -> BitMap64:
    return BitMap64.deserialize(packed) if packed else BitMap64()
