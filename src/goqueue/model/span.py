"""Spans: one operation on records, with its time and its outcome.

A run of records with the same operation at the same time is one value, so a batch of ten thousand costs as much as a
single record. A separate span for each record is made only when one is requested.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

import msgspec

from goqueue.model.contexts import NO_CONTEXTS, PackedContexts
from goqueue.model.trace import Birth, TraceContext, born_at, child_of

__all__ = ["ErrorType", "Operation", "Span", "SpanLink", "SpanRun", "spans_of"]


class Operation(StrEnum):
    """Names of spans."""

    PUBLISH = "publish"
    CONSUME = "consume"
    ACK = "ack"
    NACK = "nack"
    REJECT = "reject"
    DELAY = "delay"
    EXPIRE = "expire"
    DLQ = "dlq"
    REDRIVE = "redrive"
    TRANSACTION = "transaction"


class ErrorType(StrEnum):
    """Error codes besides those of `goqueue.errors`: a small fixed set, independent of the reasons workers give."""

    NACKED = "nacked"
    LEASE_EXPIRED = "lease_expired"
    REJECTED = "rejected"
    FAILED_TOO_OFTEN = "failed_too_often"
    EXPIRED = "expired"
    ABORTED = "aborted"
    TRANSACTION_TIMED_OUT = "transaction_timed_out"


class SpanRun(msgspec.Struct, frozen=True):
    """One operation on `count` records from `offset` on.

    A span of a transaction belongs to no record: its topic is empty, and `transaction` is the number.
    """

    operation: Operation
    start_ns: int
    end_ns: int
    topic: str = ""
    created_ns: int = 0
    """Creation time of the topic."""
    partition: int = 0
    offset: int = 0
    """Negative for a refused record, which has no offset: the number only tells refusals apart."""
    count: int = 1
    group: str = ""
    delivery: int = 0
    """Number of the delivery to the group, from 1 on; 0 for an operation outside a delivery."""
    error: str = ""
    """Error code of a refusal, or the reason of a nack, reject or dead letter in words; empty on success."""
    member: str = ""
    key: bytes | None = None
    id: str = ""
    """Business id of the record; set, like the key, only for runs of one record whose id was already loaded."""
    context: TraceContext | None = None
    """Trace context of the record; a run with one has one record."""
    target: str = ""
    """`topic/partition/offset` of the copy, for dead letters and redrives."""
    transaction: int = 0
    step: int = 1
    """Distance between offsets: records sampled by offset may be every hundredth, for example."""
    contexts: PackedContexts = NO_CONTEXTS
    """Trace contexts of several records, which then need not be equally spaced."""
    error_type: str = ""
    """Error code of a refusal, or an `ErrorType`; empty on success."""

    @property
    def offsets(self) -> Sequence[int]:
        if self.contexts:
            return [self.offset + distance for distance, _ in self.contexts]
        return range(self.offset, self.offset + self.count * self.step, self.step)

    def has(self, offset: int) -> bool:
        if not self.contexts:
            return offset in self.offsets
        return self.contexts.at(offset - self.offset) is not None

    def at(self, offset: int) -> "SpanRun":
        """The run reduced to this record."""
        if self.count == 1:
            return self
        context = self.contexts.at(offset - self.offset) if self.contexts else None
        return msgspec.structs.replace(self, offset=offset, count=1, step=1, context=context, contexts=NO_CONTEXTS)

    def last(self, count: int) -> "SpanRun":
        """The run reduced to its last records."""
        if count >= self.count:
            return self
        if not self.contexts:
            return msgspec.structs.replace(self, offset=self.offsets[-count], count=count)
        distance, contexts = self.contexts.last(count)
        return msgspec.structs.replace(self, offset=self.offset + distance, count=count, contexts=contexts)


class SpanLink(NamedTuple):
    """Another span that this one relates to; `is_remote` marks a span that the broker did not make."""

    trace_id: str
    span_id: str
    tracestate: str = ""
    is_remote: bool = False


class Span(msgspec.Struct, frozen=True):
    """One operation on one record."""

    trace_id: str
    span_id: str
    parent_id: str
    """Empty for the first span of a trace."""
    offset: int
    run: SpanRun
    """All other fields."""
    tracestate: str = ""
    """`tracestate` of the record."""
    links: tuple[SpanLink, ...] = ()
    """Of a delivery, and of the publish of a record with a context: a link to the creation of the record, which is the
    sender's span or else the publish span. Of a part of a transaction: also a link to the span of the transaction.
    """


def spans_of(run: SpanRun) -> list[Span]:
    """One span for each record, in offset order."""
    if run.contexts:
        return [_span(run, run.offset + distance, context) for distance, context in run.contexts]
    return [_span(run, offset, run.context) for offset in run.offsets]


def _span(run: SpanRun, offset: int, context: TraceContext | None) -> Span:
    if run.operation is Operation.TRANSACTION:
        own = born_at(Birth("", run.created_ns, 0, run.transaction))
        return Span(own.trace_id, own.span_id, "", offset, run)
    birth = born_at(Birth(run.topic, run.created_ns, run.partition, offset))
    # A record that carries a context was published in that trace, below the span of its sender.
    published = birth if context is None else child_of(context, birth.span_id)
    links = _links(run, birth, context)
    if run.operation is Operation.PUBLISH:
        sender = "" if context is None else context.span_id
        return Span(published.trace_id, published.span_id, sender, offset, run, published.state, links)
    parent = published
    if run.delivery and run.operation is not Operation.CONSUME:
        parent = child_of(published, f"{Operation.CONSUME} {run.group} {run.delivery}")
    words = f"{run.operation} {run.group} {run.delivery}" if run.group else str(run.operation)
    own = child_of(parent if run.operation is not Operation.CONSUME else published, words)
    return Span(own.trace_id, own.span_id, parent.span_id, offset, run, own.state, links)


def _links(run: SpanRun, birth: TraceContext, context: TraceContext | None) -> tuple[SpanLink, ...]:
    links: tuple[SpanLink, ...] = ()
    if context is not None and run.operation in (Operation.PUBLISH, Operation.CONSUME):
        links = (SpanLink(context.trace_id, context.span_id, context.state, is_remote=True),)
    elif run.operation is Operation.CONSUME:
        links = (SpanLink(birth.trace_id, birth.span_id),)
    if run.transaction:
        whole = born_at(Birth("", 0, 0, run.transaction))
        links = (*links, SpanLink(whole.trace_id, whole.span_id))
    return links
