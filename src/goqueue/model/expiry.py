"""Until when a record is worth delivering. It travels as a header, so that it is wherever the record is."""

from collections.abc import Sequence

from goqueue.errors import InvalidRecord
from goqueue.model.record import Record

__all__ = ["EXPIRES_HEADER", "expires_ns", "expiry_of", "with_expiry"]

EXPIRES_HEADER = "goqueue-expires"
NS_PER_MS = 1_000_000
LATEST_NS = (1 << 63) - 1


def expires_ns(ttl_ms: int | None, expires_at_ns: int | None, *, now_ns: int) -> int | None:
    """The instant that is meant when a time to live, or an instant, or neither is given."""
    if ttl_ms is not None and expires_at_ns is not None:
        raise InvalidRecord("both a time to live and an instant to expire at", hint="give one of them")
    if ttl_ms is not None:
        if ttl_ms < 1:
            raise InvalidRecord(f"a time to live of {ttl_ms} ms", hint="a time to live is 1 ms or more")
        return min(now_ns + ttl_ms * NS_PER_MS, LATEST_NS)
    if expires_at_ns is not None and not 0 < expires_at_ns <= LATEST_NS:
        raise InvalidRecord(f"expiry at {expires_at_ns} ns", hint=f"give an instant from 1 to {LATEST_NS} ns")
    return expires_at_ns


def with_expiry(record: Record, instant: int) -> Record:
    """The record with an expiry, in place of one it may have had."""
    headers = (*(one for one in record.headers if one[0] != EXPIRES_HEADER), (EXPIRES_HEADER, b"%d" % instant))
    return Record(record.value, record.key, headers, record.priority, record.timestamp_ns, record.offset, record.flags)


def expiry_of(headers: Sequence[tuple[str, bytes]]) -> int | None:
    """None for a record without one; also when the header is nothing that can be understood."""
    text = next((value for name, value in reversed(headers) if name == EXPIRES_HEADER), None)
    return int(text) if text is not None and text.isdigit() and len(text) <= 19 else None
