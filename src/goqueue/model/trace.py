"""Trace context: names of traces and spans, as in W3C Trace Context.

A record with a `traceparent` belongs to that trace. Every other record has a trace of its own, whose id is derived from
the record's position in the log: nothing has to be stored to find it again.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple

__all__ = [
    "LONGEST_STATE",
    "SAMPLED",
    "TRACEPARENT",
    "TRACESTATE",
    "Birth",
    "TraceContext",
    "TraceHeaders",
    "born_at",
    "child_of",
    "in_trace",
    "parse_traceparent",
    "parse_tracestate",
    "trace_headers",
]

TRACEPARENT = "traceparent"
TRACESTATE = "tracestate"
SAMPLED = 1
LONGEST_STATE = 512
"""Maximum length in bytes that the standard asks to propagate; a longer one is dropped."""
MOST_MEMBERS = 32

TraceHeaders = tuple[tuple[str, bytes], ...]
"""Trace headers of a record, or of a request for its records that carry no trace of their own."""

_FORM = re.compile(rb"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.DOTALL)
_NO_TRACE, _NO_SPAN = "0" * 32, "0" * 16
_MEMBER = re.compile(rb"[a-z0-9][a-z0-9_*/@-]{0,255}=[ -+\--<>-~]{0,255}[!-+\--<>-~]")


class TraceContext(NamedTuple):
    """Position in a trace, in hexadecimal."""

    trace_id: str
    span_id: str
    flags: int = SAMPLED
    state: str = ""
    """The `tracestate`, data that tracing systems keep beside the context; empty for none."""

    @property
    def traceparent(self) -> bytes:
        return b"00-%s-%s-%02x" % (self.trace_id.encode(), self.span_id.encode(), self.flags)


class Birth(NamedTuple):
    """The permanent identity of a record: a topic that is deleted and created again has another `created_ns`."""

    topic: str
    created_ns: int
    partition: int
    offset: int


def born_at(birth: Birth) -> TraceContext:
    """The trace of a record that carries none, and the span in which it was published.

    Spark derives the same ids from the same text, see `goqueue.spark.pipelines.spans`.
    """
    digest = sha256(f"{birth.topic}\n{birth.created_ns}\n{birth.partition}\n{birth.offset}".encode()).hexdigest()
    return TraceContext(digest[:32], digest[32:48])


def child_of(parent: TraceContext, what: str) -> TraceContext:
    """A child span. `what` names it among its siblings: the same text always gives the same span."""
    digest = sha256(f"{parent.trace_id}\n{parent.span_id}\n{what}".encode()).hexdigest()
    return TraceContext(parent.trace_id, digest[:16], parent.flags, parent.state)


def parse_traceparent(value: bytes) -> TraceContext | None:
    """The parsed header; None for a value that the standard says to ignore."""
    found = _FORM.fullmatch(value)
    if found is None or found[1] == b"ff" or (found[1] == b"00" and found[5] is not None):
        return None
    trace_id, span_id = found[2].decode(), found[3].decode()
    return None if trace_id == _NO_TRACE or span_id == _NO_SPAN else TraceContext(trace_id, span_id, int(found[4], 16))


@lru_cache(maxsize=1024)
def parse_tracestate(value: bytes) -> str:
    """The list of a `tracestate`; empty for one that the standard says to discard. Cached: many records share one."""
    members = [member.strip(b" \t") for member in value.split(b",")]
    named = [member for member in members if member]
    is_list = len(value) <= LONGEST_STATE and len(named) <= MOST_MEMBERS and all(map(_MEMBER.fullmatch, named))
    return b",".join(named).decode() if is_list else ""


def trace_headers(given: Iterable[tuple[str, bytes]]) -> TraceHeaders:
    """The trace headers of a request, as headers for its records; none when the context is invalid.

    A `tracestate` may be split over several headers, which form one list.
    """
    parent, states = b"", []
    for name, value in given:
        if name == TRACEPARENT:
            parent = value.strip()
        elif name == TRACESTATE:
            states.append(value.strip())
    if parse_traceparent(parent) is None:
        # Without a valid `traceparent`, the state has no meaning.
        return ()
    own, state = ((TRACEPARENT, parent),), b",".join(states)
    return (*own, (TRACESTATE, state)) if 0 < len(state) <= LONGEST_STATE else own


def in_trace(headers: TraceHeaders, trace: TraceHeaders) -> TraceHeaders:
    """Headers of a record in the trace of its request, unless the record carries a context of its own."""
    if not trace or any(name.lower() == TRACEPARENT for name, _ in headers):
        return headers
    return (*(one for one in headers if one[0].lower() != TRACESTATE), *trace)
