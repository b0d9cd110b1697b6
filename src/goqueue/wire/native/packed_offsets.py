"""Offsets that lie apart, packed: eight bytes for each, little-endian.

As runs a hundred records of five priorities would be a hundred pairs of numbers, each an object on both sides.
"""

import sys
from array import array
from collections.abc import Iterable

__all__ = ["OFFSET_BYTES", "packed_offsets", "unpacked_offsets"]

OFFSET_BYTES = 8
_SWAPS = sys.byteorder == "big"


def packed_offsets(offsets: Iterable[int]) -> bytes:
    return _in_order(array("Q", offsets)).tobytes()


def unpacked_offsets(packed: bytes) -> "array[int]":
    """Of whole ones: a number of bytes that eight divides."""
    return _in_order(array("Q", packed))


def _in_order(offsets: "array[int]") -> "array[int]":
    if _SWAPS:
        offsets.byteswap()
    return offsets
