"""Journey of a message: all that the log, the queues and the spans in memory know of one record.

The log and the queues also know records that are not traced, and the spans also records that are gone.
"""

import asyncio
from typing import Literal

import msgspec

from goqueue import codec
from goqueue.core.delay.states import DelayState
from goqueue.core.tracing.search import Wanted, find, order, spans_at, spans_of_trace
from goqueue.engine.broker import Broker
from goqueue.engine.partition import Partition
from goqueue.engine.queue.gather import gather
from goqueue.engine.tracing.choosing import context_in
from goqueue.engine.tracing.finding import find_by_id, find_by_key
from goqueue.engine.tracing.standing import GroupStand, stands_of
from goqueue.errors import GoQueueError, InvalidRequest, UnknownRecord
from goqueue.model.expiry import expiry_of
from goqueue.model.log import LogId
from goqueue.model.record import Record
from goqueue.model.span import Span
from goqueue.model.topic import Topic, TopicName
from goqueue.model.trace import Birth, born_at

__all__ = ["Journey", "find_journey", "journey_of", "journey_of_id", "journey_of_key"]

MOST_SPANS = 1000

Found = Literal["there", "removed", "compacted", "unreadable"]


class Journey(msgspec.Struct, frozen=True, kw_only=True):
    """The journey of one record. Times are None where they do not apply."""

    topic: str
    partition: int
    offset: int
    trace_id: str
    found: Found
    """If `removed` by retention or `compacted` away, only the queues and the spans know the record."""
    record: Record | None
    size: int
    """Bytes in the log."""
    delay: DelayState | None
    delayed_until_ns: int | None
    expires_ns: int | None
    is_expired: bool
    transaction: Literal["none", "open", "aborted"]
    """`none` also if it was committed."""
    groups: list[GroupStand]
    spans: list[Span]
    is_traced: bool
    """Whether records like this one have spans at all, besides those of failures."""


async def find_journey(
    broker: Broker,
    name: TopicName,
    *,
    number: int | None = None,
    offset: int | None = None,
    id_text: str | None = None,
    key: bytes | None = None,
) -> Journey:
    """Find a record by its partition and offset, by its id, or the newest one with a key: exactly one of the three."""
    if [offset is not None, id_text is not None, key is not None].count(True) != 1:
        raise InvalidRequest("which record is not said", hint="give partition and offset, or id, or key")
    if offset is not None:
        if number is None:
            raise InvalidRequest("an offset needs a partition", hint="give both")
        return await journey_of(broker, name, number, offset)
    if id_text is not None:
        return await journey_of_id(broker, name, id_text)
    assert key is not None
    return await journey_of_key(broker, name, key, number)


async def journey_of(broker: Broker, name: TopicName, number: int, offset: int) -> Journey:
    topic = broker.catalog.topic(name)
    partition = broker.partition(name, number)
    if not 0 <= offset < partition.high_watermark:
        raise UnknownRecord(f"{partition.id} has no record {offset}, its next one is {partition.high_watermark}")
    return await _journey(broker, topic, partition, offset)


async def journey_of_key(broker: Broker, name: TopicName, key: bytes, number: int | None = None) -> Journey:
    """The journey of the newest record with that key."""
    topic = broker.catalog.topic(name)
    place = await find_by_key(broker, topic, key, number) or _in_spans(broker, topic, Wanted(topic=name, key=key))
    if place is None:
        raise UnknownRecord(f"{name} has no record with that key")
    return await journey_of(broker, name, place[0].partition, place[1])


async def journey_of_id(broker: Broker, name: TopicName, text: str) -> Journey:
    topic = broker.catalog.topic(name)
    place = await find_by_id(broker, topic, text) or _in_spans(broker, topic, Wanted(topic=name, id=text))
    if place is None:
        raise UnknownRecord(f"{name} has no record with that id")
    return await journey_of(broker, name, place[0].partition, place[1])


def _in_spans(broker: Broker, topic: Topic, wanted: Wanted) -> tuple[LogId, int] | None:
    """Search the spans: the record may be gone, but its spans still in memory."""
    for span in find(reversed(broker.tracing.ring), wanted, MOST_SPANS):
        if span.offset >= 0 and span.run.created_ns == topic.created_ns:
            return LogId(topic.name, span.run.partition), span.offset
    return None


async def _journey(broker: Broker, topic: Topic, partition: Partition, offset: int) -> Journey:
    found, record, size = await _read(broker, partition, offset)
    trace_id, spans = await _spans(broker, topic, partition, offset, record)
    delay = partition.delays.lookup(offset)
    expires = None if record is None else expiry_of(record.headers)
    outcomes = partition.outcomes
    aborted: Literal["none", "aborted"] = "aborted" if outcomes.is_aborted(offset) else "none"
    tracing = broker.tracing
    return Journey(
        topic=topic.name,
        partition=partition.id.partition,
        offset=offset,
        trace_id=trace_id,
        found=found,
        record=record,
        size=size,
        delay=None if delay is None else delay.state,
        delayed_until_ns=None if delay is None else delay.due,
        expires_ns=expires,
        is_expired=expires is not None and expires <= broker.clock.now_ns(),
        transaction="open" if outcomes.is_open_offset(offset) else aborted,
        groups=await stands_of(broker, partition, offset, spans),
        spans=spans,
        is_traced=tracing.is_on and _is_traced(broker, topic, partition, offset, record),
    )


async def _read(broker: Broker, partition: Partition, offset: int) -> tuple[Found, Record | None, int]:
    if offset < partition.log.start_offset:
        return "removed", None, 0
    try:
        gathered = await gather(broker, partition, (offset,), codec.MAX_VALUE)
    except GoQueueError:
        return "unreadable", None, 0
    records: list[Record] = codec.decode(gathered.records)
    return ("there", records[0], len(gathered.records)) if records else ("compacted", None, 0)


async def _spans(
    broker: Broker, topic: Topic, partition: Partition, offset: int, record: Record | None
) -> tuple[str, list[Span]]:
    """The spans of the record, and those of its trace elsewhere: as a dead letter, and after a redrive."""
    birth = Birth(topic.name, topic.created_ns, partition.id.partition, offset)
    runs = tuple(broker.tracing.ring)
    context = None if record is None else context_in(record.headers)

    def look() -> tuple[str, list[Span]]:
        own = spans_at(runs, *birth)
        known = next((span.trace_id for span in own), born_at(birth).trace_id)
        trace_id = known if context is None else context.trace_id
        together = {span.span_id: span for span in (*own, *spans_of_trace(runs, trace_id))}
        return trace_id, order(together.values())[:MOST_SPANS]

    return await asyncio.get_running_loop().run_in_executor(broker.readers, look)


def _is_traced(broker: Broker, topic: Topic, partition: Partition, offset: int, record: Record | None) -> bool:
    chosen = broker.tracing.sampler(topic)
    context = None if record is None else context_in(record.headers)
    return chosen.has_offset(partition.id.partition, offset) if context is None else chosen.has_trace(context.trace_id)
