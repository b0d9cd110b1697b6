"""Durations and sizes as people write and read them: 7d, 90s, 64MiB, none."""

import re

from goqueue.cli.failures import Refused
from goqueue.cli.times import bytes_text
from goqueue.model.durations import parse_duration_ms

__all__ = ["duration_text", "limit_text", "parse_limit_ms", "parse_size", "parse_size_limit"]

_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_SIZE = re.compile(r"(\d+)([kmgt]?)(i?b)?", re.ASCII | re.IGNORECASE)
_NO_LIMIT = ("none", "unlimited")


def parse_size(text: str) -> int:
    """A number of bytes, or one with a unit, all of which are powers of 1024."""
    found = _SIZE.fullmatch(text)
    if not found:
        raise Refused(f"{text!r} is not a size", hint="write it in bytes, or like 512KiB, 64MiB or 10GiB")
    return int(found[1]) * int(1024 ** _POWERS[found[2].lower()])


def parse_limit_ms(text: str) -> int | None:
    return None if text.lower() in _NO_LIMIT else parse_duration_ms(text)


def parse_size_limit(text: str) -> int | None:
    return None if text.lower() in _NO_LIMIT else parse_size(text)


def duration_text(duration_ms: int) -> str:
    """In the largest unit up to days of which it is a whole number."""
    for unit in ("d", "h", "m", "s"):
        if duration_ms and duration_ms % _MS[unit] == 0:
            return f"{duration_ms // _MS[unit]}{unit}"
    return f"{duration_ms}ms"


def limit_text(name: str, value: object) -> str:
    """The value of a setting whose name ends in its unit."""
    if value is None:
        return "none"
    if isinstance(value, int) and name.endswith("_ms"):
        return duration_text(value)
    if isinstance(value, int) and name.endswith("_bytes"):
        return bytes_text(value)
    return str(value)
