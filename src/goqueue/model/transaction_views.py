"""Transaction views: transactions as operators see them."""

import msgspec

__all__ = [
    "HeldBack",
    "PlannedOffset",
    "PledgedPart",
    "TopicHeldBack",
    "TransactionPage",
    "TransactionStats",
    "TransactionView",
]


class HeldBack(msgspec.Struct, frozen=True, array_like=True):
    """A partition that an open transaction writes to, and the records hidden until it commits.

    Readers of committed records wait in front of the first of them, also for records of other producers behind it.
    """

    topic: str
    partition: int
    records: int
    first_offset: int | None


class PledgedPart(msgspec.Struct, frozen=True, array_like=True):
    """Leased records that are acknowledged, released or rejected when the transaction commits."""

    group: str
    topic: str
    partition: int
    action: str
    records: int


class PlannedOffset(msgspec.Struct, frozen=True, array_like=True):
    """The offset that a group commits with the transaction."""

    group: str
    topic: str
    partition: int
    offset: int


class TransactionView(msgspec.Struct, frozen=True, array_like=True):
    """A transaction; of an ended one, only its producer, and how, when and why it ended.

    The state is open, prepared (a part that waits for its decision), ending, committed or aborted. A live transaction
    is reported as hanging when half of its timeout has passed.
    """

    number: int
    state: str
    producer_id: int
    epoch: int
    transactional_id: str = ""
    key: str = ""
    began_ns: int | None = None
    deadline_ns: int | None = None
    age_ms: int | None = None
    timeout_ms: int | None = None
    hanging: bool = False
    partitions: tuple[HeldBack, ...] = ()
    pledges: tuple[PledgedPart, ...] = ()
    offsets: tuple[PlannedOffset, ...] = ()
    ended_ns: int | None = None
    why: str = ""

    @property
    def is_live(self) -> bool:
        return self.ended_ns is None

    @property
    def records(self) -> int:
        return sum(part.records for part in self.partitions)

    @property
    def pledged(self) -> int:
        return sum(part.records for part in self.pledges)


class TransactionPage(msgspec.Struct, frozen=True, array_like=True):
    """Live transactions, the oldest first, of `live` in total; `after` is the next cursor, None at the end."""

    transactions: tuple[TransactionView, ...]
    live: int
    after: int | None = None


class TopicHeldBack(msgspec.Struct, frozen=True, array_like=True):
    """How far readers of committed records lag because of transactions, and how many records were aborted.

    `behind` is the sum over the partitions, `most_behind` the largest of them; records removed by retention are not
    counted.
    """

    topic: str
    behind: int
    most_behind: int
    partitions_behind: int
    aborted_records: int


class TransactionStats(msgspec.Struct, frozen=True, array_like=True):
    """Live transactions, and those ended since the data folder was created; timed-out ones are among the aborted."""

    open: int
    prepared: int
    committed: int
    aborted: int
    timed_out: int
    hanging: int
    oldest: int | None
    """The number of the live transaction that began first."""
    oldest_age_ms: int | None
    topics: tuple[TopicHeldBack, ...] = ()
