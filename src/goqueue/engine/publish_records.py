"""Publishing of single records: choose the partition of each, and write the records of a partition as one batch.

Records succeed or fail individually. The records of a partition keep their order.
"""

import asyncio
from collections.abc import Iterable, Sequence

import msgspec

from goqueue import codec
from goqueue.engine.broker import Broker
from goqueue.engine.placement import Placement
from goqueue.engine.publish import PublishBatch, Published, publish
from goqueue.engine.schemas.validation import record_violations
from goqueue.engine.tracing.publishing import note_refused
from goqueue.engine.transactions.joining import InTransaction, check_publish
from goqueue.errors import GoQueueError, InvalidRecord, RecordTooLarge, UnknownPartition
from goqueue.model.delay import AT_ONCE, check_due
from goqueue.model.record import Record
from goqueue.model.record_id import with_id
from goqueue.model.topic import Durability, Topic, TopicName

__all__ = ["Outgoing", "Placed", "publish_in_transaction", "publish_records"]


class Outgoing(msgspec.Struct, frozen=True):
    """A record to publish. Without a partition its key decides; unconfirmed records are not waited for.

    The record is hidden until `due`; a time in the past means at once.
    """

    record: Record
    partition: int | None = None
    durability: Durability | None = None
    confirmed: bool = True
    id: str | None = None
    due: int = AT_ONCE


class Placed(msgspec.Struct, frozen=True):
    """The position of a record, or of its original if it is a duplicate; the offset is None if it was not waited
    for."""

    partition: int
    offset: int | None
    duplicate: bool = False
    due: int = AT_ONCE
    """Hidden until this time. Not set for a duplicate, whose original may have another due time."""


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
    now = broker.clock.now_ns()
    outcomes = await _refusals(broker, name, records)
    batches = _gather(broker.catalog.topic(name), placement, records, outcomes, now)
    _count_refused(broker, name, records, outcomes, now)
    # All batches are submitted before the first is waited for, so that they share a sync.
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


async def publish_in_transaction(
    broker: Broker, placement: Placement, ref: InTransaction, records: Sequence[tuple[TopicName, Outgoing]]
) -> list[Placed]:
    """Publish all records, in any number of topics, or none. They are hidden until the transaction commits.

    If a record is refused after others were written, the transaction can only be aborted.
    """
    check_publish(broker, ref, None, [outgoing.id for _, outgoing in records])
    by_topic: dict[TopicName, list[int]] = {}
    for number, (name, _) in enumerate(records):
        by_topic.setdefault(name, []).append(number)
    refusals = {
        name: await _refusals(broker, name, [records[number][1] for number in numbers])
        for name, numbers in by_topic.items()
    }
    now = broker.clock.now_ns()
    gathered: list[tuple[TopicName, list[int], _Batch]] = []
    for name, numbers in by_topic.items():
        outcomes = refusals[name]
        some = [records[number][1] for number in numbers]
        batches = _gather(broker.catalog.topic(name), placement, some, outcomes, now)
        _count_refused(broker, name, some, outcomes, now)
        for number, outcome in zip(numbers, outcomes, strict=True):
            if isinstance(outcome, GoQueueError):
                outcome.message = f"record {number}: {outcome.message}"
                raise outcome
        gathered += [(name, numbers, batch) for batch in batches]
    answers = [_start(broker, name, batch, ref) for name, _, batch in gathered]
    results = [await answer for answer in answers]
    refusal = next((one for one in results if isinstance(one, GoQueueError)), None)
    if refusal is not None:
        if any(isinstance(one, Published) for one in results):
            broker.endings.break_off(ref.number, refusal.message)
        raise refusal
    placed: dict[int, Placed] = {}
    for (_, numbers, batch), result in zip(gathered, results, strict=True):
        for step, outcome in zip(batch.numbers, _outcomes(batch, result), strict=True):
            number = numbers[step]
            shown = _with_due(outcome, records[number][1].due, now)
            assert isinstance(shown, Placed)
            placed[number] = shown
    return [placed[number] for number in range(len(records))]


async def _refusals(broker: Broker, name: TopicName, records: Sequence[Outgoing]) -> list[Outcome | None]:
    """The violations of records whose values do not fit the topic's schemas, None for the others."""
    outcomes: list[Outcome | None] = [None] * len(records)
    topic = broker.catalog.topic(name)
    violations = await record_violations(broker, topic, [outgoing.record for outgoing in records])
    for number, violation in violations.items():
        outcomes[number] = violation
    return outcomes


def _count_refused(
    broker: Broker, name: TopicName, records: Sequence[Outgoing], outcomes: Sequence[Outcome | None], start_ns: int
) -> None:
    """Count the records refused here; later refusals are counted where records are written."""
    for outgoing, outcome in zip(records, outcomes, strict=True):
        if isinstance(outcome, GoQueueError):
            broker.tally.of(name).refuse(outcome.code, 1)
            if broker.tracing.is_on:
                note_refused(broker, name, outgoing.partition, outgoing.record, outcome, start_ns)


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
        if outcomes[number] is not None:
            continue
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
                    # All records of a request without a key go to one partition, so that they form one batch.
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
        # Each record is encoded alone, so its index in the encoded batch means nothing to the caller.
        error.message = error.message.removeprefix("record 0: ")
        raise


def _start(broker: Broker, name: TopicName, batch: _Batch, transaction: InTransaction | None = None) -> _Answer:
    answer: _Answer = asyncio.get_running_loop().create_future()

    def reply(result: Published | GoQueueError) -> None:
        if not answer.done():
            answer.set_result(result)

    records = bytearray(b"".join(batch.parts))
    ids = batch.ids if any(one is not None for one in batch.ids) else None
    dues = batch.dues if any(batch.dues) else None
    request = PublishBatch(
        name,
        batch.partition,
        records,
        batch.durability,
        ids=ids,
        dues=dues,
        transaction=transaction,
        is_checked=True,
    )
    publish(broker, request, reply)
    return answer


def _outcomes(batch: _Batch, result: Published | GoQueueError) -> Iterable[Outcome]:
    if isinstance(result, GoQueueError):
        return [result] * len(batch.numbers)
    if not result.originals and not result.duplicate:
        return [Placed(batch.partition, result.base_offset + step) for step in range(result.count)]
    return [Placed(place.partition, place.offset, place.duplicate) for place in result.places()]
