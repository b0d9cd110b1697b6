"""Names of traces and spans, as W3C Trace Context has them.

A record that carries a `traceparent` belongs to that trace. Every other record has a trace of its own, whose name
follows from where the record is: whoever knows the place knows the trace, and nothing has to be kept or written.
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
"""Bytes, which the standard asks to be passed on; a longer one is left behind."""
MOST_MEMBERS = 32

TraceHeaders = tuple[tuple[str, bytes], ...]
"""Of a record, or for records that carry no trace of their own."""

_FORM = re.compile(rb"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.DOTALL)
_NO_TRACE, _NO_SPAN = "0" * 32, "0" * 16
_MEMBER = re.compile(rb"[a-z0-9][a-z0-9_*/@-]{0,255}=[ -+\--<>-~]{0,255}[!-+\--<>-~]")


class TraceContext(NamedTuple):
    """Where in which trace something happened, in hexadecimal."""

    trace_id: str
    span_id: str
    flags: int = SAMPLED
    state: str = ""
    """Its `tracestate`: what tracing systems keep beside it; empty for none."""

    @property
    def traceparent(self) -> bytes:
        return b"00-%s-%s-%02x" % (self.trace_id.encode(), self.span_id.encode(), self.flags)


class Birth(NamedTuple):
    """What names a record for ever: a topic that is deleted and made anew has another `created_ns`."""

    topic: str
    created_ns: int
    partition: int
    offset: int


def born_at(birth: Birth) -> TraceContext:
    """The trace of a record that carries none, and the span in which it was published.

    Spark makes the same of the same words, see `goqueue.spark.pipelines.spans`.
    """
    digest = sha256(f"{birth.topic}\n{birth.created_ns}\n{birth.partition}\n{birth.offset}".encode()).hexdigest()
    return TraceContext(digest[:32], digest[32:48])


def child_of(parent: TraceContext, what: str) -> TraceContext:
    """A span below another one. `what` names it among its siblings: the same words always give the same span."""
    digest = sha256(f"{parent.trace_id}\n{parent.span_id}\n{what}".encode()).hexdigest()
    return TraceContext(parent.trace_id, digest[:16], parent.flags, parent.state)


def parse_traceparent(value: bytes) -> TraceContext | None:
    """None for anything that the standard says to disregard."""
    found = _FORM.fullmatch(value)
    if found is None or found[1] == b"ff" or (found[1] == b"00" and found[5] is not None):
        return None
    trace_id, span_id = found[2].decode(), found[3].decode()
    return None if trace_id == _NO_TRACE or span_id == _NO_SPAN else TraceContext(trace_id, span_id, int(found[4], 16))


@lru_cache(maxsize=1024)
def parse_tracestate(value: bytes) -> str:
    """The list of a `tracestate`; empty for one that the standard says to discard. Many records have the same."""
    members = [member.strip(b" \t") for member in value.split(b",")]
    named = [member for member in members if member]
    is_list = len(value) <= LONGEST_STATE and len(named) <= MOST_MEMBERS and all(map(_MEMBER.fullmatch, named))
    return b",".join(named).decode() if is_list else ""


def trace_headers(given: Iterable[tuple[str, bytes]]) -> TraceHeaders:
    """What the headers of a request say of its trace, as headers for its records; none when that counts for nothing.

    A `tracestate` may come in parts, which are one list.
    """
    parent, states = b"", []
    for name, value in given:
        if name == TRACEPARENT:
            parent = value.strip()
        elif name == TRACESTATE:
            states.append(value.strip())
    if parse_traceparent(parent) is None:
        # Then the state has no meaning either.
        return ()
    own, state = ((TRACEPARENT, parent),), b",".join(states)
    return (*own, (TRACESTATE, state)) if 0 < len(state) <= LONGEST_STATE else own


def in_trace(headers: TraceHeaders, trace: TraceHeaders) -> TraceHeaders:
    """Headers of a record that is in the trace of its request, unless it carries a context already."""
    if not trace or any(name.lower() == TRACEPARENT for name, _ in headers):
        return headers
    return (*(one for one in headers if one[0].lower() != TRACESTATE), *trace)
