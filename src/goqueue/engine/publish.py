"""Publish: check, deduplicate and append a batch of records to one partition."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from goqueue import codec
from goqueue.core.producers.originals import Original, unpack_originals
from goqueue.core.producers.window import BatchWritten
from goqueue.engine.broker import Broker
from goqueue.engine.new_records import Unsettled, choose_new
from goqueue.engine.partition import Partition, ProducerBatch
from goqueue.engine.schemas.holding import checked_at_once, hold_until_checked
from goqueue.engine.staged_append import NO_IDS
from goqueue.engine.state_log import Also
from goqueue.engine.tracing.publishing import note_published, note_refused_batch
from goqueue.engine.transactions.joining import InTransaction, check_publish, joined
from goqueue.errors import (
    DiskFull,
    GoQueueError,
    InvalidRecord,
    StorageBusy,
    UnknownPartition,
)
from goqueue.model.delay import check_dues
from goqueue.model.topic import Durability, Topic, TopicName

__all__ = ["PublishBatch", "Published", "RecordPlace", "Reply", "publish", "publish_and_wait"]


MEMORY = Durability.MEMORY


class PublishBatch:
    """Encoded records for one partition; the broker owns the buffer from here on.

    `ids` has an id or None for each record; records carry them as headers, see `goqueue.model.record_id`. `partitions`
    is the number of partitions by which keys were mapped, or None if the caller chose the partition. `dues` has a due
    time for each record, which is hidden until then; 0, or a time in the past, means at once.
    """

    __slots__ = (
        "dues",
        "durability",
        "ids",
        "is_checked",
        "partition",
        "partitions",
        "producer",
        "records",
        "topic",
        "transaction",
    )

    def __init__(
        self,
        topic: TopicName,
        partition: int,
        records: bytearray,
        durability: Durability | None = None,
        producer: ProducerBatch | None = None,
        ids: Sequence[str | None] | None = None,
        partitions: int | None = None,
        dues: Sequence[int] | None = None,
        transaction: InTransaction | None = None,
        is_checked: bool = False,
    ) -> None:
        self.topic = topic
        self.partition = partition
        self.records = records
        self.durability = durability
        self.producer = producer
        self.ids = ids
        self.partitions = partitions
        self.dues = dues
        self.transaction = transaction
        """The records become visible when it commits."""
        self.is_checked = is_checked
        """True if the values were already checked against the topic's schemas."""


class RecordPlace(msgspec.Struct, frozen=True):
    """The position of a record; for a duplicate, that of its original."""

    partition: int
    offset: int
    timestamp_ns: int
    duplicate: bool = False


class Published(msgspec.Struct, frozen=True):
    """`count` records. Those that are not duplicates have consecutive offsets from `base_offset` on."""

    partition: int
    base_offset: int
    count: int
    timestamp_ns: int
    duplicate: bool = False
    """True if all records were duplicates."""
    originals: tuple[Original, ...] = ()

    def places(self) -> list[RecordPlace]:
        """The position of each record, in the order of the request."""
        originals = {one.step: RecordPlace(*one[1:], duplicate=True) for one in self.originals}
        places: list[RecordPlace] = []
        offset = self.base_offset
        for step in range(self.count):
            place = originals.get(step)
            if place is None:
                place = RecordPlace(self.partition, offset, self.timestamp_ns, self.duplicate)
                offset += 1
            places.append(place)
        return places


Reply = Callable[[Published | GoQueueError], None]


def publish(broker: Broker, request: PublishBatch, reply: Reply) -> None:
    """Check, stamp and write; `reply` is called once the batch is as durable as requested, or refused."""
    _Publishing(broker, request, reply).go()


