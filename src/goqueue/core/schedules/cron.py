"""Occurrences of a schedule: by a cron expression in a time zone, or at a fixed rate.

Everything is a function of its arguments: the same question gets the same answer after a restart, and asking for the
next occurrence again and again gives the same instants as asking for many at once.

At clock changes, an expression that names times of the day follows the two policies of its schedule. An expression with
a star or a step in its hours needs none: it occurs at each instant at which the clocks show a reading it names, so an
hour that is skipped has no occurrences and an hour that is shown twice has them twice.
"""

import itertools
from collections.abc import Iterator
from enum import StrEnum

import msgspec

from goqueue.core.schedules.local import zones
from goqueue.core.schedules.local.expression import readings_after, runs_through
from goqueue.core.schedules.local.zones import ClockChange, Showing
from goqueue.model.ids import InstantNs

__all__ = ["CronTimes", "EveryTimes", "Gap", "Overlap", "Times", "latest_between", "next_after", "occurrences_between"]

SECOND_NS = 1_000_000_000
LAST_INSTANT = InstantNs((1 << 63) - 1)
"""In the year 2262: instants are signed 64-bit integers."""


class Gap(StrEnum):
    """Policy for a time that clocks skip when they are set ahead."""

    SKIP = "skip"
    SHIFT = "shift"
    """It occurs right after the gap; several of one gap occur once."""


class Overlap(StrEnum):
    """Policy for a time that clocks show twice when they are set back."""

    FIRST = "first"
    SECOND = "second"
    BOTH = "both"


class CronTimes(msgspec.Struct, frozen=True, tag="cron"):
    """A checked expression in a checked time zone."""

    expression: str
    zone: str = "UTC"
    gap: Gap = Gap.SHIFT
    overlap: Overlap = Overlap.FIRST


class EveryTimes(msgspec.Struct, frozen=True, tag="every"):
    """A fixed rate: at the anchor, and every `every_s` from then on, whatever clocks show."""

    every_s: int
    anchor: InstantNs


Times = CronTimes | EveryTimes


def next_after(spec: Times, instant: InstantNs) -> InstantNs | None:
    """The first occurrence later than the instant; None when there is none in fifty years."""
    return next(_occurrences(spec, instant, LAST_INSTANT), None)


def occurrences_between(spec: Times, after: InstantNs, until: InstantNs, most: int) -> list[InstantNs]:
    """The first occurrences later than `after` and not later than `until`."""
    return list(itertools.islice(_occurrences(spec, after, until), most))


def latest_between(spec: Times, after: InstantNs, until: InstantNs, most: int) -> list[InstantNs]:
    """The last occurrences in the interval, in order.

    After a long downtime there may be millions, so they are not enumerated: the start is moved until the remaining
    number is small and still enough. As no two occur at once, there is such a start.
    """
    too_early, too_late = after, until
    found = occurrences_between(spec, after, until, 2 * most + 1)
    if len(found) <= 2 * most:
        return found[-most:]
    # Many recur at an even pace, and then the first guess is good enough.
    start = InstantNs(max(until - (found[-1] - found[0]) * 3 // 4, after))
    while True:
        found = occurrences_between(spec, start, until, 2 * most + 1)
        if most <= len(found) <= 2 * most:
            return found[-most:]
        if len(found) < most:
            too_late = start
        else:
            too_early = start
        start = InstantNs((too_early + too_late) // 2)


def _occurrences(spec: Times, after: InstantNs, until: InstantNs) -> Iterator[InstantNs]:
    if isinstance(spec, EveryTimes):
        instants = _every(spec, after)
    else:
        # Expressions name whole seconds, so a started second does not matter.
        instants = (InstantNs(second * SECOND_NS) for second in _cron(spec, after // SECOND_NS))
    return itertools.takewhile(until.__ge__, instants)


def _every(spec: EveryTimes, after: InstantNs) -> Iterator[InstantNs]:
    step = spec.every_s * SECOND_NS
    passed = max((after - spec.anchor) // step + 1, 0)
    return map(InstantNs, itertools.count(spec.anchor + passed * step, step))


def _cron(spec: CronTimes, after_s: int) -> Iterator[int]:
    """From one clock change to the next; in between, readings and instants differ by a fixed offset."""
    is_through = runs_through(spec.expression)
    since = after_s
    offset = zones.offset_at(spec.zone, since)
    shown = since + offset
    while True:
        change: ClockChange | None = None
        for named in readings_after(spec.expression, shown):
            instant = named - offset
            change = zones.next_change(spec.zone, since, instant)
            if change is not None:
                break
            since = instant
            if is_through or _is_meant(spec, instant):
                yield instant
        if change is None:
            return
        since, offset = change.at, change.after
        # The first reading after the change counts as not yet seen, unless the gap's occurrence is at its instant.
        shown = since + offset - 1
        if not is_through and spec.gap == Gap.SHIFT and named < since + offset and change.skipped > 0:
            yield since
            shown += 1


def _is_meant(spec: CronTimes, instant_s: int) -> bool:
    if spec.overlap == Overlap.BOTH:
        return True
    unwanted = Showing.SECOND if spec.overlap == Overlap.FIRST else Showing.FIRST
    return zones.showing(spec.zone, instant_s) is not unwanted
