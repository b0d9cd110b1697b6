"""Misfire policy: the firings and skips of one schedule, given its due occurrences and their lateness."""

from typing import NamedTuple

import msgspec

from goqueue.core.schedules.events import Outcome, ScheduleSkipped
from goqueue.core.schedules.schedule import Misfire
from goqueue.core.schedules.state import ScheduleState
from goqueue.model.ids import InstantNs
from goqueue.model.record import Record

__all__ = ["Firing", "Plan", "plan"]

MS_NS = 1_000_000
COUNTED = 100
"""Limit of counting missed occurrences: 100 means 100 or more."""


class Firing(msgspec.Struct, frozen=True):
    """A record to publish for an occurrence. `after` is the state of `settled` when this was decided."""

    schedule: str
    occurrence: InstantNs
    after: InstantNs
    outcome: Outcome
    count: int
    topic: str
    record: Record

    @property
    def identity(self) -> str:
        """Unique to this occurrence of this schedule; short enough for the id of a record."""
        return f"{self.schedule}@{self.occurrence}"


class Plan(NamedTuple):
    """Skips come before firings."""

    skipped: ScheduleSkipped | None
    firings: list[Firing]


def plan(state: ScheduleState, *, now: InstantNs, most: int) -> Plan:
    """The plan, with at most `most` firings; the remaining ones are due at the next call as well."""
    if state.remaining is not None:
        most = min(most, state.remaining)
    last_missed = _last_due(state, InstantNs(now - state.config.misfire_after_ms * MS_NS - 1))
    if last_missed is None:
        return Plan(None, _on_time(state, now, state.settled, most))
    match state.config.misfire:
        case Misfire.SKIP:
            skipped = _skipped(state, last_missed, now)
            return Plan(skipped, _on_time(state, now, last_missed, most))
        case Misfire.ONCE:
            last = _last_due(state, now)
            assert last is not None
            count = len(state.first(last, COUNTED))
            return Plan(None, [_firing(state, last, state.settled, Outcome.CAUGHT_UP, count)][:most])
        case Misfire.ALL:
            return _catch_up(state, last_missed, now, most)


def _catch_up(state: ScheduleState, last_missed: InstantNs, now: InstantNs, most: int) -> Plan:
    """The latest missed occurrences, in order, then those on time."""
    missed = state.latest(last_missed, state.config.catch_up_most + 1)
    skipped = None
    if len(missed) > state.config.catch_up_most:
        skipped = _skipped(state, missed.pop(0), now)
    after = state.settled if skipped is None else skipped.settled
    firings = []
    for occurrence in missed:
        firings.append(_firing(state, occurrence, after, Outcome.CAUGHT_UP))
        after = occurrence
    firings += _on_time(state, now, after, most)
    return Plan(skipped, firings[:most])


def _on_time(state: ScheduleState, now: InstantNs, after: InstantNs, most: int) -> list[Firing]:
    firings = []
    for occurrence in _settled_up_to(state, after).first(now, most):
        if state.due_at(occurrence) > now:
            break
        firings.append(_firing(state, occurrence, after, Outcome.FIRED))
        after = occurrence
    return firings


def _last_due(state: ScheduleState, by: InstantNs) -> InstantNs | None:
    """The last unsettled occurrence that was due by then.

    Jitter is shorter than the time to the next occurrence, so only the last one that has begun may still wait.
    """
    return next((each for each in reversed(state.latest(by, 2)) if state.due_at(each) <= by), None)


def _skipped(state: ScheduleState, last: InstantNs, now: InstantNs) -> ScheduleSkipped:
    gone = state.first(last, COUNTED)
    return ScheduleSkipped(now, state.config.id, gone[0], last, len(gone), "missed")


def _firing(state: ScheduleState, occurrence: InstantNs, after: InstantNs, outcome: Outcome, count: int = 1) -> Firing:
    config = state.config
    return Firing(config.id, occurrence, after, outcome, count, config.topic, config.record())


def _settled_up_to(state: ScheduleState, instant: InstantNs) -> ScheduleState:
    return msgspec.structs.replace(state, settled=instant)
