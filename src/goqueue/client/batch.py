"""Records on their way: gathered into a batch, and what became of each."""

import asyncio
import contextlib
from collections.abc import Generator, Mapping, Sequence
from typing import Any, NamedTuple

from goqueue import codec
from goqueue.errors import GoQueueError
from goqueue.model.delay import AT_ONCE
from goqueue.model.record import Record

__all__ = ["Batch", "Delivery", "Outcome", "Sent"]


class Sent(NamedTuple):
    """Where a record is in the log; the offset is -1 when the producer asked for no acknowledgement."""

    topic: str
    partition: int
    offset: int
    timestamp_ns: int
    duplicate: bool = False
    """It was there before, and this is where: a batch was sent again, or the record's id is known."""


class Outcome(NamedTuple):
    """What became of a batch; `elsewhere` has the records that are not among its own, by their number."""

    base_offset: int
    timestamp_ns: int
    duplicate: bool = False
    offsets: Sequence[int] | None = None
    elsewhere: Mapping[int, tuple[int, int]] = {}
    """Partition and timestamp of the original."""


class Batch:
    """Records for one partition that travel together."""

    __slots__ = (
        "_encoded",
        "count",
        "deadline",
        "done",
        "dues",
        "error_was_seen",
        "ids",
        "partition",
        "partitions",
        "records",
        "sequence",
        "size",
        "topic",
        "transaction",
    )

    def __init__(
        self, topic: str, partition: int, deadline: float, *, encoded: bytes | None = None, count: int = 0
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.deadline = deadline
        self.partitions: int | None = None
        """How many there were when a key decided on this one; None while only turns and callers have decided."""
        self.records: list[Record] = []
        self.ids: list[str | None] | None = None
        """One for each record, or None when none of them has an id."""
        self.dues: list[int] | None = None
        """Until when each record is hidden, 0 for those that are not; None when none of them is."""
        self.transaction: int | None = None
        """Its number, when the records belong to one."""
        self.count = count
        self.size = 0
        self.sequence: int | None = None
        """Number of the first record among the producer's in this partition; kept when the batch is sent again."""
        self.done: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        self.error_was_seen = False
        """Whoever waits for a record of the batch gets its error; if nobody does, `flush` tells."""
        self._encoded = encoded

    def add(self, record: Record, record_id: str | None, due: int = AT_ONCE) -> None:
        if due or self.dues is not None:
            self.dues = self.dues or [AT_ONCE] * len(self.records)
            self.dues.append(due)
        if record_id is not None or self.ids is not None:
            self.ids = self.ids or [None] * len(self.records)
            self.ids.append(record_id)
        self.records.append(record)

    def seal(self) -> None:
        """No more records; they are encoded, and refused here when they cannot be."""
        if self._encoded is None:
            self.count = len(self.records)
            self._encoded = codec.encode(self.records)

    def encoded(self) -> bytes:
        assert self._encoded is not None, "the batch is sealed and not done"
        return self._encoded

    def succeed(self, outcome: Outcome) -> None:
        if not self.done.done():
            self.done.set_result(outcome)
            self._let_go()

    def fail(self, error: Exception) -> None:
        if not self.done.done():
            self.done.set_exception(error)
            self.done.exception()
            self._let_go()

    def _let_go(self) -> None:
        """Deliveries may be kept for long, and each keeps its batch."""
        self.records = []
        self.ids = None
        self.dues = None
        self._encoded = None

    def sent(self, number: int) -> Sent:
        """Where the record with this number is; only when `done`."""
        base, timestamp_ns, duplicate, offsets, elsewhere = self.done.result()
        if offsets is None:
            return Sent(self.topic, self.partition, base + number if base >= 0 else -1, timestamp_ns, duplicate)
        if number not in elsewhere:
            return Sent(self.topic, self.partition, offsets[number], timestamp_ns, duplicate)
        partition, since_ns = elsewhere[number]
        return Sent(self.topic, partition, offsets[number], since_ns, True)

    def all_sent(self) -> list[Sent]:
        """Where each of the records is; only when `done`."""
        topic, partition = self.topic, self.partition
        base, timestamp_ns, duplicate, offsets, _ = self.done.result()
        if offsets is not None or base < 0:
            return [self.sent(number) for number in range(self.count)]
        # As `Sent(…)` does, without its parsing of arguments, which takes twice as long; this is done for every record.
        new = tuple.__new__
        return [
            new(Sent, (topic, partition, offset, timestamp_ns, duplicate)) for offset in range(base, base + self.count)
        ]


class Delivery:
    """The promise of one record: await it to learn where the record is, or why it is not there."""

    __slots__ = ("_batch", "_number")

    def __init__(self, batch: Batch, number: int) -> None:
        self._batch = batch
        self._number = number

    def __await__(self) -> Generator[Any, None, Sent]:
        # Shielded: one impatient waiter must not cancel the batch for all its records.
        with contextlib.suppress(GoQueueError):
            yield from asyncio.shield(self._batch.done).__await__()
        return self.result()

    def done(self) -> bool:
        return self._batch.done.done()

    def result(self) -> Sent:
        """The outcome; only when `done`."""
        self._batch.error_was_seen = True
        return self._batch.sent(self._number)
