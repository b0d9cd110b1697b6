"""The trace that a request belongs to: its records do as well, but for those that carry a context of their own."""

from collections.abc import Iterable
from contextvars import ContextVar

from goqueue.model.trace import TRACEPARENT, TRACESTATE, TraceHeaders, trace_headers

__all__ = ["NAMES", "Pairs", "read_trace", "trace_of_request"]

NAMES = (TRACEPARENT, TRACESTATE)
_NAMES = frozenset(name.encode() for name in NAMES)

Pairs = tuple[tuple[bytes, bytes], ...]

_HEADERS: ContextVar[TraceHeaders] = ContextVar("trace_headers", default=())


def read_trace(headers: Iterable[tuple[bytes, bytes]]) -> Pairs:
    """Note it for the records of this request; what of it the answer repeats."""
    found = trace_headers((name.decode("latin-1"), value) for name, value in headers if name in _NAMES)
    _HEADERS.set(found)
    return tuple((b"traceparent", value) for name, value in found if name == TRACEPARENT)


def trace_of_request() -> TraceHeaders:
    """Of the one that is being answered."""
    return _HEADERS.get()