class _Publishing:
    """One publish: tried, perhaps held and tried again, and answered once."""

    __slots__ = ("_broker", "_is_checked", "_partition", "_reply", "_request", "_start_ns", "_topic", "_written")

    def __init__(self, broker: Broker, request: PublishBatch, reply: Reply) -> None:
        self._broker = broker
        self._request = request
        self._reply = reply
        self._start_ns = broker.now_ns()
        self._is_checked = request.is_checked
        self._partition: Partition
        self._topic: Topic
        self._written: BatchWritten

    def go(self) -> None:
        try:
            self._go(self._broker, self._request)
        except GoQueueError as refusal:
            self._refuse(refusal)

    def _go(self, broker: Broker, request: PublishBatch) -> None:
        partition = self._partition = broker.opened.find(request.topic, request.partition)
        topic = self._topic = partition.topic
        if request.partitions is not None and request.partitions != topic.partitions:
            raise UnknownPartition(
                f"{topic.name} has {topic.partitions} partitions, not {request.partitions}: keys map differently",
                hint="read the topic again and partition the records by their keys",
            )
        if request.dues is not None:
            check_dues(topic, request.dues, since_ns=broker.clock.now_ns())
        if partition.held:
            partition.hold(self.go, len(request.records))
            return
        if broker.guard.is_full:
            raise DiskFull(f"the disk is {broker.guard.used_share:.0%} full")
        if request.transaction is not None:
            check_publish(broker, request.transaction, request.producer, request.ids)
        producer = request.producer
        if producer is not None:
            broker.producer_ids.check(producer.producer_id, producer.epoch)
            repeated = partition.producers.check(producer.producer_id, producer.epoch, producer.sequence)
            if repeated is not None:
                self._answer_when_confirmed(repeated)
                return
        if not self._is_checked and (rules := broker.value_rules.of(topic)) is not None:
            check = checked_at_once(broker, rules, request.records)
            if check is not None:
                hold_until_checked(partition, check, len(request.records), self._go_on_checked, self._refuse)
                return
        if request.ids is not None and topic.config.dedup_window_ms:
            self._write_new(request.ids)
        elif request.transaction is not None:
            self._write_in_transaction(request.transaction)
        else:
            config = topic.config
            self._written = partition.append(
                request.records,
                self._done,
                (request.durability or config.durability) is not MEMORY,
                config.max_value_bytes,
                producer,
                NO_IDS,
                request.dues,
            )

    def _go_on_checked(self) -> None:
        self._is_checked = True
        self.go()

    def _write_in_transaction(self, ref: InTransaction) -> None:
        """Append records that are hidden until the transaction commits, which makes all of them durable."""
        broker, request, partition = self._broker, self._request, self._partition
        events = joined(broker, ref, partition.id)
        staged = partition.stage(
            request.records,
            max_value_bytes=self._topic.config.max_value_bytes,
            producer=request.producer,
            dues=request.dues,
            transaction=ref.number,
        )
        self._written = staged.batch
        broker.state_log.submit(events, Also(appends=(staged,), done=broker.endings.track(ref.number)), self._done)

    def _write_new(self, ids: Sequence[str | None]) -> None:
        """Append the records with new ids. The reply points to the originals of the others."""
        broker, request, partition, topic = self._broker, self._request, self._partition, self._topic
        if request.dues is not None and len(request.dues) != len(ids):
            raise InvalidRecord(
                f"there must be one due time per record, got {len(request.dues)} for {len(ids)}",
                hint="use 0 for at once",
            )
        chosen = choose_new(broker, topic, request.records, ids)
        if isinstance(chosen, Unsettled):
            # If the original is refused, this record must be written instead.
            partition.hold(self.go, len(request.records))
            broker.ids.when_settled(chosen.number, partition.resume)
            return
        if chosen.repeats and not chosen.records:
            self._written = partition.append_nothing(len(ids), self._done, producer=request.producer, ids=chosen.ids)
            return
        durability = request.durability or topic.config.durability
        self._written = partition.append(
            chosen.records,
            self._done,
            # A duplicate is confirmed only when its original is durable; one sync covers everything before it.
            chosen.repeats or durability is not MEMORY,
            topic.config.max_value_bytes,
            request.producer,
            chosen.ids,
            _dues_of(request.dues, chosen.steps),
        )

    # Reply.

    def _done(self, refusal: GoQueueError | None) -> None:
        if refusal is None:
            self._answer(_published(self._partition, self._written, False))
        else:
            self._partition.tally.refuse(refusal.code, self._written.count)
            self._answer(refusal)

    def _refuse(self, refusal: GoQueueError) -> None:
        """Reply to a batch of which nothing was written."""
        self._broker.tally.of(self._request.topic).refuse(refusal.code, _count(self._request.records))
        self._answer(refusal)

    def _answer_when_confirmed(self, batch: BatchWritten) -> None:
        """Confirm a repeated batch no earlier than its original."""
        partition = self._partition
        answer = _published(partition, batch, True)
        if batch.next_offset == batch.base_offset:
            self._broker.commit.when_durable(lambda refusal: self._answer(refusal or answer))
            return
        # A compiled method is not an object of its own that could be passed.
        _Repeat(lambda result: self._answer(result), partition, batch, answer).wait()  # noqa: PLW0108

    def _answer(self, result: Published | GoQueueError) -> None:
        self._reply(result)
        tracing = self._broker.tracing
        if not tracing.is_on:
            return
        if isinstance(result, GoQueueError):
            note_refused_batch(self._broker, self._request, result, self._start_ns)
        elif result.originals or not tracing.leaves_out(self._topic, 0 if result.duplicate else result.count):
            note_published(self._broker, self._topic, self._request, result, self._start_ns)


def _count(records: bytearray) -> int:
    """The number of records. A batch that cannot be read counts as one."""
    try:
        return codec.stamp(records, 0, 0).count
    except GoQueueError:
        return 1


def _dues_of(dues: Sequence[int] | None, steps: Sequence[int] | None) -> Sequence[int] | None:
    """The due times of the records that are written."""
    return dues if dues is None or steps is None else [dues[step] for step in steps]


def _published(partition: Partition, batch: BatchWritten, duplicate: bool) -> Published:
    originals = unpack_originals(batch.originals) if batch.originals else ()
    return Published(
        partition.id.partition,
        batch.base_offset,
        batch.count,
        batch.timestamp_ns,
        duplicate or len(originals) == batch.count,
        originals,
    )


class _Repeat:
    """A repeated batch, answered once the outcome of the original is known."""

    def __init__(
        self,
        tell: Callable[[Published | GoQueueError], None],
        partition: Partition,
        batch: BatchWritten,
        answer: Published,
    ) -> None:
        self._tell = tell
        self._partition = partition
        self._batch = batch
        self._answer = answer

    def wait(self) -> None:
        self._partition.watch(self.look)
        self.look()

    def look(self) -> None:
        partition, batch = self._partition, self._batch
        if partition.high_watermark >= batch.next_offset:
            partition.unwatch(self.look)
            self._tell(self._answer)
        elif batch.base_offset >= partition.next_offset:
            partition.unwatch(self.look)
            self._tell(StorageBusy("the batch that this one repeats was refused"))


async def publish_and_wait(broker: Broker, request: PublishBatch) -> Published:
    """Like `publish`, for coroutines. Cancelling the caller does not take the records back."""
    answer: asyncio.Future[Published] = asyncio.get_running_loop().create_future()
    publish(broker, request, partial(_resolve, answer))
    return await answer


def _resolve(answer: "asyncio.Future[Published]", result: Published | GoQueueError) -> None:
    if answer.done():
        return
    if isinstance(result, GoQueueError):
        answer.set_exception(result)
    else:
        answer.set_result(result)
