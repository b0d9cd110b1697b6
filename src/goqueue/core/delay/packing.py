"""Packed integers: many offsets or due times as bytes, unsigned, 8 bytes each, little-endian."""

import sys
from array import array
from collections.abc import Iterable, Sequence

__all__ = ["pack", "unpack"]

_SWAPPED = sys.byteorder == "big"


def pack(numbers: Iterable[int]) -> bytes:
    packed = array("Q", numbers)
    if _SWAPPED:
        packed.byteswap()
    return packed.tobytes()


def unpack(packed: bytes) -> Sequence[int]:
    """The integers as an array, which bitmaps read without a Python object for each."""
    numbers = array("Q", packed)
    if _SWAPPED:
        numbers.byteswap()
    return numbers
