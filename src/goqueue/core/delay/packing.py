"""Whole numbers as bytes, to write down many offsets or instants at once: unsigned, 8 bytes each, little-endian."""

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
    """As an array, which bitmaps take in without a look at each number."""
    numbers = array("Q", packed)
    if _SWAPPED:
        numbers.byteswap()
    return numbers
