"""Queries of the spans in memory."""

import asyncio
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from goqueue.core.tracing import search
from goqueue.core.tracing.search import OperationFacts, TraceFacts, Wanted
from goqueue.engine.broker import Broker
from goqueue.errors import InvalidRequest, UnknownTrace
from goqueue.model.span import Span

__all__ = ["MOST_LISTED", "TracingFacts", "find_spans", "one_trace", "recent_traces", "tracing_facts"]

MOST_LISTED = 1000

T = TypeVar("T")


class TracingFacts(NamedTuple):
    """Tracing counters since the broker started, and a summary of the spans in memory."""

    enabled: bool
    rate: float
    ring: int
    """The capacity, in spans."""
    kept: int
    recorded: int
    sampled_out: int
    dropped: int
    oldest_ns: int | None
    operations: list[OperationFacts]


async def recent_traces(broker: Broker, limit: int = 100) -> list[TraceFacts]:
    """The traces with the latest activity, the newest first."""
    _check(limit)
    runs = tuple(broker.tracing.ring)
    return await _in_thread(broker, lambda: search.newest_traces(runs, limit))


async def one_trace(broker: Broker, trace_id: str) -> list[Span]:
    """The spans of a trace, in the order of time."""
    runs = tuple(broker.tracing.ring)
    found = await _in_thread(broker, lambda: search.spans_of_trace(runs, trace_id.lower()))
    if not found:
        raise UnknownTrace(f"no span of the trace {trace_id[:64]} is in memory")
    return found


async def find_spans(broker: Broker, wanted: Wanted, limit: int = 100) -> list[Span]:
    """Matching spans, the newest first."""
    _check(limit)
    runs = tuple(reversed(broker.tracing.ring))
    return await _in_thread(broker, lambda: search.find(runs, wanted, limit))


async def tracing_facts(broker: Broker) -> TracingFacts:
    tracing = broker.tracing
    runs = tuple(tracing.ring)
    return TracingFacts(
        tracing.is_on,
        tracing.settings.rate,
        tracing.ring.size,
        len(tracing.ring),
        tracing.recorded,
        tracing.sampled_out,
        tracing.dropped,
        runs[0].start_ns if runs else None,
        await _in_thread(broker, lambda: search.facts_of(runs)),
    )


def _check(limit: int) -> None:
    if not 1 <= limit <= MOST_LISTED:
        raise InvalidRequest(f"limit must be between 1 and {MOST_LISTED}, got {limit}", hint="narrow the search")


async def _in_thread(broker: Broker, work: Callable[[], T]) -> T:
    """Run in a thread: a large ring would block the event loop."""
    return await asyncio.get_running_loop().run_in_executor(broker.readers, work)
