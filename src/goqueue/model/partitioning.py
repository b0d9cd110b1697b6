"""Partitioning by key: murmur3 of the key, and the hash range that contains it."""

from bisect import bisect_right
from collections.abc import Sequence

import mmh3

from goqueue.model.topic import HashRange

__all__ = ["KeyRanges", "key_hash"]


def key_hash(key: bytes) -> int:
    """The unsigned 32-bit hash."""
    return mmh3.hash(key, signed=False)


class KeyRanges:
    """The hash ranges of a topic, prepared for binary search."""

    def __init__(self, ranges: Sequence[HashRange]) -> None:
        self._starts = [one.start for one in ranges]

    def __len__(self) -> int:
        return len(self._starts)

    def partition_of(self, key: bytes) -> int:
        return bisect_right(self._starts, key_hash(key)) - 1
