"""Records on their way: gathered into a batch, and what became of each."""

import asyncio
from collections.abc import Generator, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, overload

from goqueue import codec
from goqueue.model.delay import AT_ONCE
from goqueue.model.record import Record

__all__ = ["Batch", "Delivery", "Outcome", "Places", "Sent", "Values"]


_encode, _encode_values = codec.encode, codec.encode_values
_running_loop = asyncio.get_running_loop


class Sent(NamedTuple):
    """The place of a record in the log; the offset is -1 when the producer asked for no acknowledgement.

    Example:

        from goqueue import Producer

        with Producer() as producer:
            sent = producer.send("orders", json={"id": 5}).result()
            print(sent.topic, sent.partition, sent.offset, sent.duplicate)
    """

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


class Values(NamedTuple):
    """Records that differ in their values and keys alone, so that no object has to be made of each."""

    values: Sequence[bytes | None]
    keys: Sequence[bytes | None] | None
    headers: tuple[tuple[str, bytes], ...]
    priority: int


class Batch:
    """Records for one partition that travel together."""

    __slots__ = (
        "_encoded",
        "_outcome",
        "_waiting",
        "count",
        "deadline",
        "dues",
        "error_was_seen",
        "ids",
        "is_in_doubt",
        "partition",
        "partitions",
        "records",
        "sequence",
        "size",
        "topic",
        "transaction",
    )

    def __init__(
        self, topic: str, partition: int, deadline: float, encoded: bytes | None = None, count: int = 0
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.deadline = deadline
        self.partitions: int | None = None
        """How many there were when a key decided on this one; None while only turns and callers have decided."""
        self.records: list[Record] | Values = []
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
        self.is_in_doubt = False
        """It was sent once without an answer, so it may have been written."""
        self.error_was_seen = False
        """Whoever waits for a record of the batch gets its error; if nobody does, `flush` tells."""
        self._encoded = encoded
        self._outcome: Outcome | Exception | None = None
        self._waiting: list[asyncio.Future[None]] = []

    def add(self, record: Record, record_id: str | None, due: int = AT_ONCE) -> int:
        """How many there are now."""
        assert isinstance(self.records, list)
        if due or self.dues is not None:
            self.dues = self.dues or [AT_ONCE] * len(self.records)
            self.dues.append(due)
        if record_id is not None or self.ids is not None:
            self.ids = self.ids or [None] * len(self.records)
            self.ids.append(record_id)
        self.records.append(record)
        self.count += 1
        return self.count

    def fill(self, records: list[Record] | Values) -> None:
        """With all that it is to hold."""
        self.records = records
        self.count = len(records.values if isinstance(records, Values) else records)

    def seal(self) -> None:
        """No more records; they are encoded, and refused here when they cannot be."""
        if self._encoded is not None:
            return
        if isinstance(self.records, Values):
            self._encoded = _encode_values(*self.records)
        else:
            self._encoded = _encode(self.records)

    def encoded(self) -> bytes:
        assert self._encoded is not None, "the batch is sealed and not done"
        return self._encoded

    @property
    def is_done(self) -> bool:
        return self._outcome is not None

    def wait(self) -> asyncio.Future[None]:
        """Done when the batch is. A future for each who waits: an impatient one cancels nobody else's."""
        future: asyncio.Future[None] = _running_loop().create_future()
        if self._outcome is None:
            self._waiting.append(future)
        else:
            future.set_result(None)
        return future

    def succeed(self, outcome: Outcome) -> None:
        self._end(outcome)

    def fail(self, error: Exception) -> None:
        self._end(error)

    def _end(self, outcome: Outcome | Exception) -> None:
        if self._outcome is not None:
            return
        self._outcome = outcome
        # Deliveries may be kept for long, and each keeps its batch.
        self.records = []
        self.ids = None
        self.dues = None
        self._encoded = None
        waiting, self._waiting = self._waiting, []
        for future in waiting:
            if not future.done():
                future.set_result(None)

    def outcome(self) -> Outcome:
        """What became of it, or the error; only when `is_done`."""
        if isinstance(self._outcome, Exception):
            raise self._outcome
        assert self._outcome is not None, "nobody asks before it is done"
        return self._outcome

    def sent(self, number: int) -> Sent:
        """Where the record with this number is; only when `is_done`."""
        base, timestamp_ns, duplicate, offsets, elsewhere = self.outcome()
        if offsets is None:
            offset = base + number if base >= 0 else -1
            return Sent(self.topic, self.partition, offset, timestamp_ns, duplicate)
        if number not in elsewhere:
            return Sent(self.topic, self.partition, offsets[number], timestamp_ns, duplicate)
        partition, since_ns = elsewhere[number]
        return Sent(self.topic, partition, offsets[number], since_ns, True)


class Places(Sequence[Sent]):
    """Where the records of a list are, in its order. Each place is made when it is looked at: few are, and it costs
    more than all that publishing does for a record."""

    def __init__(self, parts: Iterable[tuple[Batch, Sequence[int]]], count: int) -> None:
        self._parts = tuple(parts)
        self._count = count
        self._whereabouts: list[tuple[Batch, int]] | None = None

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: int) -> Sent: ...
    @overload
    def __getitem__(self, at: slice) -> list[Sent]: ...
    def __getitem__(self, at: int | slice) -> Sent | list[Sent]:
        if isinstance(at, slice):
            return [self[place] for place in range(*at.indices(self._count))]
        batch, number = self._where()[at]
        return batch.sent(number)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(Sent.__eq__, self, other))

    __hash__ = None  # type: ignore[assignment]  # as that of a list

    def __repr__(self) -> str:
        return repr(list(self))

    def _where(self) -> list[tuple[Batch, int]]:
        """The batch of each record, and its number there."""
        if self._whereabouts is None:
            found = {place: (batch, number) for batch, some in self._parts for number, place in enumerate(some)}
            self._whereabouts = [found[place] for place in range(self._count)]
        return self._whereabouts


class Delivery:
    """The promise of one record: await it to learn where the record is, or why it is not there.

    Example:

        from goqueue.client import Producer

        async with Producer() as producer:
            delivery = await producer.send("orders", json={"id": 5})
            sent = await delivery
            print(sent.offset, delivery.done())
    """

    __slots__ = ("_batch", "_number")

    def __init__(self, batch: Batch, number: int) -> None:
        self._batch = batch
        self._number = number

    def __await__(self) -> Generator[Any, None, Sent]:
        if not self._batch.is_done:
            yield from self._batch.wait()
        return self.result()

    def done(self) -> bool:
        """Whether it is known what became of the record.

        Example:

            from goqueue.client import Producer

            async with Producer() as producer:
                delivery = await producer.send("orders", json={"id": 5})
                await producer.flush()
                assert delivery.done()
        """
        return self._batch.is_done

    def result(self) -> Sent:
        """The outcome; only when `done`.

        Example:

            from goqueue.client import Producer

            async with Producer() as producer:
                delivery = await producer.send("orders", json={"id": 5})
                await producer.flush()
                print(delivery.result().offset)
        """
        self._batch.error_was_seen = True
        return self._batch.sent(self._number)
