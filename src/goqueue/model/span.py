"""What happened to records, when, and how it ended.

A run of records to which the same happened at the same time is one value: a batch of ten thousand costs what a single
record costs. Each record of it still has a span of its own, which is made when somebody looks.
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
    """Codes of what went wrong, besides those of refusals (`goqueue.errors`): few, whatever workers say."""

    NACKED = "nacked"
    LEASE_EXPIRED = "lease_expired"
    REJECTED = "rejected"
    FAILED_TOO_OFTEN = "failed_too_often"
    EXPIRED = "expired"
    ABORTED = "aborted"
    TRANSACTION_TIMED_OUT = "transaction_timed_out"


class SpanRun(msgspec.Struct, frozen=True):
    """One operation on `count` records from `offset` on.

    For a transaction, which is no record's, topic is empty, and `transaction` is its number.
    """

    operation: Operation
    start_ns: int
    end_ns: int
    topic: str = ""
    created_ns: int = 0
    """Of the topic."""
    partition: int = 0
    offset: int = 0
    """Negative for what was refused, and so has none: such a number only keeps refusals apart."""
    count: int = 1
    group: str = ""
    delivery: int = 0
    """Which delivery of the record to the group this belongs to, from 1 on; 0 for what belongs to none."""
    error: str = ""
    """Code of a refusal, or the reason of a nack, a reject or a dead letter in words; empty when all went well."""
    member: str = ""
    key: bytes | None = None
    id: str = ""
    """Business id of the record; this and the key only for runs of one record, where they were at hand."""
    context: TraceContext | None = None
    """What the record carries; a run with one has one record."""
    target: str = ""
    """`topic/partition/offset` that the record went to, for dead letters and redrives."""
    transaction: int = 0
    step: int = 1
    """How far apart the offsets lie: of records that are traced by their offsets, each hundredth, say, is."""
    contexts: PackedContexts = NO_CONTEXTS
    """What each of several records carries, which then need not lie equally far apart."""
    error_type: str = ""
    """Code of a refusal, or a `ErrorType`; empty when all went well."""

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
        """Of this record only."""
        if self.count == 1:
            return self
        context = self.contexts.at(offset - self.offset) if self.contexts else None
        return msgspec.structs.replace(self, offset=offset, count=1, step=1, context=context, contexts=NO_CONTEXTS)

    def last(self, count: int) -> "SpanRun":
        """Of its last records only."""
        if count >= self.count:
            return self
        if not self.contexts:
            return msgspec.structs.replace(self, offset=self.offsets[-count], count=count)
        distance, contexts = self.contexts.last(count)
        return msgspec.structs.replace(self, offset=self.offset + distance, count=count, contexts=contexts)


class SpanLink(NamedTuple):
    """Another span that one belongs with; `is_remote` is one that the broker did not make."""

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
    """Everything else."""
    tracestate: str = ""
    """What the record carries."""
    links: tuple[SpanLink, ...] = ()
    """Of a delivery, and of the publish of a record with a context: where the record was created, that is the span of
    its sender, or else its publish span. Of a part of a transaction, also the span of that."""


def spans_of(run: SpanRun) -> list[Span]:
    """One for each record, in the order of their offsets."""
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
