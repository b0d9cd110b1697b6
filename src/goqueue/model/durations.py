"""Durations as text: `500ms`, `30s`, `1h 30m`, `7d`, `2w`.

A number without a unit is refused, so that 60 is never read as a minute by one side and as 60 ms by the other. Only 0
needs no unit.
"""

import re
from collections.abc import Iterator

from goqueue.errors import InvalidRequest

__all__ = ["DURATION_HINT", "DURATION_PATTERN", "duration_pattern", "parse_duration_ms"]

DURATION_HINT = "write a duration with its unit, such as 500ms, 30s, 5m, 2h, 1h 30m, 7d or 2w"
LARGEST_NUMBER = 10**12 - 1
_ONE = r"[0-9]{1,12}(\.[0-9]{1,3})? ?(ms|s|m|h|d|w)"
DURATION_PATTERN = rf"^(0|{_ONE}( ?{_ONE})*)$"

_UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000}
_DURATION = re.compile(DURATION_PATTERN)
_PART = re.compile(r"([0-9.]+) ?([a-z]+)")


def parse_duration_ms(text: str, name: str = "") -> int:
    """Whole milliseconds, rounded; `name` is the caller's name for the field."""
    if _DURATION.fullmatch(text) is None:
        label = f"{name}: " if name else ""
        if text.isascii() and text.isdecimal():
            raise InvalidRequest(f"{label}the duration {text[:60]!r} has no unit", hint=_with_units(text))
        raise InvalidRequest(f"{label}{text[:60]!r} is not a duration", hint=DURATION_HINT)
    return sum(_milliseconds(number, _UNITS_MS[unit]) for number, unit in _PART.findall(text))


def _with_units(number: str) -> str:
    return f"write {number[:12]}s for seconds, {number[:12]}ms for milliseconds; other units are m, h, d and w"


def _milliseconds(number: str, unit: int) -> int:
    """Exact for whole numbers of any size."""
    return int(number) * unit if number.isdecimal() else round(float(number) * unit)


# The same rule with bounds, for clients that validate before they send.


def duration_pattern(least_ms: int, most_ms: int, step_ms: int = 1) -> str:
    """Regular expression of durations within bounds: of equal spellings it accepts `1h 30m`, `1.5h` and `90m`.

    The parser also accepts other spellings, such as `30m 1h`; a regular expression cannot bound arbitrary sums.
    """
    every = ["0"] if least_ms == 0 else []
    for unit, length in _UNITS_MS.items():
        every += _spellings(unit, length, least_ms, most_ms, step_ms)
    return f"^({'|'.join(every)})$"


def _spellings(unit: str, length: int, least_ms: int, most_ms: int, step_ms: int) -> Iterator[str]:
    """Spellings whose largest part is in this unit: whole, with a fraction, or followed by smaller parts."""
    least, most = -(-least_ms // length), min(most_ms // length, LARGEST_NUMBER)
    if length % step_ms or least > most:
        return
    yield f"{_whole(least, most)} ?{unit}"
    # A fraction is less than one unit, and so are the parts in smaller units that follow.
    below = most - 1
    if step_ms == 1 and below >= least:
        yield rf"{_whole(least, below)}\.[0-9]{{1,3}} ?{unit}"
    if below >= max(least, 1):
        smaller = [(name, ms) for name, ms in _UNITS_MS.items() if step_ms <= ms < length]
        if smaller:
            parts = "".join(f"( ?{_whole(0, _fewer(ms) - 1)} ?{name})?" for name, ms in reversed(smaller))
            yield f"{_whole(max(least, 1), below)} ?{unit}{parts}"


def _fewer(unit_ms: int) -> int:
    """How many of this unit make one of the next larger unit."""
    return min(ms for ms in (*_UNITS_MS.values(), 1000 * unit_ms) if ms > unit_ms) // unit_ms


def _whole(least: int, most: int) -> str:
    """Whole numbers from `least` to `most`, without leading zeros."""
    found: list[str] = []
    for digits in range(len(str(least)), len(str(most)) + 1):
        first = max(least, 10 ** (digits - 1) if digits > 1 else 0)
        found += _same_length(str(first), str(min(most, 10**digits - 1)))
    return f"({'|'.join(found)})"


def _same_length(least: str, most: str) -> Iterator[str]:
    rest = len(least) - 1
    if least == most:
        yield least
    elif least[1:] == "0" * rest and most[1:] == "9" * rest:
        yield f"[{least[0]}-{most[0]}]" + ("[0-9]" * rest if rest < 2 else f"[0-9]{{{rest}}}")
    elif least[0] == most[0]:
        yield from (least[0] + one for one in _same_length(least[1:], most[1:]))
    else:
        if least[1:] != "0" * rest:
            yield from (least[0] + one for one in _same_length(least[1:], "9" * rest))
            least = f"{int(least[0]) + 1}{'0' * rest}"
        if most[1:] != "9" * rest:
            yield from _same_length(least, f"{int(most[0]) - 1}{'9' * rest}") if least[0] < most[0] else ()
            yield from (most[0] + one for one in _same_length("0" * rest, most[1:]))
        else:
            yield from _same_length(least, most)
