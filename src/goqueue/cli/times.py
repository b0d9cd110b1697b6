"""Instants and sizes as people write and read them."""

import re
from datetime import UTC, datetime

from goqueue.errors import InvalidRequest
from goqueue.model.durations import DURATION_PATTERN, parse_duration_ms

__all__ = ["bytes_text", "instant_text", "parse_instant"]

_SECOND = 1_000_000_000
_NS_PER_MS = 1_000_000
_UNIX_NS = re.compile(r"[0-9]{16,19}")
_AGE = re.compile(DURATION_PATTERN)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def instant_text(instant_ns: int) -> str:
    """UTC, with all nine digits, so that nothing is lost."""
    seconds, rest = divmod(instant_ns, _SECOND)
    try:
        day = datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return f"{instant_ns} ns"
    return f"{day:%Y-%m-%dT%H:%M:%S}.{rest:09d}Z"


def parse_instant(text: str, *, now_ns: int) -> int:
    """ISO 8601 (UTC unless it says otherwise), Unix nanoseconds, or how long ago (90s, 15m, 1h 30m, 7d).

    A number with fewer digits than Unix nanoseconds is an age that has no unit, and refused.
    """
    if _UNIX_NS.fullmatch(text):
        return int(text)
    if text.isascii() and text.isdecimal():
        raise InvalidRequest(
            f"{text[:60]!r} is not a time: an age needs a unit, and Unix nanoseconds have 16 to 19 digits",
            hint=f"write {text[:12]}s for seconds, {text[:12]}m for minutes; other units are ms, h, d and w",
        )
    if _AGE.fullmatch(text):
        return max(0, now_ns - parse_duration_ms(text) * _NS_PER_MS)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidRequest(
            f"{text!r} is not a time",
            hint="write 2025-12-31T23:59:59Z, Unix nanoseconds, or an age like 90s, 15m, 2h, 7d",
        ) from None
    since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - _EPOCH
    return max(0, (since.days * 86_400 + since.seconds) * _SECOND + since.microseconds * 1000)


def bytes_text(size: int) -> str:
    amount = float(size)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if amount < 1024:
            return f"{size} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"
