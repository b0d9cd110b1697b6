"""Transaction events and the snapshot of the coordinator."""

import msgspec

from goqueue.core.transactions.transaction import Ending, GroupOffset, Pledge, Transaction
from goqueue.model.ids import InstantNs

__all__ = [
    "Began",
    "CoordinatorEvent",
    "Decided",
    "Ended",
    "Enlisted",
    "IdsForgotten",
    "Joined",
    "KeptCoordinator",
    "KeptDecision",
    "KeptIdentity",
    "OffsetsAdded",
    "Pledged",
    "Prepared",
]


class Enlisted(msgspec.Struct, frozen=True, array_like=True, tag="enlisted"):
    """The transactional id belongs to this producer id and epoch from now on."""

    transactional_id: str
    producer_id: int
    epoch: int
    timeout_ms: int
    at: InstantNs
    instance: str = ""
    """The requesting process, by its own name: a repeated request after a lost answer is recognised by it."""


class Began(msgspec.Struct, frozen=True, array_like=True, tag="began"):
    number: int
    producer_id: int
    epoch: int
    transactional_id: str
    key: str
    timeout_ms: int
    at: InstantNs

    @property
    def deadline(self) -> InstantNs:
        return InstantNs(self.at + self.timeout_ms * 1_000_000)


class Joined(msgspec.Struct, frozen=True, array_like=True, tag="joined"):
    """The transaction writes to this partition."""

    number: int
    topic: str
    partition: int


class Pledged(msgspec.Struct, frozen=True, array_like=True, tag="pledged"):
    number: int
    pledge: Pledge


class OffsetsAdded(msgspec.Struct, frozen=True, array_like=True, tag="offsets_added"):
    """Of several for the same group and partition, the last one applies."""

    number: int
    offsets: tuple[GroupOffset, ...]


class Prepared(msgspec.Struct, frozen=True, array_like=True, tag="prepared"):
    number: int
    at: InstantNs


class Ended(msgspec.Struct, frozen=True, array_like=True, tag="ended"):
    """Written in one entry with all effects of ending the transaction."""

    number: int
    committed: bool
    why: str
    at: InstantNs


class Decided(msgspec.Struct, frozen=True, array_like=True, tag="decided"):
    """The parts that form the larger transaction. Written together with the end of each of its parts."""

    key: str
    committed: tuple[int, ...]
    aborted: tuple[int, ...]
    at: InstantNs


class IdsForgotten(msgspec.Struct, frozen=True, array_like=True, tag="ids_forgotten"):
    """These transactional ids were idle for too long."""

    transactional_ids: tuple[str, ...]


CoordinatorEvent = Enlisted | Began | Joined | Pledged | OffsetsAdded | Prepared | Ended | Decided | IdsForgotten


class KeptIdentity(msgspec.Struct, frozen=True, array_like=True):
    """A transactional id: its producer, its last use, its open transaction (0 for none) and the last ended one."""

    enlisted: Enlisted
    used_at: InstantNs
    open: int = 0
    last: Ending | None = None


class KeptDecision(msgspec.Struct, frozen=True, array_like=True):
    """Numbers of parts are bitmaps in the portable 64-bit format of Roaring: they are mostly contiguous."""

    key: str
    committed: bytes
    aborted: bytes
    at: InstantNs


class KeptCoordinator(msgspec.Struct, frozen=True, array_like=True):
    """Snapshot; entries to be forgotten first come first."""

    next_number: int
    identities: tuple[KeptIdentity, ...]
    live: tuple[Transaction, ...]
    ended: tuple[Ending, ...]
    decisions: tuple[KeptDecision, ...]
    committed: int
    aborted: int
    timed_out: int
