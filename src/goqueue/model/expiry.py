"""Record expiry: the instant after which a record is not delivered. It is a header, so it travels with the record."""

from collections.abc import Sequence

from goqueue.errors import InvalidRecord
from goqueue.model.record import Record

__all__ = ["EXPIRES_HEADER", "expires_ns", "expiry_of", "with_expiry"]

EXPIRES_HEADER = "goqueue-expires"
NS_PER_MS = 1_000_000
LATEST_NS = (1 << 63) - 1


def expires_ns(ttl_ms: int | None, expires_at_ns: int | None, *, now_ns: int) -> int | None:
    """The expiry that results from a time to live, an instant, or neither."""
    if ttl_ms is not None and expires_at_ns is not None:
        raise InvalidRecord("a time to live and an expiry time cannot both be given", hint="give one of them")
    if ttl_ms is not None:
        if ttl_ms < 1:
            raise InvalidRecord(f"time to live must be at least 1 ms, got {ttl_ms}", hint="leave it out for no expiry")
        return min(now_ns + ttl_ms * NS_PER_MS, LATEST_NS)
    if expires_at_ns is not None and not 0 < expires_at_ns <= LATEST_NS:
        raise InvalidRecord(
            f"expiry time must be from 1 to {LATEST_NS} ns, got {expires_at_ns}", hint="give Unix time in nanoseconds"
        )
    return expires_at_ns


def with_expiry(record: Record, instant: int) -> Record:
    """The record with this expiry, which replaces an earlier one."""
    headers = (*(one for one in record.headers if one[0] != EXPIRES_HEADER), (EXPIRES_HEADER, b"%d" % instant))
    return Record(record.value, record.key, headers, record.priority, record.timestamp_ns, record.offset, record.flags)


def expiry_of(headers: Sequence[tuple[str, bytes]]) -> int | None:
    """Expiry in the headers; None without one, or when the header cannot be parsed."""
    text = next((value for name, value in reversed(headers) if name == EXPIRES_HEADER), None)
    return int(text) if text is not None and text.isdigit() and len(text) <= 19 else None
