"""Names of traces and spans, as W3C Trace Context has them.

A record that carries a `traceparent` belongs to that trace. Every other record has a trace of its own, whose name
follows from where the record is: whoever knows the place knows the trace, and nothing has to be kept or written.
"""

import re
from hashlib import sha256
from typing import NamedTuple

__all__ = ["SAMPLED", "TRACEPARENT", "TRACESTATE", "Birth", "TraceContext", "born_at", "child_of", "parse_traceparent"]

TRACEPARENT = "traceparent"
TRACESTATE = "tracestate"
SAMPLED = 1

_FORM = re.compile(rb"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?", re.DOTALL)
_NO_TRACE, _NO_SPAN = "0" * 32, "0" * 16


class TraceContext(NamedTuple):
    """Where in which trace something happened, in hexadecimal."""

    trace_id: str
    span_id: str
    flags: int = SAMPLED

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
    return TraceContext(parent.trace_id, digest[:16], parent.flags)


def parse_traceparent(value: bytes) -> TraceContext | None:
    """None for anything that the standard says to disregard."""
    found = _FORM.fullmatch(value)
    if found is None or found[1] == b"ff" or (found[1] == b"00" and found[5] is not None):
        return None
    trace_id, span_id = found[2].decode(), found[3].decode()
    return None if trace_id == _NO_TRACE or span_id == _NO_SPAN else TraceContext(trace_id, span_id, int(found[4], 16))
