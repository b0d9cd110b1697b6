"""Heads of native frames about transactions; the rules of `messages` hold here as well."""

from typing import Literal

import msgspec

from goqueue.wire.native.messages import LeasedRecords, PartitionOffset

__all__ = [
    "AcksAdded",
    "AddAcks",
    "AddOffsets",
    "BeginPart",
    "BeginTransaction",
    "Begun",
    "DecideParts",
    "EndTransaction",
    "InitTransactions",
    "PartsDecided",
    "PreparePart",
    "TransactionRef",
]


class TransactionRef(msgspec.Struct, frozen=True, array_like=True):
    """A transaction, and who says so."""

    number: int
    producer_id: int
    epoch: int


class InitTransactions(msgspec.Struct, frozen=True, array_like=True):
    """Take over a transactional id: whoever had it before is fenced, and what is open under it is aborted.

    An instance that has been enlisted says as whom: it is refused when another one has taken over since. `instance` is
    a name of its own by which it is known when an answer was lost, and it asks again as who it was before.
    """

    transactional_id: str
    timeout_ms: int = 60_000
    producer_id: int | None = None
    epoch: int = 0
    instance: str = ""


class BeginTransaction(msgspec.Struct, frozen=True, array_like=True):
    producer_id: int
    epoch: int


class BeginPart(msgspec.Struct, frozen=True, array_like=True):
    """A part of a larger transaction, which is decided under the key."""

    key: str
    timeout_ms: int = 60_000


class Begun(msgspec.Struct, frozen=True, array_like=True):
    number: int
    producer_id: int
    epoch: int


class PreparePart(msgspec.Struct, frozen=True, array_like=True):
    """All of the part is there. From then on only the decision is missing."""

    transaction: TransactionRef


class EndTransaction(msgspec.Struct, frozen=True, array_like=True):
    """For COMMIT_TRANSACTION and ABORT_TRANSACTION; said again, either has the same answer."""

    transaction: TransactionRef


class DecideParts(msgspec.Struct, frozen=True, array_like=True):
    """These parts are committed, all others under the key are aborted."""

    key: str
    numbers: tuple[int, ...]


class PartsDecided(msgspec.Struct, frozen=True, array_like=True):
    committed: tuple[int, ...]
    aborted: tuple[int, ...]


class AddAcks(msgspec.Struct, frozen=True, array_like=True):
    """What becomes of leased records when the transaction commits, of all of them: a single refusal ends it."""

    transaction: TransactionRef
    group: str
    action: Literal["ack", "nack", "reject"]
    leases: tuple[LeasedRecords, ...]
    reason: str = ""
    delay_ms: int | None = None


class AcksAdded(msgspec.Struct, frozen=True, array_like=True):
    dead: int
    """So many go to the dead letters."""


class AddOffsets(msgspec.Struct, frozen=True, array_like=True):
    """Where the group goes on when the transaction commits."""

    transaction: TransactionRef
    group: str
    offsets: tuple[PartitionOffset, ...]
    member_id: str | None = None
    generation: int | None = None
