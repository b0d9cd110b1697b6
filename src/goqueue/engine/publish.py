"""Publish a batch of records to one partition."""

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
from goqueue.engine.tracing.publishing import TracedReply
from goqueue.engine.transactions.beginning import InTransaction, check_publish, join_operations
from goqueue.errors import (
    DiskFull,
    GoQueueError,
    InvalidRecord,
    StorageBusy,
    UnknownPartition,
)
from goqueue.model.delay import check_dues
from goqueue.model.topic import Durability, Topic, TopicName

__all__ = ["PublishBatch", "Published", "RecordPlace", "publish", "publish_and_wait"]


class PublishBatch(msgspec.Struct, frozen=True):
    """Encoded records for one partition; the buffer belongs to the broker from here on.

    `ids` has one for each record, or None; the records carry them as headers, see `goqueue.model.record_id`.
    `partitions` is how many the topic had when keys decided on the partition, or None when they did not.
    `dues` has an instant for each record, until which it is hidden; 0, or any that has passed, means at once.
    """

    topic: TopicName
    partition: int
    records: bytearray
    durability: Durability | None = None
    producer: ProducerBatch | None = None
    ids: Sequence[str | None] | None = None
    partitions: int | None = None
    dues: Sequence[int] | None = None
    transaction: InTransaction | None = None
    """The records count when it commits."""
    is_checked: bool = False
    """Whether its values are known to fit the schemas of the topic."""


class RecordPlace(msgspec.Struct, frozen=True):
    """Where a record is; of a duplicate, where its original is."""

    partition: int
    offset: int
    timestamp_ns: int
    duplicate: bool = False


class Published(msgspec.Struct, frozen=True):
    """`count` records, those that have no original elsewhere at the offsets from `base_offset` on."""

    partition: int
    base_offset: int
    count: int
    timestamp_ns: int
    duplicate: bool = False
    """All of them were there before."""
    originals: tuple[Original, ...] = ()

    def places(self) -> list[RecordPlace]:
        """One for each record, in the order in which they were given."""
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
    """Check, stamp and write; `reply` is called once it is as durable as asked for, or refused."""
    _publish(broker, request, TracedReply(broker, request, reply) if broker.tracing.is_on else reply)


def _publish(broker: Broker, request: PublishBatch, reply: Reply) -> None:
    """As `publish`; also for what was put off and is tried again."""
    try:
        partition = broker.partition(request.topic, request.partition)
        topic = broker.catalog.topic(request.topic)
        if request.partitions not in (None, topic.partitions):
            raise UnknownPartition(
                f"{topic.name} has {topic.partitions} partitions, not {request.partitions}: the keys belong elsewhere",
                hint="look the topic up again, then send the records to the partitions of their keys",
            )
        if request.dues is not None:
            check_dues(topic, request.dues, since_ns=broker.clock.now_ns())
        if partition.held:
            partition.hold(partial(_publish, broker, request, reply), len(request.records))
            return
        if broker.guard.is_full:
            raise DiskFull(f"the disk is {broker.guard.used_share:.0%} full")
        if request.transaction is not None:
            check_publish(broker, request.transaction, request.producer, request.ids)
        if request.producer is not None:
            broker.producer_ids.check(request.producer.producer_id, request.producer.epoch)
            repeated = partition.producers.check(*request.producer)
            if repeated is not None:
                _reply_when_confirmed(broker, partition, repeated, reply)
                return
        if not request.is_checked and (rules := broker.value_rules.of(topic)) is not None:
            check = checked_at_once(broker, rules, request.records)
            if check is not None:
                checked = msgspec.structs.replace(request, is_checked=True)
                go_on = partial(_publish, broker, checked, reply)
                refuse = partial(_refuse, broker, request, reply=reply)
                hold_until_checked(partition, check, len(request.records), go_on, refuse)
                return
        if request.ids is not None and topic.config.dedup_window_ms:
            _publish_new(broker, partition, topic, request, reply)
            return
        if request.transaction is not None:
            _publish_in_transaction(broker, partition, topic, request, reply)
            return
        answer = _Answer(partition, reply)
        answer.written = partition.append(
            request.records,
            answer.done,
            durable=(request.durability or topic.config.durability) is not Durability.MEMORY,
            max_value_bytes=topic.config.max_value_bytes,
            producer=request.producer,
            dues=request.dues,
        )
    except GoQueueError as refusal:
        _refuse(broker, request, refusal, reply)


def _refuse(broker: Broker, request: PublishBatch, refusal: GoQueueError, reply: Reply) -> None:
    broker.tally.of(request.topic).refuse(refusal.code, _count(request.records))
    reply(refusal)


