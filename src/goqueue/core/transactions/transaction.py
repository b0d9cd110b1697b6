"""What is known of one transaction, and which ways its life can take."""

from enum import StrEnum
from typing import Literal

import msgspec

from goqueue.model.ids import InstantNs

__all__ = ["TRANSITIONS", "Ending", "GroupOffset", "PartitionPart", "Pledge", "Runs", "State", "Step", "Transaction"]

Runs = tuple[tuple[int, int], ...]
"""Offsets as (first, count), ascending and apart."""


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
    """Named in the decision about the larger transaction."""
    ABORT = "abort"


TRANSITIONS = {
    (State.OPEN, Step.COMMIT): State.COMMITTED,
    (State.OPEN, Step.PREPARE): State.PREPARED,
    (State.OPEN, Step.ABORT): State.ABORTED,
    (State.PREPARED, Step.CHOOSE): State.COMMITTED,
    (State.PREPARED, Step.ABORT): State.ABORTED,
}
"""All there are: what is committed or aborted stays so. Only parts are prepared; only others commit by themselves."""


class PartitionPart(msgspec.Struct, frozen=True, array_like=True):
    """A partition that the transaction wrote to."""

    topic: str
    partition: int


class GroupOffset(msgspec.Struct, frozen=True, array_like=True):
    """Where a group goes on in a partition when the transaction commits.

    Said by a member, it counts only as long as the partition is that member's.
    """

    group: str
    topic: str
    partition: int
    offset: int
    metadata: str = ""
    member_id: str = ""
    generation: int = 0


class Pledge(msgspec.Struct, frozen=True, array_like=True):
    """Records of the queue that are acknowledged, rejected or given back when the transaction commits.

    They were leased under `grant`; when it aborts, that lease goes on until `restore_deadline`.
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
    """Why it is a dead letter, of those that are rejected."""

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
    """How a transaction ended."""

    number: int
    producer_id: int
    epoch: int
    committed: bool
    why: str
    at: InstantNs

    @property
    def state(self) -> State:
        return State.COMMITTED if self.committed else State.ABORTED
