"""Times and durations as they stand in JSON and in URLs: RFC 3339, Unix milliseconds, and lengths like 30s."""

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated

import msgspec

from goqueue.errors import InvalidRequest

__all__ = [
    "DURATION_PATTERN",
    "INSTANT_PATTERN",
    "Duration",
    "InstantText",
    "duration_ms",
    "instant_ns",
    "instant_text",
]

NS_PER_S = 1_000_000_000
NS_PER_MS = 1_000_000
LATEST_NS = (1 << 63) - 1

DURATION_PATTERN = r"^[0-9]{1,12}(ms|s|m|h|d)?$"
INSTANT_PATTERN = r"^[0-9]{1,16}$|^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt]"

Duration = (
    Annotated[str, msgspec.Meta(extra_json_schema={"pattern": DURATION_PATTERN, "examples": ["30s", "5m"]})]
    | Annotated[int, msgspec.Meta(ge=0, le=10**12, description="milliseconds")]
)
"""The type of a field that takes a duration; `duration_ms` reads it."""

InstantText = Annotated[
    str,
    msgspec.Meta(
        description="RFC 3339, or Unix milliseconds",
        examples=["2026-01-31T12:00:00Z"],
        extra_json_schema={"pattern": INSTANT_PATTERN},
    ),
]
"""The type of a field that takes a time; `instant_ns` reads it."""

_UNITS_MS = {"": 1, "ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION = re.compile(r"([0-9]{1,12})(ms|s|m|h|d)?")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# A plus sign in a query that was not escaped arrives as a space.
_INSTANT = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?(?:([Zz])|([+\- ])(\d\d):(\d\d))", re.ASCII
)


def duration_ms(given: str | int, name: str) -> int:
    """Milliseconds; `name` is what the caller calls the field."""
    if isinstance(given, int):
        return given
    parts = _DURATION.fullmatch(given)
    if parts is None:
        raise InvalidRequest(
            f"{name} = {given[:60]!r} is not a duration", hint="write 30s, 5m, 2h, 1d, or milliseconds"
        )
    return int(parts[1]) * _UNITS_MS[parts[2] or ""]


def instant_ns(given: str, name: str) -> int:
    """Unix nanoseconds; what lies before 1970 or after 2262 becomes the nearest that can be said."""
    if given.isascii() and given.isdecimal() and len(given) <= 16:
        return min(int(given) * NS_PER_MS, LATEST_NS)
    parts = _INSTANT.fullmatch(given)
    moment = _moment(parts) if parts is not None else None
    if moment is None:
        raise InvalidRequest(
            f"{name} = {given[:60]!r} is not a time", hint="write 2026-01-31T12:00:00Z, or Unix milliseconds"
        )
    assert parts is not None
    seconds = (moment - _EPOCH) // timedelta(seconds=1)
    return min(max(0, seconds * NS_PER_S + int((parts[3] or "0").ljust(9, "0"))), LATEST_NS)


def _moment(parts: re.Match[str]) -> datetime | None:
    try:
        moment = datetime.fromisoformat(f"{parts[1]}T{parts[2]}+00:00")
        if parts[4]:
            return moment
        ahead = timedelta(hours=int(parts[6]), minutes=int(parts[7]))
        return moment + ahead if parts[5] == "-" else moment - ahead
    except (ValueError, OverflowError):
        return None


def instant_text(instant: int) -> str:
    """UTC with all nine digits, so that nothing is lost."""
    seconds, rest = divmod(instant, NS_PER_S)
    return f"{_EPOCH + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"
