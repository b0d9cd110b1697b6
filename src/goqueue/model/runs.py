"""Runs of offsets, as (first, count): offsets that are named together are mostly contiguous."""

from collections.abc import Iterable, Iterator
from itertools import repeat
from operator import sub

__all__ = ["Runs", "offsets_of", "runs_of"]

Runs = tuple[tuple[int, int], ...]


def runs_of(offsets: Iterable[int]) -> Runs:
    """Runs of ascending, distinct offsets."""
    offsets = offsets if isinstance(offsets, list) else list(offsets)
    if offsets and offsets[-1] - offsets[0] + 1 == len(offsets):
        return ((offsets[0], len(offsets)),)
    if 1 not in map(sub, offsets[1:], offsets):
        # No two offsets are neighbours, as with records polled from a rare priority.
        return tuple(zip(offsets, repeat(1)))
    runs: list[tuple[int, int]] = []
    first, count = 0, 0
    for offset in offsets:
        if offset == first + count:
            count += 1
            continue
        if count:
            runs.append((first, count))
        first, count = offset, 1
    return (*runs, (first, count)) if count else ()


def offsets_of(runs: Runs) -> Iterator[int]:
    for first, count in runs:
        yield from range(first, first + count)
