"""Which partition a key belongs to: murmur3 of the key, and the hash range that holds it."""

from bisect import bisect_right
from collections.abc import Sequence

import mmh3

from goqueue.model.topic import HashRange

__all__ = ["KeyRanges", "key_hash"]


def key_hash(key: bytes) -> int:
    """32 bits, unsigned."""
    return mmh3.hash(key, signed=False)


class KeyRanges:
    """The hash ranges of a topic, ready to be searched."""

    def __init__(self, ranges: Sequence[HashRange]) -> None:
        self._starts = [one.start for one in ranges]

    def __len__(self) -> int:
        return len(self._starts)

    def partition_of(self, key: bytes) -> int:
        return bisect_right(self._starts, key_hash(key)) - 1
