"""Durations as text: `500ms`, `30s`, `1h 30m`, `7d`, `2w`.

A number without a unit is refused, so that 60 is never taken for a minute by one side and for 60 ms by the other. Only
0 needs none.
"""

import re

from goqueue.errors import InvalidRequest

__all__ = ["DURATION_HINT", "DURATION_PATTERN", "parse_duration_ms"]

DURATION_HINT = "write a duration with its unit, such as 500ms, 30s, 5m, 2h, 1h 30m, 7d or 2w"
_ONE = r"[0-9]{1,12}(\.[0-9]{1,3})? ?(ms|s|m|h|d|w)"
DURATION_PATTERN = rf"^(0|{_ONE}( ?{_ONE})*)$"

_UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000}
_DURATION = re.compile(DURATION_PATTERN)
_PART = re.compile(r"([0-9.]+) ?([a-z]+)")


def parse_duration_ms(text: str, name: str = "") -> int:
    """Whole milliseconds, rounded; `name` is what the caller calls the field."""
    if _DURATION.fullmatch(text) is None:
        label = f"{name}: " if name else ""
        if text.isascii() and text.isdecimal():
            raise InvalidRequest(f"{label}the duration {text[:60]!r} has no unit", hint=_with_units(text))
        raise InvalidRequest(f"{label}{text[:60]!r} is not a duration", hint=DURATION_HINT)
    return sum(_milliseconds(number, _UNITS_MS[unit]) for number, unit in _PART.findall(text))


def _with_units(number: str) -> str:
    return f"write {number[:12]}s for seconds, {number[:12]}ms for milliseconds; other units are m, h, d and w"


def _milliseconds(number: str, unit: int) -> int:
    """Whole numbers exactly, however large."""
    return int(number) * unit if number.isdecimal() else round(float(number) * unit)
