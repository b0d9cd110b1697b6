"""Dead-letter spans: records that become dead letters or are redriven; letters stay in the trace of their record."""

from collections.abc import Sequence

import msgspec

from goqueue.core.tracing.places import Place
from goqueue.engine.broker import Broker
from goqueue.engine.queue.states import QueueState
from goqueue.engine.tracing.choosing import place_of
from goqueue.engine.tracing.publishing import note_appended
from goqueue.engine.tracing.runs import runs_for
from goqueue.errors import UnknownTopic
from goqueue.model.log import LogId
from goqueue.model.record import Record
from goqueue.model.span import ErrorType, Operation, spans_of
from goqueue.model.topic import TopicName
from goqueue.model.trace import SAMPLED, TRACEPARENT, TRACESTATE, TraceContext

__all__ = ["note_dead", "note_expired", "note_redriven", "with_trace"]


def with_trace(
    broker: Broker, state: QueueState, record: Record, delivery: int, headers: tuple[tuple[str, bytes], ...]
) -> tuple[tuple[str, bytes], ...]:
    """The headers of a letter: its trace context is the dead-letter span, in the trace of its record."""
    if not broker.tracing.is_on:
        return headers
    place = place_of(record, delivery=delivery)
    topic = broker.catalog.topic(TopicName(state.log.topic))
    (run,) = runs_for(topic, state.log.partition, (place,), Operation.DLQ, 0, 0, group=state.group)
    (span,) = spans_of(run)
    flags = SAMPLED if place.context is None else place.context.flags
    context = TraceContext(span.trace_id, span.span_id, flags)
    # The state of a trace that the record does not carry means nothing.
    replaced = (TRACEPARENT, TRACESTATE) if place.context is None else (TRACEPARENT,)
    return (*(one for one in headers if one[0] not in replaced), (TRACEPARENT, context.traceparent))


def note_dead(
    broker: Broker,
    state: QueueState,
    dead: Sequence[Place],
    letters: Sequence[Record],
    target: LogId,
    base_offset: int,
    reason: str,
    error_type: ErrorType,
    start_ns: int,
    transaction: int = 0,
) -> None:
    """Note dead letters: `letters` are the copies of `dead`, in the same order, at `target` from `base_offset` on."""
    try:
        topic = broker.catalog.topic(TopicName(state.log.topic))
    except UnknownTopic:
        return
    end_ns = broker.clock.now_ns()
    runs = runs_for(
        topic,
        state.log.partition,
        dead,
        Operation.DLQ,
        start_ns,
        end_ns,
        group=state.group,
        error=reason,
        error_type=error_type,
        transaction=transaction,
    )
    broker.tracing.note_all(
        [msgspec.structs.replace(run, target=f"{target}/{offset}") for offset, run in enumerate(runs, base_offset)]
    )
    note_appended(broker, target, base_offset, letters, start_ns, transaction)


def note_expired(broker: Broker, state: QueueState, expired: Sequence[Place], now: int) -> None:
    """Note records that expired before they were delivered."""
    try:
        topic = broker.catalog.topic(TopicName(state.log.topic))
    except UnknownTopic:
        return
    error = ErrorType.EXPIRED
    runs = runs_for(
        *(topic, state.log.partition, expired, Operation.EXPIRE, now, now),
        group=state.group,
        error=error,
        error_type=error,
    )
    broker.tracing.note_all(runs)


def note_redriven(
    broker: Broker,
    source: LogId,
    letters: Sequence[Record],
    records: Sequence[Record],
    target: LogId,
    base_offset: int,
    start_ns: int,
) -> None:
    """Note redriven letters: `records` are their copies, in the same order, at `target` from `base_offset` on."""
    try:
        topic = broker.catalog.topic(TopicName(source.topic))
    except UnknownTopic:
        return
    end_ns = broker.clock.now_ns()
    places = [place_of(letter) for letter in letters]
    runs = runs_for(topic, source.partition, places, Operation.REDRIVE, start_ns, end_ns)
    broker.tracing.note_all(
        [msgspec.structs.replace(run, target=f"{target}/{offset}") for offset, run in enumerate(runs, base_offset)]
    )
    note_appended(broker, target, base_offset, records, start_ns)
