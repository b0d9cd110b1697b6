"""Counted seconds as the calendar type that the zone and cron libraries work with, and back.

The one place in core that knows `datetime`. It converts what it is given and never reads a clock.
"""

from datetime import datetime, timedelta, tzinfo

__all__ = ["counted", "reading", "utc_offset"]

_EPOCH = datetime(1970, 1, 1)
_DAY = 24 * 3600


def reading(seconds: int) -> datetime:
    """What a clock shows that many seconds after 1970 began on that same clock; without a zone."""
    return _EPOCH + timedelta(seconds=seconds)


def counted(shown: datetime) -> int:
    """The opposite of `reading`."""
    since = shown - _EPOCH
    return since.days * _DAY + since.seconds


def utc_offset(zone: tzinfo, instant_s: int) -> int:
    """How far local clocks are ahead of UTC at an instant, in seconds."""
    local = zone.fromutc(reading(instant_s).replace(tzinfo=zone))
    return counted(local.replace(tzinfo=None)) - instant_s
