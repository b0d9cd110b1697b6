"""Sets of offsets as runs: what a poll takes and what a worker acknowledges mostly lies side by side."""

from collections.abc import Iterable

import msgspec
from pyroaring import BitMap64

__all__ = ["Run", "Runs", "bitmap_of", "runs_of"]


class Run(msgspec.Struct, frozen=True, array_like=True):
    """`count` offsets from `first` on."""

    first: int
    count: int


Runs = tuple[Run, ...]


def runs_of(offsets: Iterable[int]) -> Runs:
    """Of ascending offsets, each of them once."""
    if isinstance(offsets, list) and offsets and offsets[-1] - offsets[0] + 1 == len(offsets):
        return (Run(offsets[0], len(offsets)),)
    runs: list[Run] = []
    first = end = -1
    for offset in offsets:
        if offset == end:
            end += 1
            continue
        if end >= 0:
            runs.append(Run(first, end - first))
        first, end = offset, offset + 1
    if end >= 0:
        runs.append(Run(first, end - first))
    return tuple(runs)


def bitmap_of(runs: Runs) -> BitMap64:
    bitmap = BitMap64()
    for first, count in ((run.first, run.count) for run in runs):
        bitmap.add_range(first, first + count)
    return bitmap
