"""Occurrences found the slow way: every reading of every day is looked up in the zone, one at a time."""

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from goqueue.core.schedules.cron import Gap, Overlap

MINUTE = timedelta(minutes=1)


def occurrences(
    minutes: set[int], hours: set[int], *, zone: str, first: date, days: int, through: bool, gap: Gap, overlap: Overlap
) -> list[int]:
    """Seconds since 1970 of all that begin on the given days, in order."""
    found: set[int] = set()
    for number in range(days):
        day = datetime(first.year, first.month, first.day) + timedelta(days=number)
        for hour in hours:
            for minute in minutes:
                found |= _instants(day.replace(hour=hour, minute=minute), ZoneInfo(zone), through, gap, overlap)
    return sorted(found)


def _instants(reading: datetime, zone: ZoneInfo, through: bool, gap: Gap, overlap: Overlap) -> set[int]:
    one, other = (reading.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    if one == other:
        return {int(one.timestamp())}
    if one < other:
        chosen = {Overlap.FIRST: [one], Overlap.SECOND: [other], Overlap.BOTH: [one, other]}
        return {int(each.timestamp()) for each in ([one, other] if through else chosen[overlap])}
    if through or gap is Gap.SKIP:
        return set()
    moment = other
    while moment.astimezone(zone).replace(tzinfo=None) <= reading:
        moment += MINUTE
    return {int(moment.timestamp())}
