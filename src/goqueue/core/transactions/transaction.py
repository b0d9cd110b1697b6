"""Transaction: its data, its states and its transitions."""

from enum import StrEnum
from typing import Literal

import msgspec

from goqueue.model.ids import InstantNs

__all__ = ["TRANSITIONS", "Ending", "GroupOffset", "PartitionPart", "Pledge", "Runs", "State", "Step", "Transaction"]

Runs = tuple[tuple[int, int], ...]
"""Offsets as (first, count), ascending and disjoint."""


class State(StrEnum):
    OPEN = "open"
    PREPARED = "prepared"
    """A part of a larger transaction that is complete and waits for the decision."""
    COMMITTED = "committed"
    ABORTED = "aborted"


class Step(StrEnum):
    COMMIT = "commit"
    """By the producer itself."""
    PREPARE = "prepare"
    CHOOSE = "choose"
    """By the decision about the larger transaction."""
    ABORT = "abort"


TRANSITIONS = {
    (State.OPEN, Step.COMMIT): State.COMMITTED,
    (State.OPEN, Step.PREPARE): State.PREPARED,
    (State.OPEN, Step.ABORT): State.ABORTED,
    (State.PREPARED, Step.CHOOSE): State.COMMITTED,
    (State.PREPARED, Step.ABORT): State.ABORTED,
}
"""All transitions: committed and aborted are final. Only parts are prepared; only other transactions commit themselves.
"""


class PartitionPart(msgspec.Struct, frozen=True, array_like=True):
    """A partition that the transaction wrote to."""

    topic: str
    partition: int


class GroupOffset(msgspec.Struct, frozen=True, array_like=True):
    """The offset that a group commits in a partition with the transaction.

    Given by a member, it applies only while the partition is assigned to that member.
    """

    group: str
    topic: str
    partition: int
    offset: int
    metadata: str = ""
    member_id: str = ""
    generation: int = 0


class Pledge(msgspec.Struct, frozen=True, array_like=True):
    """Leased records that are acknowledged, rejected or released when the transaction commits.

    They were leased under `grant`; on abort, that lease continues until `restore_deadline`.
    """

    group: str
    topic: str
    partition: int
    grant: int
    offsets: Runs
    action: Literal["ack", "reject", "nack"]
    restore_deadline: int
    pause_ms: int | None = None
    reason: str = ""
    cause: str = ""
    """The reason of the dead letter, for rejected records."""

    @property
    def count(self) -> int:
        return sum(count for _, count in self.offsets)


class Transaction(msgspec.Struct, frozen=True, array_like=True):
    """A live transaction. It has a `transactional_id`, or a `key` when it is a part that is decided under that key."""

    number: int
    producer_id: int
    epoch: int
    transactional_id: str
    key: str
    state: State
    began_at: InstantNs
    deadline: InstantNs
    timeout_ms: int
    partitions: tuple[PartitionPart, ...] = ()
    pledges: tuple[Pledge, ...] = ()
    offsets: tuple[GroupOffset, ...] = ()

    @property
    def is_part(self) -> bool:
        return bool(self.key)

    @property
    def is_empty(self) -> bool:
        """Nothing was written, acknowledged or committed in it."""
        return not (self.partitions or self.pledges or self.offsets)


class Ending(msgspec.Struct, frozen=True, array_like=True):
    """Outcome of a transaction."""

    number: int
    producer_id: int
    epoch: int
    committed: bool
    why: str
    at: InstantNs

    @property
    def state(self) -> State:
        return State.COMMITTED if self.committed else State.ABORTED