def _count(records: bytearray) -> int:
    """Nobody knows of a batch that cannot be read; it counts as one."""
    try:
        return codec.stamp(records, 0, 0).count
    except GoQueueError:
        return 1


def _publish_in_transaction(
    broker: Broker, partition: Partition, topic: Topic, request: PublishBatch, reply: Reply
) -> None:
    """Hidden until the transaction commits, which makes all of it durable."""
    ref = request.transaction
    assert ref is not None

    def answered(result: Published | GoQueueError) -> None:
        if isinstance(result, GoQueueError):
            broker.endings.break_off(ref.number, result.message)
        else:
            broker.endings.noted(ref.number)
        reply(result)

    answer = _Answer(partition, answered)
    answer.written = partition.append(
        request.records,
        answer.done,
        durable=False,
        max_value_bytes=topic.config.max_value_bytes,
        producer=request.producer,
        dues=request.dues,
        transaction=ref.number,
        also=join_operations(broker, ref, partition.id),
    )


def _publish_new(broker: Broker, partition: Partition, topic: Topic, request: PublishBatch, reply: Reply) -> None:
    """Write the records whose ids are not known yet, and answer for the others with the places of their originals."""
    assert request.ids is not None
    if request.dues is not None and len(request.dues) != len(request.ids):
        raise InvalidRecord(f"{len(request.dues)} instants for {len(request.ids)} records", hint="give one for each")
    chosen = choose_new(broker, topic, request.records, request.ids)
    if isinstance(chosen, Unsettled):
        # The original may yet be refused, and then this record has to be written.
        partition.hold(partial(_publish, broker, request, reply), len(request.records))
        broker.ids.when_settled(chosen.number, partition.resume)
        return
    answer = _Answer(partition, reply)
    if chosen.repeats and not chosen.records:
        count = len(request.ids)
        answer.written = partition.append_nothing(count, answer.done, producer=request.producer, ids=chosen.ids)
        return
    durability = request.durability or topic.config.durability
    answer.written = partition.append(
        chosen.records,
        answer.done,
        # An original is confirmed again only when it is durable; one sync does that for everything before it.
        durable=chosen.repeats or durability is not Durability.MEMORY,
        max_value_bytes=topic.config.max_value_bytes,
        producer=request.producer,
        ids=chosen.ids,
        dues=_dues_of(request.dues, chosen.steps),
    )


def _dues_of(dues: Sequence[int] | None, steps: Sequence[int] | None) -> Sequence[int] | None:
    """The instants of those records that are written."""
    return dues if dues is None or steps is None else [dues[step] for step in steps]


class _Answer:
    """Replies when it is done, with what was written."""

    __slots__ = ("_partition", "_reply", "written")

    def __init__(self, partition: Partition, reply: Reply) -> None:
        self._partition = partition
        self._reply = reply
        self.written: BatchWritten

    def done(self, refusal: GoQueueError | None) -> None:
        if refusal is not None:
            self._partition.tally.refuse(refusal.code, self.written.count)
        self._reply(refusal or _published(self._partition, self.written))


def _published(partition: Partition, batch: BatchWritten, *, duplicate: bool = False) -> Published:
    originals = unpack_originals(batch.originals) if batch.originals else ()
    return Published(
        partition.id.partition,
        batch.base_offset,
        batch.count,
        batch.timestamp_ns,
        duplicate or len(originals) == batch.count,
        originals,
    )


def _reply_when_confirmed(broker: Broker, partition: Partition, batch: BatchWritten, reply: Reply) -> None:
    """A repeat must not be confirmed before the original is."""
    answer = _published(partition, batch, duplicate=True)
    if batch.next_offset == batch.base_offset:
        broker.commit.when_durable(lambda refusal: reply(refusal or answer))
        return

    def look() -> None:
        if partition.high_watermark >= batch.next_offset:
            partition.unwatch(look)
            reply(answer)
        elif batch.base_offset >= partition.next_offset:
            partition.unwatch(look)
            reply(StorageBusy("the batch that this one repeats was refused"))

    partition.watch(look)
    look()


async def publish_and_wait(broker: Broker, request: PublishBatch) -> Published:
    """As `publish`, for callers that wait; cancelling them does not take the records back."""
    answer: asyncio.Future[Published] = asyncio.get_running_loop().create_future()

    def reply(result: Published | GoQueueError) -> None:
        if answer.done():
            return
        if isinstance(result, GoQueueError):
            answer.set_exception(result)
        else:
            answer.set_result(result)

    publish(broker, request, reply)
    return await answer
