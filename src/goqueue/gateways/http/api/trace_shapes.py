"""Spans, traces and journeys as they stand in JSON."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from goqueue.core.tracing.search import OperationFacts, TraceFacts
from goqueue.engine.tracing.journey import Found, Journey
from goqueue.engine.tracing.queries import TracingFacts
from goqueue.engine.tracing.standing import GroupStand, GroupState
from goqueue.gateways.http.forms.times import instant_text
from goqueue.gateways.http.forms.values import FormName, Headers, header_map, shown
from goqueue.model.span import Operation, Span, SpanLink

__all__ = [
    "TRACE_PATTERN",
    "JourneyOut",
    "SpanOut",
    "Spans",
    "Stats",
    "Status",
    "TraceOut",
    "TraceSummary",
    "Traces",
    "journey_out",
    "span_out",
    "stats_out",
    "summary_out",
    "trace_out",
]

TRACE_PATTERN = r"^[0-9a-fA-F]{32}$"
Status = Literal["ok", "error"]
TraceId = Annotated[str, Meta(description="32 hexadecimal digits")]


class LinkOut(msgspec.Struct, frozen=True, kw_only=True):
    """Another span that one belongs with."""

    trace_id: TraceId
    span_id: str
    tracestate: str | UnsetType = UNSET


class SpanOut(msgspec.Struct, frozen=True, kw_only=True):
    """One operation on one record. What does not apply is left out; `offset` is, of what was refused."""

    trace_id: TraceId
    span_id: str
    parent_id: str | None
    """Null for the first span of a trace."""
    operation: Operation
    status: Status
    start: str
    end: str
    duration_ns: int
    topic: str | UnsetType = UNSET
    partition: int | UnsetType = UNSET
    offset: int | UnsetType = UNSET
    group: str | UnsetType = UNSET
    delivery: int | UnsetType = UNSET
    """Which delivery of the record to the group this belongs to, from 1 on."""
    member: str | UnsetType = UNSET
    error: str | UnsetType = UNSET
    """In words: the reason that a worker gave, say."""
    error_type: str | UnsetType = UNSET
    """A stable code: that of a refusal, or `nacked`, `lease_expired`, `rejected`, `failed_too_often`, `expired`,
    `aborted` or `transaction_timed_out`."""
    key: Any | UnsetType = UNSET
    key_format: FormName | UnsetType = UNSET
    id: str | UnsetType = UNSET
    target: str | UnsetType = UNSET
    """`topic/partition/offset` that the record went to."""
    transaction: int | UnsetType = UNSET
    tracestate: str | UnsetType = UNSET
    """That the record carries."""
    links: list[LinkOut] | UnsetType = UNSET
    """To where a record was created, and to its transaction."""


class Spans(msgspec.Struct, frozen=True):
    """The newest first."""

    spans: list[SpanOut]


class TraceOut(msgspec.Struct, frozen=True, kw_only=True):
    """The spans of one trace that are in memory, in the order in which they began."""

    trace_id: TraceId
    status: Status
    start: str
    end: str
    duration_ns: int
    spans: list[SpanOut]


class TraceSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A trace at a glance: how many spans, and how it began."""

    trace_id: TraceId
    status: Status
    start: str
    end: str
    duration_ns: int
    spans: int
    errors: int
    operations: list[Operation]
    first: SpanOut


class Traces(msgspec.Struct, frozen=True):
    """The newest first."""

    traces: list[TraceSummary]


class OperationStats(msgspec.Struct, frozen=True, kw_only=True):
    """How often one operation was traced, and how long it takes."""

    operation: Operation
    spans: int
    errors: int
    p50_ns: int
    p99_ns: int


class Stats(msgspec.Struct, frozen=True, kw_only=True):
    """Counts are since the broker started; operations are those of the spans in memory."""

    enabled: bool
    rate: float
    capacity: int
    spans_in_memory: int
    spans_recorded: int
    spans_sampled_out: int
    spans_dropped: int
    oldest: str | None
    operations: list[OperationStats]


class GroupOut(msgspec.Struct, frozen=True, kw_only=True):
    """Where the record stands in a group; `until` is when a lease or a pause ends."""

    group: str
    state: GroupState
    deliveries: int
    failures: int
    last_failure: str | UnsetType = UNSET
    until: str | UnsetType = UNSET
    member: str | UnsetType = UNSET
    dead_letter: str | UnsetType = UNSET
    """`topic/partition/offset` of the letter."""


