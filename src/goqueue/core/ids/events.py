"""Business id events, and the position of the record with an id."""

from typing import NamedTuple

import msgspec

__all__ = ["DIGEST_BYTES", "NO_ID", "IdEvent", "IdsForgotten", "IdsWritten", "KnownIds", "Place"]

DIGEST_BYTES = 16
NO_ID = bytes(DIGEST_BYTES)
"""Placeholder for a record without an id among others that have one."""


class Place(NamedTuple):
    """Position and time of the first record with an id."""

    partition: int
    offset: int
    timestamp_ns: int


class IdsWritten(msgspec.Struct, frozen=True, array_like=True, tag="written"):
    """Records with ids were written: their digests, concatenated in offset order.

    Events are numbered in journal order. Each topic's ids are in a space of their own; a topic created again under the
    name of a deleted one gets another space.
    """

    number: int
    space: int
    topic: str
    partition: int
    base_offset: int
    timestamp_ns: int
    digests: bytes

    def place(self, digest: bytes) -> Place:
        at = self.digests.find(digest)
        while at % DIGEST_BYTES:
            at = self.digests.find(digest, at + 1)
        return Place(self.partition, self.base_offset + at // DIGEST_BYTES, self.timestamp_ns)


class IdsForgotten(msgspec.Struct, frozen=True, array_like=True, tag="forgotten"):
    """The topic was deleted, and its ids with it."""

    topic: str


IdEvent = IdsWritten | IdsForgotten


class KnownIds(msgspec.Struct, frozen=True):
    """Snapshot of the recent ids; ids up to the event `indexed` are in the index."""

    last_number: int
    last_space: int
    indexed: int
    spaces: dict[str, int]
    recent: tuple[IdsWritten, ...]
