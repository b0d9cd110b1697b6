"""Times and durations in JSON and in URLs: RFC 3339, Unix milliseconds, durations such as 30s."""

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated

import msgspec

from goqueue.errors import InvalidRequest
from goqueue.model.durations import DURATION_PATTERN, parse_duration_ms

__all__ = [
    "LONGEST_MS",
    "Duration",
    "DurationText",
    "InstantText",
    "When",
    "duration_ms",
    "instant_ns",
    "instant_text",
    "when_ns",
]

NS_PER_S = 1_000_000_000
NS_PER_MS = 1_000_000
LATEST_NS = (1 << 63) - 1

INSTANT_PATTERN = r"^[0-9]{1,16}$|^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt]"
WHEN_PATTERN = rf"{DURATION_PATTERN}|^[0-9]{{12,16}}$|^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}[Tt]"
LONGEST_MS = 10**12

DurationText = Annotated[str, msgspec.Meta(extra_json_schema={"pattern": DURATION_PATTERN, "examples": ["30s", "5m"]})]
"""The type of a duration in a query, where a number would be without a unit."""

Duration = (
    DurationText | Annotated[int, msgspec.Meta(ge=0, le=LONGEST_MS, description="milliseconds, as a JSON number")]
)
"""The type of a field that takes a duration; `duration_ms` reads it."""

# What is wrong with it is wrong with one record and not with the request, so the document alone has these limits.
When = (
    Annotated[
        str,
        msgspec.Meta(
            description="a duration from now, RFC 3339, or Unix milliseconds in 12 to 16 digits",
            examples=["30s", "2027-01-31T12:00:00Z"],
            extra_json_schema={"pattern": WHEN_PATTERN},
        ),
    ]
    | Annotated[
        int,
        msgspec.Meta(extra_json_schema={"minimum": 0, "maximum": LONGEST_MS, "description": "milliseconds from now"}),
    ]
)
"""The type of a field that takes a duration from now or a time; `when_ns` reads it."""

InstantText = Annotated[
    str,
    msgspec.Meta(
        description="RFC 3339, or Unix milliseconds",
        examples=["2026-01-31T12:00:00Z"],
        extra_json_schema={"pattern": INSTANT_PATTERN},
    ),
]
"""The type of a field that takes a time; `instant_ns` reads it."""

_UNIX_MS = re.compile(r"[0-9]{12,16}")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# A plus sign in a query that was not escaped arrives as a space.
_INSTANT = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?(?:([Zz])|([+\- ])(\d\d):(\d\d))", re.ASCII
)


def duration_ms(given: str | int, name: str) -> int:
    """Milliseconds; `name` is what the caller calls the field."""
    return given if isinstance(given, int) else parse_duration_ms(given, name)


def when_ns(given: str | int, name: str, *, now_ns: int) -> int:
    """Unix nanoseconds of a time, or of a duration from now; a duration of zero is zero."""
    if isinstance(given, str) and ("-" in given or _UNIX_MS.fullmatch(given)):
        return instant_ns(given, name)
    wait_ms = duration_ms(given, name)
    if not 0 <= wait_ms <= LONGEST_MS:
        raise InvalidRequest(
            f"{name}: a duration must be between 0 and {LONGEST_MS} ms, got {wait_ms}",
            hint="a number is milliseconds from now; write a time as 2027-01-31T12:00:00Z",
        )
    return min(now_ns + wait_ms * NS_PER_MS, LATEST_NS) if wait_ms else 0


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
