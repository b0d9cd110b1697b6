"""Publish spans: records that were published or refused."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from goqueue import codec
from goqueue.core.tracing.places import Place
from goqueue.engine.broker import Broker
from goqueue.engine.tracing.choosing import choose, context_in, details_of, place_of
from goqueue.engine.tracing.runs import runs_for
from goqueue.errors import GoQueueError, UnknownTopic
from goqueue.model.log import LogId
from goqueue.model.record import Record
from goqueue.model.span import Operation, SpanRun
from goqueue.model.topic import Topic, TopicName

if TYPE_CHECKING:
    from goqueue.engine.publish import PublishBatch, Published

__all__ = ["note_appended", "note_published", "note_refused", "note_refused_batch", "note_unreadable"]

MOST_REFUSED = 100
"""Records of a refused batch that have their own spans."""


def note_published(broker: Broker, topic: Topic, request: "PublishBatch", result: "Published", start_ns: int) -> None:
    """Note a batch that was confirmed."""
    if result.duplicate:
        return
    tracing = broker.tracing
    chosen = tracing.sampler(topic)
    count = result.count - len(result.originals)
    if not chosen.part:
        tracing.sampled_out += count
        return
    offsets = range(result.base_offset, result.base_offset + count)
    records = _written(request.records, result) if result.originals else request.records
    places = choose(tracing, chosen, LogId(request.topic, request.partition), offsets, records)
    tracing.sampled_out += count - sum(place.length for place in places)
    if not places:
        return
    end_ns = broker.clock.now_ns()
    transaction = 0 if request.transaction is None else request.transaction.number
    tracing.note_all(
        runs_for(topic, request.partition, places, Operation.PUBLISH, start_ns, end_ns, transaction=transaction)
    )


def _written(records: bytearray, result: "Published") -> bytes:
    """The records of a batch that were not duplicates, as they are in the log."""
    given: Sequence[Record] = codec.decode(records)
    placed = zip(given, result.places(), strict=True)
    return codec.encode(
        [msgspec.structs.replace(one, offset=place.offset) for one, place in placed if not place.duplicate]
    )


def note_refused_batch(broker: Broker, request: "PublishBatch", refusal: GoQueueError, start_ns: int) -> None:
    """Note a batch that was refused."""
    records: Sequence[Record] = ()
    try:
        carried = codec.contexts(request.records).carried
        records = codec.decode(request.records) if carried else ()
    except GoQueueError:
        # This may be the reason for the refusal.
        pass
    transaction = 0 if request.transaction is None else request.transaction.number
    _note_refusals(broker, request.topic, request.partition, records, refusal, start_ns, transaction)


def note_refused(
    broker: Broker, name: TopicName, partition: int | None, record: Record, refusal: GoQueueError, start_ns: int
) -> None:
    """Note a single record that was refused."""
    _note_refusals(broker, name, partition or 0, (record,), refusal, start_ns)


def note_unreadable(broker: Broker, name: TopicName, refusal: GoQueueError, start_ns: int) -> None:
    """Note a request that could not be decoded into records."""
    if broker.tracing.is_on:
        _note_refusals(broker, name, 0, (), refusal, start_ns)


def _note_refusals(
    broker: Broker,
    name: TopicName,
    partition: int,
    records: Sequence[Record],
    refusal: GoQueueError,
    start_ns: int,
    transaction: int = 0,
) -> None:
    """One span for each record with a trace context, and one for all others.

    They have no offsets, and each is a trace of its own; the negated start time takes the place of the offset.
    """
    places = [Place(-start_ns - number, 1, context_in(one.headers)) for number, one in enumerate(records)]
    kept = [place for place in places if place.context is not None][:MOST_REFUSED]
    if len(kept) < len(places) or not places:
        kept.append(Place(-start_ns))
    if len(records) == 1:
        key, text = details_of(records[0].key, records[0].headers)
        kept = [place._replace(key=key, id=text) for place in kept]
    topic = _topic(broker, name)
    created_ns = 0 if topic is None else topic.created_ns
    end_ns = broker.clock.now_ns()
    broker.tracing.note_all(
        [
            SpanRun(
                Operation.PUBLISH,
                start_ns,
                end_ns,
                name,
                created_ns,
                partition,
                place.offset,
                error=refusal.code,
                error_type=refusal.code,
                key=place.key,
                id=place.id,
                context=place.context,
                transaction=transaction,
            )
            for place in kept
        ]
    )


def note_appended(
    broker: Broker, log: LogId, base_offset: int, records: Sequence[Record], start_ns: int, transaction: int = 0
) -> None:
    """Note records that the broker itself wrote into a trace."""
    topic = _topic(broker, TopicName(log.topic))
    if topic is None:
        return
    places = [place_of(record, offset) for offset, record in enumerate(records, base_offset)]
    if any(place.context is not None for place in places):
        broker.tracing.carried.see(log)
    end_ns = broker.clock.now_ns()
    runs = runs_for(topic, log.partition, places, Operation.PUBLISH, start_ns, end_ns, transaction=transaction)
    broker.tracing.note_all(runs)


def _topic(broker: Broker, name: TopicName) -> Topic | None:
    try:
        return broker.catalog.topic(name)
    except UnknownTopic:
        return None
