"""What can happen to the records of one partition in one group, and what is kept of it."""

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
    """The group begins to take records here, from this offset on."""

    offset: int
    in_key_order: bool = False
    last_grant: int = 0
    """Grants are numbered on from here: a number that a group or topic of the same name gave is not given again."""


class Leased(msgspec.Struct, frozen=True, array_like=True, tag="leased"):
    """A consumer has these records until the deadline. What was passed over on the way is said, too."""

    grant: int
    at: InstantNs
    deadline: InstantNs
    consumer: str
    records: Packed
    frontiers: tuple[int, ...]
    """Up to where each lane has been looked through."""
    asleep: Packed = b""
    """Hidden for now: they are delivered when they fall due."""
    skipped: Packed = b""
    """Never to be delivered: markers, what compaction took, what has expired."""
    keys: tuple[int, ...] = ()
    """With key order: the hash of each record's key, in the order of the records; 0 for a record without one."""
    deferred: tuple[tuple[int, int], ...] = ()
    """With key order: offset and key hash of records that wait for another one of their key."""


class PartOfGrant(msgspec.Struct, frozen=True, array_like=True):
    """Some of the records of a grant."""

    grant: int
    records: Packed


class Settled(msgspec.Struct, frozen=True, array_like=True, tag="settled"):
    """Done with for good: acknowledged, or moved to the dead letters."""

    parts: tuple[PartOfGrant, ...]
    is_dead: bool = False


class Returned(msgspec.Struct, frozen=True, array_like=True, tag="returned"):
    """Back in the queue, each to be seen again at its instant."""

    at: InstantNs
    grant: int
    offsets: tuple[int, ...]
    visible_at: tuple[InstantNs, ...]
    reason: str
    is_failure: bool = True
    """Records given back untouched have been delivered once more, but have not failed."""


class Extended(msgspec.Struct, frozen=True, array_like=True, tag="extended"):
    part: PartOfGrant
    deadline: InstantNs


class Repositioned(msgspec.Struct, frozen=True, array_like=True, tag="repositioned"):
    """The group goes on from here, as if it had done everything before it and nothing behind it."""

    offset: int


class Forgotten(msgspec.Struct, frozen=True, array_like=True, tag="forgotten"):
    """The log begins here now; or somebody has committed up to here."""

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
    """All there is to remember; offsets of large sets as 64-bit Roaring bitmaps."""

    floor: int
    frontiers: tuple[int, ...]
    settled: bytes
    asleep: bytes
    last_grant: int
    grants: tuple[KeptGrant, ...]
    attempts: tuple[KeptAttempts, ...]
    keys: tuple[tuple[int, int], ...] = ()
    """With key order: offset and key hash of all that are under way."""
    deferred: tuple[tuple[int, int], ...] = ()
    is_open: bool = False
    in_key_order: bool = False
    ends: tuple[tuple[int, int], ...] = ()
    """How records that had more than one delivery ended: offset and grant, the grant negative for a dead letter."""
    leased_at: InstantNs = InstantNs(0)
    """When something was leased last; 0 when that was before this was kept."""
