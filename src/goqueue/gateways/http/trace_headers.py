"""The trace that a request belongs to: its records do as well, but for those that carry a context of their own."""

from collections.abc import Iterable
from contextvars import ContextVar

import msgspec

from goqueue.model.record import Record
from goqueue.model.trace import TRACEPARENT, TRACESTATE, parse_traceparent

__all__ = ["NAMES", "Pairs", "in_trace", "read_trace"]

NAMES = (TRACEPARENT, TRACESTATE)
LONGEST_STATE = 512
"""What the standard asks to be passed on; a longer one is left behind."""

Pairs = tuple[tuple[bytes, bytes], ...]

_HEADERS: ContextVar[tuple[tuple[str, bytes], ...]] = ContextVar("trace_headers", default=())


def read_trace(headers: Iterable[tuple[bytes, bytes]]) -> Pairs:
    """Note it for the records of this request; what of it the answer repeats."""
    given = {name: value for name, value in headers if name in (b"traceparent", b"tracestate")}
    parent = given.get(b"traceparent", b"").strip()
    if parse_traceparent(parent) is None:
        # Then the state has no meaning either.
        _HEADERS.set(())
        return ()
    state = given.get(b"tracestate", b"").strip()
    own = ((TRACEPARENT, parent),)
    _HEADERS.set((*own, (TRACESTATE, state)) if 0 < len(state) <= LONGEST_STATE else own)
    return ((b"traceparent", parent),)


def in_trace(record: Record) -> Record:
    """The record with the context of the request that is being answered, unless it has one."""
    headers = _HEADERS.get()
    if not headers or any(name.lower() == TRACEPARENT for name, _ in record.headers):
        return record
    others = tuple(one for one in record.headers if one[0].lower() != TRACESTATE)
    return msgspec.structs.replace(record, headers=(*others, *headers))
