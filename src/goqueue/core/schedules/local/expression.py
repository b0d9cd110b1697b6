"""Cron expressions: the clock readings they name, independent of the zone.

Five fields, minute first, or six, second first. Parsing and search are done by `cronsim`, with the semantics of
Debian's cron: when days of the month and days of the week are both given, either is enough. It is only given readings
without a zone, so that clock changes are handled in one place, which is not here.
"""

from collections.abc import Iterator
from functools import lru_cache

from cronsim import CronSim, CronSimError

from goqueue.core.schedules.local.civil import counted, reading
from goqueue.errors import InvalidRequest

__all__ = ["check_expression", "readings_after", "runs_through"]

LONGEST = 200
EXPRESSIONS_REMEMBERED = 4096

NICKNAMES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}


def check_expression(text: str) -> None:
    """Refuse text that is not a cron expression, or names a day that no month has."""
    if len(text) > LONGEST:
        raise InvalidRequest(f"a cron expression of {len(text)} characters", hint=f"use at most {LONGEST}")
    try:
        _search(text, 0)
    except CronSimError as fault:
        raise InvalidRequest(
            f"{text!r} is not a cron expression: {str(fault).lower()}",
            hint="use five fields (minute, hour, day of month, month, day of week), for example '30 2 * * MON-FRI'; "
            f"six with seconds first; or one of {', '.join(NICKNAMES)}",
        ) from None


def readings_after(text: str, shown_s: int) -> Iterator[int]:
    """The readings in order, without end; none at all when there is no such day in fifty years."""
    return map(counted, _search(text, shown_s))


@lru_cache(EXPRESSIONS_REMEMBERED)
def runs_through(text: str) -> bool:
    """Whether the expression means a rate that runs through clock changes, rather than certain times of the day.

    A star or a step in the hours means a rate, unless the step leaves a single hour: `*/24` is a time of day.
    """
    search = _search(text, 0)
    hours = search.parts[2]
    return ("*" in hours or "/" in hours) and len(search.hours) > 1


def _search(text: str, shown_s: int) -> CronSim:
    return CronSim(NICKNAMES.get(text.strip().lower(), text), reading(shown_s))
