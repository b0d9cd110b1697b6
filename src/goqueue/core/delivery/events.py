"""Delivery events of one group in one partition, and its snapshot."""

import msgspec

from goqueue.core.delivery.packed import Packed
from goqueue.model.ids import InstantNs

__all__ = [
    "DeliveryEvent",
    "Extended",
    "Failure",
    "Forgotten",
    "KeptAttempts",
    "KeptDelivery",
    "KeptGrant",
    "Leased",
    "Opened",
    "PartOfGrant",
    "Repositioned",
    "Returned",
    "Settled",
]


class Opened(msgspec.Struct, frozen=True, array_like=True, tag="opened"):
    """The group starts to take records here, from this offset on."""

    offset: int
    in_key_order: bool = False
    last_grant: int = 0
    """Grants are numbered on from here: a number given by a deleted group or topic of the same name is not reused."""


class Leased(msgspec.Struct, frozen=True, array_like=True, tag="leased"):
    """A consumer has leased these records until the deadline. Records skipped by the poll are included."""

    grant: int
    at: InstantNs
    deadline: InstantNs
    consumer: str
    records: Packed
    frontiers: tuple[int, ...]
    """Offset up to which each lane has been searched."""
    asleep: Packed = b""
    """Hidden for now: they are delivered when they become due."""
    skipped: Packed = b""
    """Never delivered: markers, compacted and expired records."""
    keys: tuple[int, ...] = ()
    """With key order: the hash of each record's key, in record order; 0 for a record without one."""
    deferred: tuple[tuple[int, int], ...] = ()
    """With key order: offset and key hash of records that wait for another record of their key."""


class PartOfGrant(msgspec.Struct, frozen=True, array_like=True):
    """Some of the records of a grant."""

    grant: int
    records: Packed


class Settled(msgspec.Struct, frozen=True, array_like=True, tag="settled"):
    """Settled for good: acknowledged, or moved to the dead letters."""

    parts: tuple[PartOfGrant, ...]
    is_dead: bool = False


class Returned(msgspec.Struct, frozen=True, array_like=True, tag="returned"):
    """Returned to the queue, each visible again at its instant."""

    at: InstantNs
    grant: int
    offsets: tuple[int, ...]
    visible_at: tuple[InstantNs, ...]
    reason: str
    is_failure: bool = True
    """Records released unprocessed have been delivered once more, but have not failed."""


class Extended(msgspec.Struct, frozen=True, array_like=True, tag="extended"):
    part: PartOfGrant
    deadline: InstantNs


class Repositioned(msgspec.Struct, frozen=True, array_like=True, tag="repositioned"):
    """The group continues from here, as if everything before it were settled and nothing behind it."""

    offset: int


class Forgotten(msgspec.Struct, frozen=True, array_like=True, tag="forgotten"):
    """The log starts here now, or this offset was committed."""

    below: int


DeliveryEvent = Opened | Leased | Settled | Returned | Extended | Repositioned | Forgotten


class Failure(msgspec.Struct, frozen=True, array_like=True):
    at: InstantNs
    reason: str


class KeptAttempts(msgspec.Struct, frozen=True, array_like=True):
    """A record that has been delivered before. `visible_at` is 0 while it is leased."""

    offset: int
    deliveries: int
    failures: int
    visible_at: InstantNs
    history: tuple[Failure, ...]


class KeptGrant(msgspec.Struct, frozen=True, array_like=True):
    number: int
    consumer: str
    leased_at: InstantNs
    deadline: InstantNs
    records: Packed
    later: dict[int, InstantNs]


class KeptDelivery(msgspec.Struct, frozen=True, array_like=True):
    """Snapshot; offsets of large sets are 64-bit Roaring bitmaps."""

    floor: int
    frontiers: tuple[int, ...]
    settled: bytes
    asleep: bytes
    last_grant: int
    grants: tuple[KeptGrant, ...]
    attempts: tuple[KeptAttempts, ...]
    keys: tuple[tuple[int, int], ...] = ()
    """With key order: offset and key hash of all records in progress."""
    deferred: tuple[tuple[int, int], ...] = ()
    is_open: bool = False
    in_key_order: bool = False
    ends: tuple[tuple[int, int], ...] = ()
    """How records with several deliveries ended: offset and grant, the grant negative for a dead letter."""
    leased_at: InstantNs = InstantNs(0)
    """Time of the last lease; 0 when it was before this field existed."""