class JourneyOut(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that is known of one record. Of one that is gone the log knows nothing: its fields are left out."""

    topic: str
    partition: int
    offset: int
    trace_id: TraceId
    found: Found
    published: str | UnsetType = UNSET
    size: int | UnsetType = UNSET
    key: Any | UnsetType = UNSET
    key_format: FormName | UnsetType = UNSET
    headers: Headers | UnsetType = UNSET
    priority: int | UnsetType = UNSET
    delay: Literal["pending", "delivered", "cancelled", "expired"] | UnsetType = UNSET
    delayed_until: str | UnsetType = UNSET
    expires: str | UnsetType = UNSET
    expired: bool | UnsetType = UNSET
    transaction: Literal["open", "aborted"] | UnsetType = UNSET
    groups: list[GroupOut]
    traced: bool
    """Whether such records have spans at all, besides those of failures."""
    spans: list[SpanOut]


def span_out(span: Span) -> SpanOut:
    run = span.run
    key, key_format = (UNSET, UNSET) if run.key is None else shown(run.key, None)
    is_record = run.operation is not Operation.TRANSACTION
    return SpanOut(
        trace_id=span.trace_id,
        span_id=span.span_id,
        parent_id=span.parent_id or None,
        operation=run.operation,
        status=_status(run.error),
        start=instant_text(run.start_ns),
        end=instant_text(run.end_ns),
        duration_ns=max(0, run.end_ns - run.start_ns),
        topic=run.topic if is_record else UNSET,
        partition=run.partition if is_record else UNSET,
        offset=span.offset if is_record and span.offset >= 0 else UNSET,
        group=run.group or UNSET,
        delivery=run.delivery or UNSET,
        member=run.member or UNSET,
        error=run.error or UNSET,
        error_type=run.error_type or UNSET,
        key=key,
        key_format=key_format,
        id=run.id or UNSET,
        target=run.target or UNSET,
        transaction=run.transaction or UNSET,
        tracestate=span.tracestate or UNSET,
        links=[_link(link) for link in span.links] or UNSET,
    )


def _link(link: SpanLink) -> LinkOut:
    return LinkOut(trace_id=link.trace_id, span_id=link.span_id, tracestate=link.tracestate or UNSET)


def trace_out(spans: list[Span]) -> TraceOut:
    """Of at least one."""
    start, end = spans[0].run.start_ns, max(span.run.end_ns for span in spans)
    return TraceOut(
        trace_id=spans[0].trace_id,
        status=_status(any(span.run.error for span in spans)),
        start=instant_text(start),
        end=instant_text(end),
        duration_ns=max(0, end - start),
        spans=[span_out(span) for span in spans],
    )


def summary_out(facts: TraceFacts) -> TraceSummary:
    return TraceSummary(
        trace_id=facts.trace_id,
        status=_status(facts.errors),
        start=instant_text(facts.start_ns),
        end=instant_text(facts.end_ns),
        duration_ns=max(0, facts.end_ns - facts.start_ns),
        spans=facts.spans,
        errors=facts.errors,
        operations=list(facts.operations),
        first=span_out(facts.first),
    )


def stats_out(facts: TracingFacts) -> Stats:
    return Stats(
        enabled=facts.enabled,
        rate=facts.rate,
        capacity=facts.ring,
        spans_in_memory=facts.kept,
        spans_recorded=facts.recorded,
        spans_sampled_out=facts.sampled_out,
        spans_dropped=facts.dropped,
        oldest=None if facts.oldest_ns is None else instant_text(facts.oldest_ns),
        operations=[_operation(one) for one in facts.operations],
    )


def _operation(facts: OperationFacts) -> OperationStats:
    return OperationStats(
        operation=facts.operation,
        spans=facts.spans,
        errors=facts.errors,
        p50_ns=facts.p50_ns,
        p99_ns=facts.p99_ns,
    )


def journey_out(found: Journey) -> JourneyOut:
    record = found.record
    key, key_format = (UNSET, UNSET) if record is None or record.key is None else shown(record.key, None)
    return JourneyOut(
        topic=found.topic,
        partition=found.partition,
        offset=found.offset,
        trace_id=found.trace_id,
        found=found.found,
        published=UNSET if record is None else instant_text(record.timestamp_ns),
        size=UNSET if record is None else found.size,
        key=key,
        key_format=key_format,
        headers=UNSET if record is None else header_map(record.headers),
        priority=UNSET if record is None else record.priority,
        delay=UNSET if found.delay is None else found.delay.value,
        delayed_until=UNSET if found.delayed_until_ns is None else instant_text(found.delayed_until_ns),
        expires=UNSET if found.expires_ns is None else instant_text(found.expires_ns),
        expired=UNSET if found.expires_ns is None else found.is_expired,
        transaction=UNSET if found.transaction == "none" else found.transaction,
        groups=[_group(stand) for stand in found.groups],
        traced=found.is_traced,
        spans=[span_out(span) for span in found.spans],
    )


def _group(stand: GroupStand) -> GroupOut:
    return GroupOut(
        group=stand.group,
        state=stand.state,
        deliveries=stand.deliveries,
        failures=stand.failures,
        last_failure=stand.last_failure or UNSET,
        until=UNSET if stand.until_ns is None else instant_text(stand.until_ns),
        member=stand.member or UNSET,
        dead_letter=stand.dead_letter or UNSET,
    )


def _status(error: object) -> Status:
    return "error" if error else "ok"
