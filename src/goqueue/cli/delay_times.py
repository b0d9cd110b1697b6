"""When a record is to be delivered, as people write it: after 30s, or at 2026-12-31T23:59:59Z."""

import re

from goqueue.cli.amounts import parse_duration_ms
from goqueue.cli.failures import Refused
from goqueue.cli.times import parse_instant
from goqueue.errors import InvalidRequest

__all__ = ["parse_delay"]

_AGE = re.compile(r"\d+[smhd]", re.ASCII)


def parse_delay(delay: str | None, deliver_at: str | None) -> tuple[int | None, int | None]:
    """Milliseconds, or an instant in nanoseconds, or neither."""
    if delay is not None and deliver_at is not None:
        raise Refused("both --delay and --deliver-at", hint="give one of them")
    if deliver_at is None:
        return None if delay is None else parse_duration_ms(delay), None
    try:
        if _AGE.fullmatch(deliver_at):
            raise InvalidRequest("an age")
        return None, parse_instant(deliver_at, now_ns=0)
    except InvalidRequest:
        raise Refused(
            f"--deliver-at {deliver_at} is not a time", hint="write 2026-12-31T23:59:59Z, or --delay 30s"
        ) from None
