"""Duration spans: delays of records, and transactions."""

from collections.abc import Sequence

import msgspec

from goqueue import codec
from goqueue.core.tracing.sampling import Sampler, sampler
from goqueue.core.transactions.endings import ABORTED_BY_PRODUCER, TIME_IS_UP
from goqueue.core.transactions.events import Ended
from goqueue.core.transactions.transaction import Transaction
from goqueue.engine.broker import Broker
from goqueue.engine.partition import Partition
from goqueue.engine.queue.gather import gather
from goqueue.engine.tracing.choosing import place_of
from goqueue.engine.tracing.runs import runs_for
from goqueue.errors import GoQueueError
from goqueue.model.record import Record
from goqueue.model.runs import offsets_of, runs_of
from goqueue.model.span import ErrorType, Operation, SpanRun
from goqueue.model.topic import TopicName

__all__ = ["note_ended", "note_fired"]

MOST_READ_BYTES = 8 * 1024 * 1024
MOST_UNDER_WAY = 16
"""Rounds of fired records whose spans are still to be made; further rounds get none."""


def note_fired(broker: Broker, partition: Partition, offsets: Sequence[int], now: int) -> None:
    """Note records that became due. Their publish time is in the log, which is read in the background."""
    tracing = broker.tracing
    chosen = tracing.sampler(broker.catalog.topic(TopicName(partition.id.topic)))
    wanted = offsets if tracing.carried.has(partition.id) else _by_offset(chosen, partition, offsets)
    if not chosen.part or not wanted or tracing.under_way >= MOST_UNDER_WAY:
        tracing.sampled_out += len(offsets)
        return
    tracing.sampled_out += len(offsets) - len(wanted)
    broker.queues.in_background(_note_fired(broker, partition, chosen, wanted, now))


def _by_offset(chosen: Sampler, partition: Partition, offsets: Sequence[int]) -> list[int]:
    number = partition.id.partition
    runs = (run for first, count in runs_of(sorted(offsets)) for run in chosen.runs(number, first, count))
    return list(offsets_of(tuple(runs)))


async def _note_fired(broker: Broker, partition: Partition, chosen: Sampler, offsets: Sequence[int], now: int) -> None:
    tracing = broker.tracing
    tracing.under_way += 1
    try:
        topic = broker.catalog.topic(TopicName(partition.id.topic))
        found = await gather(broker, partition, sorted(offsets), MOST_READ_BYTES)
        records: list[Record] = codec.decode(found.records)
    except GoQueueError:
        return
    finally:
        tracing.under_way -= 1
    runs: list[SpanRun] = []
    number = partition.id.partition
    for record in records:
        place = place_of(record)
        has_offset = place.context is None and chosen.has_offset(number, record.offset)
        if has_offset or (place.context is not None and chosen.has_trace(place.context.trace_id)):
            runs += runs_for(topic, number, (place,), Operation.DELAY, record.timestamp_ns, now)
    tracing.sampled_out += len(records) - len(runs)
    tracing.note_all(runs)


def note_ended(broker: Broker, one: Transaction, ended: Ended) -> None:
    """Note the end of a transaction. An abort is an error, unless the producer aborted an empty transaction."""
    tracing = broker.tracing
    is_fine = ended.committed or (one.is_empty and ended.why == ABORTED_BY_PRODUCER)
    if is_fine and not sampler(tracing.settings.rate).has_offset(0, one.number):
        tracing.sampled_out += 1
        return
    now = broker.clock.now_ns()
    run = SpanRun(Operation.TRANSACTION, one.began_at, now, transaction=one.number)
    if not is_fine:
        error_type = ErrorType.TRANSACTION_TIMED_OUT if ended.why == TIME_IS_UP else ErrorType.ABORTED
        run = msgspec.structs.replace(run, error=ended.why or "aborted", error_type=error_type)
    tracing.note(run)
