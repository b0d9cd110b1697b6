"""Times as users give them: a `timedelta` or `datetime`, beside the numbers of milliseconds and nanoseconds."""

from datetime import UTC, datetime, timedelta
from typing import Any

from goqueue.errors import InvalidRequest

__all__ = ["duration_ms", "instant_ns", "ns_of", "seconds_of", "wait_in_ms"]

MILLISECOND = timedelta(milliseconds=1)
MICROSECOND = timedelta(microseconds=1)
NS_PER_US = 1000
WAIT_MS = 1000
"""How long a poll or take waits unless it is told."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def duration_ms(name: str, duration: Any, ms: Any) -> Any:
    """The milliseconds that are meant, rounded up to a whole number; `ms` itself when no duration is given."""
    if duration is None:
        return ms
    if ms is not None:
        raise InvalidRequest(f"{name} and {name}_ms are both given", hint="give one of them")
    if not isinstance(duration, timedelta):
        raise InvalidRequest(
            f"{name} must be a timedelta, got {duration!r}", hint=f"a number of milliseconds is given as {name}_ms"
        )
    return -(-duration // MILLISECOND)


def wait_in_ms(wait: timedelta | None, wait_ms: int | None) -> int:
    found: int | None = duration_ms("wait", wait, wait_ms)
    return WAIT_MS if found is None else found


def seconds_of(name: str, duration: Any) -> int:
    if not isinstance(duration, timedelta) or duration % timedelta(seconds=1):
        raise InvalidRequest(f"{name} must be a timedelta of whole seconds, got {duration!r}")
    return int(duration / timedelta(seconds=1))


def instant_ns(name: str, instant: datetime | None, ns: int | None) -> int | None:
    """The nanoseconds since 1970 that are meant; `ns` itself when no instant is given."""
    if instant is None:
        return ns
    if ns is not None:
        raise InvalidRequest(f"{name} and {name}_ns are both given", hint="give one of them")
    if not isinstance(instant, datetime):
        raise InvalidRequest(
            f"{name} must be a datetime, got {instant!r}", hint=f"nanoseconds since 1970 are given as {name}_ns"
        )
    return ns_of(name, instant)


def ns_of(name: str, instant: datetime) -> int:
    if instant.utcoffset() is None:
        raise InvalidRequest(
            f"{name} must have a time zone, got {instant!r}", hint="such as datetime(2030, 1, 1, tzinfo=UTC)"
        )
    return (instant - EPOCH) // MICROSECOND * NS_PER_US
