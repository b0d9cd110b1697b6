"""Times and durations in JSON and in URLs: RFC 3339, Unix milliseconds, durations such as 30s."""

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import msgspec

from goqueue.errors import InvalidRequest
from goqueue.model.durations import duration_pattern, parse_duration_ms

__all__ = [
    "LONGEST_MS",
    "MILLISECONDS",
    "Expiry",
    "InstantText",
    "When",
    "duration_ms",
    "duration_schema",
    "instant_ns",
    "instant_text",
    "is_time",
    "when_ns",
]

NS_PER_S = 1_000_000_000
NS_PER_MS = 1_000_000
LATEST_NS = (1 << 63) - 1

LONGEST_MS = 10**12
"""Of a delay: longer than any record is kept."""

_DAY = (
    "(?!000[01])[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    "|02-(?:0[1-9]|1[0-9]|2[0-8]))|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][48]|[13579][26]|[2468]0)00)-02-29"
)
_HOUR = "(?:[01][0-9]|2[0-3]):[0-5][0-9]"
RFC_3339_PATTERN = rf"(?:{_DAY})[Tt]{_HOUR}:[0-5][0-9](?:\.[0-9]+)?(?:[Zz]|[+-]{_HOUR})"
INSTANT_PATTERN = rf"^(?:0|[0-9]{{12,16}})$|^{RFC_3339_PATTERN}$"

MILLISECONDS = "milliseconds, as a JSON number"


def duration_schema(least_ms: int, most_ms: int, step_ms: int = 1) -> dict[str, Any]:
    """Of a text that `duration_ms` reads; whoever uses the duration checks the same bounds."""
    return {"pattern": duration_pattern(least_ms, most_ms, step_ms), "examples": ["30s", "5m"]}


def when_schema(least_ms: int) -> dict[str, Any]:
    pattern = rf"{duration_pattern(least_ms, LONGEST_MS)}|^[0-9]{{12,16}}$|^{RFC_3339_PATTERN}$"
    return {"pattern": pattern, "examples": ["30s", "2027-01-31T12:00:00Z"]}


# What is wrong with it is wrong with one record and not with the request, so the document alone has these limits.
_WHEN = "a duration from now, RFC 3339, or Unix milliseconds in 12 to 16 digits"
When = (
    Annotated[str, msgspec.Meta(description=_WHEN, extra_json_schema=when_schema(0))]
    | Annotated[
        int,
        msgspec.Meta(extra_json_schema={"minimum": 0, "maximum": LONGEST_MS, "description": "milliseconds from now"}),
    ]
)
"""The type of a field that takes a duration from now or a time; `when_ns` reads it."""

Expiry = (
    Annotated[str, msgspec.Meta(description=_WHEN, extra_json_schema=when_schema(1))]
    | Annotated[
        int,
        msgspec.Meta(extra_json_schema={"minimum": 1, "maximum": LONGEST_MS, "description": "milliseconds from now"}),
    ]
)
"""The same of a field that takes no duration of zero."""

InstantText = Annotated[
    str,
    msgspec.Meta(
        description="RFC 3339, or Unix milliseconds in 12 to 16 digits; 0 is before everything",
        examples=["2026-01-31T12:00:00Z"],
        extra_json_schema={"pattern": INSTANT_PATTERN},
    ),
]
"""The type of a field that takes a time; `instant_ns` reads it."""

_UNIX_MS = re.compile(r"[0-9]{12,16}")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LAST = datetime.max.replace(tzinfo=UTC)
# A plus sign in a query that was not escaped arrives as a space.
_INSTANT = re.compile(
    r"(\d{4}-\d\d-\d\d)[Tt](\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?(?:([Zz])|([+\- ])([01]\d|2[0-3]):([0-5]\d))", re.ASCII
)


def duration_ms(given: str | int, name: str) -> int:
    """Milliseconds; `name` is what the caller calls the field."""
    return given if isinstance(given, int) else parse_duration_ms(given, name)


def is_time(given: str | int) -> bool:
    """And not a duration from now."""
    return isinstance(given, str) and ("-" in given or _UNIX_MS.fullmatch(given) is not None)


def when_ns(given: str | int, name: str, *, now_ns: int) -> int:
    """Unix nanoseconds of a time, or of a duration from now; a duration of zero is zero."""
    if is_time(given):
        assert isinstance(given, str)
        return instant_ns(given, name)
    wait_ms = duration_ms(given, name)
    if not 0 <= wait_ms <= LONGEST_MS:
        raise InvalidRequest(
            f"{name}: a duration must be between 0 and {LONGEST_MS} ms, got {wait_ms}",
            hint="a number is milliseconds from now; write a time as 2027-01-31T12:00:00Z",
        )
    return min(now_ns + wait_ms * NS_PER_MS, LATEST_NS) if wait_ms else 0


def instant_ns(given: str, name: str) -> int:
    """Unix nanoseconds; what lies before 1970 or after 2262 becomes the nearest that can be said.

    A shorter number could be meant as a duration: it is refused.
    """
    if given == "0" or _UNIX_MS.fullmatch(given):
        return min(int(given) * NS_PER_MS, LATEST_NS)
    parts = _INSTANT.fullmatch(given)
    moment = _moment(parts) if parts is not None else None
    if moment is None:
        raise InvalidRequest(
            f"{name} = {given[:60]!r} is not a time",
            hint="write 2026-01-31T12:00:00Z, or Unix milliseconds in 12 to 16 digits",
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
        if parts[5] == "-":
            return moment + min(ahead, _LAST - moment)
        return moment - ahead
    except (ValueError, OverflowError):
        return None


def instant_text(instant: int) -> str:
    """UTC with all nine digits, so that nothing is lost."""
    seconds, rest = divmod(instant, NS_PER_S)
    return f"{_EPOCH + timedelta(seconds=seconds):%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"
