"""Publish records that come singly: find the partition of each, and write those of a partition together.

Records succeed or fail one by one. Those of one partition keep their order.
"""

import asyncio
from collections.abc import Iterable, Sequence

import msgspec

from goqueue import codec
from goqueue.engine.broker import Broker
from goqueue.engine.placement import Placement
from goqueue.engine.publish import PublishBatch, Published, publish
from goqueue.errors import GoQueueError, InvalidRecord, RecordTooLarge, UnknownPartition
from goqueue.model.delay import AT_ONCE, check_due
from goqueue.model.record import Record
from goqueue.model.record_id import with_id
from goqueue.model.topic import Durability, Topic, TopicName

__all__ = ["Outgoing", "Placed", "publish_records"]


class Outgoing(msgspec.Struct, frozen=True):
    """A record to publish; without a partition its key decides. Unconfirmed ones are not waited for.

    It is hidden until `due`; an instant that has passed means at once.
    """

    record: Record
    partition: int | None = None
    durability: Durability | None = None
    confirmed: bool = True
    id: str | None = None
    due: int = AT_ONCE


class Placed(msgspec.Struct, frozen=True):
    """Where a record is, or its original when it is a duplicate; the offset is None when nobody waited for it."""

    partition: int
    offset: int | None
    duplicate: bool = False
    due: int = AT_ONCE
    """Until when it is hidden; not said of a duplicate, whose original may be delayed or not."""


Outcome = Placed | GoQueueError
_Answer = asyncio.Future[Published | GoQueueError]


class _Batch:
    """Records of one partition that are written together."""

    def __init__(self, partition: int, durability: Durability | None) -> None:
        self.partition = partition
        self.durability = durability
        self.numbers: list[int] = []
        self.parts: list[bytes] = []
        self.ids: list[str | None] = []
        self.dues: list[int] = []
        self.confirmed = False


async def publish_records(
    broker: Broker, placement: Placement, name: TopicName, records: Sequence[Outgoing]
) -> list[Outcome]:
    """One outcome for each record, in the same order."""
    topic = broker.catalog.topic(name)
    outcomes: list[Outcome | None] = [None] * len(records)
    now = broker.clock.now_ns()
    batches = _gather(topic, placement, records, outcomes, now)
    # All are handed over before the first is waited for, so that they share a sync.
    answers = [_start(broker, name, batch) for batch in batches]
    for batch, answer in zip(batches, answers, strict=True):
        if batch.confirmed or answer.done():
            for number, outcome in zip(batch.numbers, _outcomes(batch, await answer), strict=True):
                confirmed = records[number].confirmed or isinstance(outcome, GoQueueError)
                outcomes[number] = outcome if confirmed else Placed(batch.partition, None)
        else:
            for number in batch.numbers:
                outcomes[number] = Placed(batch.partition, None)
    return [
        _with_due(outcome, outgoing.due, now)
        for outcome, outgoing in zip(outcomes, records, strict=True)
        if outcome is not None
    ]


def _with_due(outcome: Outcome, due: int, now: int) -> Outcome:
    if due <= now or isinstance(outcome, GoQueueError) or outcome.duplicate:
        return outcome
    return Placed(outcome.partition, outcome.offset, due=due)


def _gather(
    topic: Topic, placement: Placement, records: Sequence[Outgoing], outcomes: list[Outcome | None], now: int
) -> list[_Batch]:
    places = placement.of(topic)
    turn: int | None = None
    batches: list[_Batch] = []
    current: dict[int, _Batch] = {}
    for number, outgoing in enumerate(records):
        try:
            record = outgoing.record if outgoing.id is None else with_id(outgoing.record, outgoing.id)
            encoded = _encode(topic, record)
            if outgoing.due:
                check_due(topic, outgoing.due, since_ns=now)
            partition = outgoing.partition
            if partition is None:
                key = outgoing.record.key
                if key is not None:
                    partition = places.by_key(key)
                else:
                    # One turn for all records of a request that have no key: they make one batch.
                    turn = partition = places.by_turn() if turn is None else turn
            elif not 0 <= partition < topic.partitions:
                raise UnknownPartition(f"{topic.name} has partitions 0 to {topic.partitions - 1}, not {partition}")
        except GoQueueError as refusal:
            outcomes[number] = refusal
            continue
        batch = current.get(partition)
        if batch is None or batch.durability is not outgoing.durability:
            batch = current[partition] = _Batch(partition, outgoing.durability)
            batches.append(batch)
        batch.numbers.append(number)
        batch.parts.append(encoded)
        batch.ids.append(outgoing.id)
        batch.dues.append(outgoing.due)
        batch.confirmed |= outgoing.confirmed
    return batches


def _encode(topic: Topic, record: Record) -> bytes:
    size, limit = len(record.value or b""), topic.config.max_value_bytes
    if size > limit:
        raise RecordTooLarge(f"a value of {size} bytes, the limit of {topic.name} is {limit}")
    try:
        return codec.encode((record,))
    except InvalidRecord as error:
        # Each record is encoded alone, so its number among those encoded tells nobody anything.
        error.message = error.message.removeprefix("record 0: ")
        raise


def _start(broker: Broker, name: TopicName, batch: _Batch) -> _Answer:
    answer: _Answer = asyncio.get_running_loop().create_future()

    def reply(result: Published | GoQueueError) -> None:
        if not answer.done():
            answer.set_result(result)

    records = bytearray(b"".join(batch.parts))
    ids = batch.ids if any(one is not None for one in batch.ids) else None
    dues = batch.dues if any(batch.dues) else None
    publish(broker, PublishBatch(name, batch.partition, records, batch.durability, ids=ids, dues=dues), reply)
    return answer


def _outcomes(batch: _Batch, result: Published | GoQueueError) -> Iterable[Outcome]:
    if isinstance(result, GoQueueError):
        return [result] * len(batch.numbers)
    if not result.originals and not result.duplicate:
        return [Placed(batch.partition, result.base_offset + step) for step in range(result.count)]
    return [Placed(place.partition, place.offset, place.duplicate) for place in result.places()]
