"""Search of spans: by trace, by common properties, and statistics over them."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

import msgspec

from goqueue.model.span import Operation, Span, SpanRun, spans_of
from goqueue.model.trace import Birth, born_at

__all__ = [
    "OperationFacts",
    "TraceFacts",
    "Wanted",
    "facts_of",
    "find",
    "newest_traces",
    "order",
    "spans_at",
    "spans_of_trace",
]

REMEMBERED_NAMES = 20_000
_IS_HEX = re.compile("(?:[0-9a-f]{2})*").fullmatch

ORDER = {
    operation: number
    for number, operation in enumerate(
        (
            Operation.TRANSACTION,
            Operation.PUBLISH,
            Operation.DELAY,
            Operation.EXPIRE,
            Operation.CONSUME,
            Operation.ACK,
            Operation.NACK,
            Operation.REJECT,
            Operation.DLQ,
            Operation.REDRIVE,
        )
    )
}
"""Order of operations on a record, in case the timestamps are equal."""


class Wanted(msgspec.Struct, frozen=True):
    """Conditions on spans; None matches anything. Of the time bounds, the first is included and the second is not."""

    topic: str | None = None
    partition: int | None = None
    group: str | None = None
    start_ns: int | None = None
    end_ns: int | None = None
    is_error: bool | None = None
    key: bytes | None = None
    id: str | None = None
    operation: Operation | None = None

    def takes(self, run: SpanRun) -> bool:
        return (
            self.topic in (None, run.topic)
            and self.partition in (None, run.partition)
            and self.group in (None, run.group)
            and (self.start_ns is None or run.start_ns >= self.start_ns)
            and (self.end_ns is None or run.start_ns < self.end_ns)
            and self.is_error in (None, bool(run.error))
            and self.key in (None, run.key)
            and self.id in (None, run.id)
            and self.operation in (None, run.operation)
        )


class TraceFacts(NamedTuple):
    """Summary of a trace."""

    trace_id: str
    start_ns: int
    end_ns: int
    spans: int
    errors: int
    first: Span
    operations: tuple[Operation, ...]


class OperationFacts(NamedTuple):
    """Statistics of one operation, with the median and the 99th percentile of its duration."""

    operation: Operation
    spans: int
    errors: int
    p50_ns: int
    p99_ns: int


def find(runs: Iterable[SpanRun], wanted: Wanted, limit: int) -> list[Span]:
    """At most `limit` spans, in the order of the runs; of a run, the last record first."""
    found: list[Span] = []
    for run in runs:
        if len(found) >= limit:
            break
        if wanted.takes(run):
            found += spans_of(run.last(limit - len(found)))[::-1]
    return found


def spans_of_trace(runs: Iterable[SpanRun], trace_id: str) -> list[Span]:
    """The spans of a trace in chronological order."""
    # Most runs of many contexts can be skipped by a search in their bytes.
    packed = bytes.fromhex(trace_id) if _IS_HEX(trace_id) else b""
    return order(
        span for run in runs if not run.contexts or packed in run.contexts.entries for span in _in_trace(run, trace_id)
    )


def _in_trace(run: SpanRun, trace_id: str) -> Iterator[Span]:
    if run.context is not None:
        if run.context.trace_id == trace_id:
            yield from spans_of(run)
        return
    for offset, own in _names(run):
        if own == trace_id:
            yield from spans_of(run.at(offset))


def spans_at(runs: Iterable[SpanRun], topic: str, created_ns: int, partition: int, offset: int) -> list[Span]:
    """The spans of one record."""
    there = (topic, created_ns, partition)
    found = (run.at(offset) for run in runs if (run.topic, run.created_ns, run.partition) == there and run.has(offset))
    return order(span for run in found if run.operation is not Operation.TRANSACTION for span in spans_of(run))


def order(spans: Iterable[Span]) -> list[Span]:
    return sorted(spans, key=lambda span: (span.run.start_ns, ORDER[span.run.operation], span.run.end_ns))


def newest_traces(runs: Iterable[SpanRun], limit: int) -> list[TraceFacts]:
    """Traces of runs given in the order in which they were noted; the newest trace first."""
    traces: dict[str, list[tuple[SpanRun, int]]] = {}
    for run in runs:
        for offset, name in _names(run):
            # Moved to the end by its latest span.
            known = traces.pop(name, [])
            known.append((run, offset))
            traces[name] = known
    newest = list(traces)[-limit:][::-1]
    return [_trace_facts(name, traces[name]) for name in newest]


def _trace_facts(name: str, parts: list[tuple[SpanRun, int]]) -> TraceFacts:
    parts.sort(key=lambda part: (part[0].start_ns, ORDER[part[0].operation]))
    run, offset = parts[0]
    return TraceFacts(
        name,
        run.start_ns,
        max(one.end_ns for one, _ in parts),
        len(parts),
        sum(1 for one, _ in parts if one.error),
        spans_of(run.at(offset))[0],
        tuple(one.operation for one, _ in parts),
    )


def _names(run: SpanRun) -> Iterator[tuple[int, str]]:
    """Offset and trace of each record."""
    if run.context is not None:
        yield run.offset, run.context.trace_id
    elif run.contexts:
        for distance, context in run.contexts:
            yield run.offset + distance, context.trace_id
    elif run.operation is Operation.TRANSACTION:
        yield run.offset, _trace_id("", run.created_ns, 0, run.transaction)
    else:
        for offset in run.offsets:
            yield offset, _trace_id(run.topic, run.created_ns, run.partition, offset)


@lru_cache(maxsize=REMEMBERED_NAMES)
def _trace_id(topic: str, created_ns: int, partition: int, offset: int) -> str:
    return born_at(Birth(topic, created_ns, partition, offset)).trace_id


def facts_of(runs: Iterable[SpanRun]) -> list[OperationFacts]:
    """Statistics for each operation that occurred, by name."""
    by_operation: dict[Operation, list[SpanRun]] = {}
    for run in runs:
        by_operation.setdefault(run.operation, []).append(run)
    return [_operation_facts(operation, by_operation[operation]) for operation in sorted(by_operation)]


def _operation_facts(operation: Operation, runs: list[SpanRun]) -> OperationFacts:
    spans = sum(run.count for run in runs)
    took = sorted((max(0, run.end_ns - run.start_ns), run.count) for run in runs)
    errors = sum(run.count for run in runs if run.error)
    return OperationFacts(operation, spans, errors, _at_rank(took, spans, 50), _at_rank(took, spans, 99))


def _at_rank(took: list[tuple[int, int]], spans: int, percent: int) -> int:
    """The smallest duration that this percentage of all did not exceed."""
    rank = -(-spans * percent // 100)
    for duration, count in took:
        rank -= count
        if rank <= 0:
            return duration
    return 0
