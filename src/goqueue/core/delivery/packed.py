"""Packed offset sets: 64-bit Roaring bitmaps, small whether the offsets are contiguous or sparse."""

from array import array
from collections.abc import Collection, Sequence
from typing import NamedTuple

from pyroaring import BitMap64

__all__ = ["Offsets", "Packed", "Seen", "end_of_run", "pack", "seen_in", "unpack"]

Packed = bytes
"""In the portable 64-bit Roaring format; no bytes for the empty set."""


Offsets = Collection[int] | BitMap64


def pack(offsets: Offsets) -> Packed:
    if not offsets:
        return b""
    bitmap = offsets if isinstance(offsets, BitMap64) else _bitmap(offsets)
    bitmap.run_optimize()
    return bitmap.serialize()


def _bitmap(offsets: Collection[int]) -> BitMap64:
    if isinstance(offsets, array):
        # Offsets from several lanes, which are interleaved.
        return BitMap64(offsets)
    is_range = isinstance(offsets, range) and offsets.step == 1
    ascending: Sequence[int] = offsets if isinstance(offsets, range) and is_range else sorted(offsets)
    count = ascending[-1] - ascending[0] + 1
    # Some may occur twice.
    if count != len(ascending) or not (is_range or len(set(ascending)) == count):
        return BitMap64(ascending)
    # Usually they are contiguous, and then a range is much faster.
    bitmap = BitMap64()
    bitmap.add_range(ascending[0], ascending[-1] + 1)
    return bitmap


def unpack(packed: Packed) -> BitMap64:
    return BitMap64.deserialize(packed) if packed else BitMap64()


def end_of_run(offsets: BitMap64, first: int) -> int:
    """The end of the run of offsets that begins with `first`, which is in the set."""
    known, step = first + 1, 1
    while offsets.contains_range(known, known + step):
        known, step = known + step, 2 * step
    while step:
        if offsets.contains_range(known, known + step):
            known += step
        step //= 2
    return known


class Seen(NamedTuple):
    """Number of offsets of a range that are not hidden, and the first of them."""

    number: int
    first: int | None


def seen_in(first: int, end: int, hidden: Sequence[BitMap64]) -> Seen:
    """Visible offsets from `first` up to, but not including, `end`; the hidden sets must be disjoint."""
    if first >= end:
        return Seen(0, None)
    count = end - first - sum(some.range_cardinality(first, end) for some in hidden)
    if count <= 0:
        return Seen(0, None)
    while (run := next((some for some in hidden if first in some), None)) is not None:
        first = end_of_run(run, first)
    return Seen(count, first)
