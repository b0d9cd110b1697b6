"""Time zones: clock changes, and the readings that they skip or show twice.

`zoneinfo` has the offset of an instant but not the next change, so changes are searched for: an offset is looked up
once a day, and two changes less than a day apart are not in the zone database for any time since 1970.
"""

from enum import Enum
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

from goqueue.core.schedules.local.civil import utc_offset
from goqueue.errors import InvalidRequest

__all__ = ["ClockChange", "Showing", "check_zone", "next_change", "offset_at", "showing"]

DAY_S = 24 * 3600
SPAN_S = 64 * DAY_S
"""Changes are searched for, and cached, in intervals of this length."""
SPANS_REMEMBERED = 4096

_NOT_ZONES = ("localtime", "posixrules", "posix/", "right/")
"""Other names in a machine's zone folder, whose meaning depends on the machine."""


class ClockChange(NamedTuple):
    """From the instant `at` on, local time is `after` seconds ahead of UTC instead of `before`."""

    at: int
    before: int
    after: int

    @property
    def skipped(self) -> int:
        """Number of seconds that local clocks jump ahead; negative when they are set back."""
        return self.after - self.before


class Showing(Enum):
    """How often clocks show the reading of an instant."""

    ONCE = "once"
    FIRST = "first"
    SECOND = "second"


def check_zone(name: str) -> None:
    """Refuse a zone that is not in the zone database."""
    try:
        if name.startswith(_NOT_ZONES):
            raise ValueError
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise InvalidRequest(
            f"there is no time zone {name[:60]!r}", hint="use an IANA name such as Europe/Berlin, or UTC"
        ) from None


def offset_at(zone: str, instant_s: int) -> int:
    return utc_offset(ZoneInfo(zone), instant_s)


def next_change(zone: str, after_s: int, until_s: int) -> ClockChange | None:
    """The first change after `after_s` and not after `until_s`."""
    for number in range(after_s // SPAN_S, until_s // SPAN_S + 1):
        for change in _changes(zone, number):
            if change.at > until_s:
                return None
            if change.at > after_s:
                return change
    return None


def showing(zone: str, instant_s: int) -> Showing:
    """Clocks set back show the readings between the two offsets twice: before the change, and again after it."""
    last = next_change(zone, instant_s - DAY_S, instant_s)
    if last is not None and instant_s < last.at - last.skipped:
        return Showing.SECOND
    following = next_change(zone, instant_s, instant_s + DAY_S)
    if following is not None and instant_s >= following.at + following.skipped and following.skipped < 0:
        return Showing.FIRST
    return Showing.ONCE


@lru_cache(SPANS_REMEMBERED)
def _changes(zone: str, number: int) -> tuple[ClockChange, ...]:
    """The changes in one interval, its first second included."""
    found = []
    start = number * SPAN_S - 1
    before = offset_at(zone, start)
    for day in range(start, start + SPAN_S, DAY_S):
        after = offset_at(zone, day + DAY_S)
        if after != before:
            found.append(ClockChange(_first_with(zone, after, day, day + DAY_S), before, after))
        before = after
    return tuple(found)


def _first_with(zone: str, offset: int, without: int, having: int) -> int:
    while having - without > 1:
        middle = (without + having) // 2
        if offset_at(zone, middle) == offset:
            having = middle
        else:
            without = middle
    return having
