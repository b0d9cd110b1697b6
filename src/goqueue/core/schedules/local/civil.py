"""Civil time: seconds since 1970 as the calendar type of the zone and cron libraries, and back.

The only module in core that uses `datetime`. It converts its arguments and never reads a clock.
"""

from datetime import datetime, timedelta, tzinfo

__all__ = ["counted", "reading", "utc_offset"]

_EPOCH = datetime(1970, 1, 1)
_DAY = 24 * 3600


def reading(seconds: int) -> datetime:
    """The reading of a clock this many seconds after 1970 began on that same clock; without a zone."""
    return _EPOCH + timedelta(seconds=seconds)


def counted(shown: datetime) -> int:
    """The inverse of `reading`."""
    since = shown - _EPOCH
    return since.days * _DAY + since.seconds


def utc_offset(zone: tzinfo, instant_s: int) -> int:
    """The offset of local time from UTC at an instant, in seconds."""
    local = zone.fromutc(reading(instant_s).replace(tzinfo=zone))
    return counted(local.replace(tzinfo=None)) - instant_s
