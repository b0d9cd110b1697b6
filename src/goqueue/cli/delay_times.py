"""The due time of a record, as people write it: after 30s, or at 2026-12-31T23:59:59Z."""

import re

from goqueue.cli.failures import Refused
from goqueue.cli.times import parse_instant
from goqueue.errors import InvalidRequest
from goqueue.model.durations import parse_duration_ms

__all__ = ["parse_delay"]

_UNIX_NS = re.compile(r"[0-9]{16,19}")


def parse_delay(delay: str | None, deliver_at: str | None) -> tuple[int | None, int | None]:
    """Milliseconds from now, or an instant in nanoseconds, or neither; --deliver-at takes a duration too."""
    if delay is not None and deliver_at is not None:
        raise Refused("both --delay and --deliver-at", hint="give one of them")
    if delay is not None:
        return parse_duration_ms(delay, "--delay"), None
    if deliver_at is None:
        return None, None
    if "-" not in deliver_at and not _UNIX_NS.fullmatch(deliver_at):
        return parse_duration_ms(deliver_at, "--deliver-at"), None
    try:
        return None, parse_instant(deliver_at, now_ns=0)
    except InvalidRequest:
        raise Refused(
            f"--deliver-at {deliver_at} is not a time", hint="write 2026-12-31T23:59:59Z, or a duration such as 30s"
        ) from None
