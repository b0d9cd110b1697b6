"""What people type into forms: lengths of time, amounts of bytes, instants, headers, priorities."""

import re
from datetime import UTC, datetime, timedelta

from goqueue.errors import InvalidRequest

__all__ = ["PRIORITIES", "byte_count", "duration_text", "header_lines", "instant_ns", "size_text"]

PRIORITIES = ("critical", "high", "normal", "low", "background")
NS_PER_S = 1_000_000_000
LATEST_NS = (1 << 63) - 1

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_UNITS_BYTES = {"b": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}
_BYTES = re.compile(r"([0-9]{1,16}(?:\.[0-9]{1,3})?)\s*(b|kib|mib|gib|tib)?", re.ASCII | re.IGNORECASE)


def duration_text(milliseconds: int | None) -> str:
    """Exactly what `parse_duration_ms` reads; empty for no limit."""
    if milliseconds is None:
        return ""
    parts, rest = [], milliseconds
    for unit in ("d", "h", "m", "s", "ms"):
        number, rest = divmod(rest, _UNITS_MS[unit])
        if number:
            parts.append(f"{number}{unit}")
    return " ".join(parts) or "0ms"


def byte_count(text: str, name: str) -> int:
    found = _BYTES.fullmatch(text.strip())
    if found is None:
        raise InvalidRequest(
            f"{name}: {text[:60]!r} is not an amount of bytes", hint="write 1048576, 512 KiB or 10 GiB"
        )
    return _times(found[1], _UNITS_BYTES[(found[2] or "b").lower()])


def _times(number: str, unit: int) -> int:
    """Whole numbers exactly, however large."""
    return int(number) * unit if number.isdecimal() else round(float(number) * unit)


def size_text(number: int | None) -> str:
    if number is None:
        return ""
    for unit in ("TiB", "GiB", "MiB", "KiB"):
        if number and number % _UNITS_BYTES[unit.lower()] == 0:
            return f"{number // _UNITS_BYTES[unit.lower()]} {unit}"
    return str(number)


def instant_ns(text: str, name: str) -> int:
    """UTC unless a zone is said: `2026-01-31 12:00`, with `T` or a zone if wanted; or Unix milliseconds."""
    if text.isascii() and text.isdecimal() and len(text) <= 16:
        return min(int(text) * 1_000_000, LATEST_NS)
    try:
        moment = datetime.fromisoformat(text.strip())
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
        return min(max(0, (moment - _EPOCH) // timedelta(microseconds=1) * 1000), LATEST_NS)
    except (ValueError, OverflowError):
        raise InvalidRequest(
            f"{name}: {text[:60]!r} is not a time", hint="write 2026-01-31 12:00:00 (UTC), or Unix milliseconds"
        ) from None


def header_lines(text: str) -> tuple[tuple[str, bytes], ...]:
    """One header in each line, as `name: value`."""
    pairs = []
    for line in text.splitlines():
        if not line.strip():
            continue
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            raise InvalidRequest(f"the header {line[:60]!r} has no name", hint="write each header as name: value")
        pairs.append((name.strip(), value.strip().encode()))
    return tuple(pairs)
