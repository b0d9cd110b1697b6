"""Where to begin reading, as people write it: earliest, latest, an offset, a time."""

import re
from typing import Literal, NamedTuple

from goqueue.cli.failures import Refused
from goqueue.cli.times import parse_instant
from goqueue.errors import InvalidRequest

__all__ = ["StartingPoint", "parse_reset", "parse_start"]

Kind = Literal["earliest", "latest", "offset", "timestamp"]

_ENDS: dict[str, Kind] = {"earliest": "earliest", "latest": "latest"}
_OFFSET = re.compile(r"-?\d+", re.ASCII)


class StartingPoint(NamedTuple):
    """An offset below zero counts from the end; a time is in nanoseconds."""

    kind: Kind
    value: int | None = None


def parse_start(text: str, *, now_ns: int) -> StartingPoint:
    """What `--from` of `consume` understands."""
    if text in _ENDS:
        return StartingPoint(_ENDS[text])
    if _OFFSET.fullmatch(text):
        return StartingPoint("offset", int(text))
    try:
        return StartingPoint("timestamp", _instant(text, now_ns))
    except InvalidRequest:
        raise Refused(
            f"{text!r} is no place to begin",
            hint="write earliest, latest, an offset (-10 for the last ten), 2025-12-31T23:59:59Z, or an age like 15m",
        ) from None


def parse_reset(text: str, *, now_ns: int) -> StartingPoint:
    """What `--to` of `group reset-offsets` understands."""
    kind, _, value = text.partition(":")
    if text in _ENDS:
        return StartingPoint(_ENDS[text])
    if kind == "offset" and value.isascii() and value.isdecimal():
        return StartingPoint("offset", int(value))
    if kind == "time" and value:
        return StartingPoint("timestamp", _instant(value, now_ns))
    raise Refused(
        f"{text!r} is no place to go to",
        hint="write earliest, latest, offset:N, time:2025-12-31T23:59:59Z, or an age like time:15m",
    )


def _instant(text: str, now_ns: int) -> int:
    return parse_instant(text.removesuffix("ago").rstrip(), now_ns=now_ns)
