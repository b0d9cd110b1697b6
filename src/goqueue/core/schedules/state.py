"""Schedule state as an immutable value: an event makes a new one.

`settled` is the key to firing each occurrence once: occurrences up to it have fired or never will, later ones are
pending. It only grows, so neither a restart nor a clock set back repeats an occurrence. After a clock was ahead by
mistake, a schedule is silent until its next occurrence after the one it fired then.
"""

from enum import StrEnum

import msgspec

from goqueue.core.schedules.cron import Times, latest_between, next_after, occurrences_between
from goqueue.core.schedules.events import (
    Outcome,
    RecordPlace,
    ScheduleChanged,
    ScheduleCreated,
    ScheduleFired,
    SchedulePaused,
    ScheduleResumed,
    ScheduleSkipped,
)
from goqueue.core.schedules.jitter import due_at
from goqueue.core.schedules.schedule import ScheduleConfig
from goqueue.model.ids import InstantNs

__all__ = ["HistoryEntry", "ScheduleState", "Status", "created"]

HISTORY_KEPT = 20


class Status(StrEnum):
    ACTIVE = "active"
    PAUSED = "paused"
    ENDED = "ended"
    """There is no later occurrence, or it has fired the maximum number of times. A change can reactivate it."""


class HistoryEntry(msgspec.Struct, frozen=True):
    """Outcome of an occurrence, or of several at once: then this is the last, if it fired, or the first skipped."""

    occurrence: InstantNs
    at: InstantNs
    outcome: Outcome
    count: int = 1
    place: RecordPlace | None = None
    reason: str = ""


class ScheduleState(msgspec.Struct, frozen=True):
    """Whether the schedule has ended is derived, so it cannot be inconsistent."""

    config: ScheduleConfig
    created_at: InstantNs
    changed_at: InstantNs
    anchor: InstantNs
    settled: InstantNs
    fired: int = 0
    history: tuple[HistoryEntry, ...] = ()

    @property
    def times(self) -> Times:
        return self.config.times(self.anchor)

    @property
    def status(self) -> Status:
        if self.next_occurrence() is None:
            return Status.ENDED
        return Status.PAUSED if self.config.paused else Status.ACTIVE

    @property
    def remaining(self) -> int | None:
        """Number of firings left."""
        return None if self.config.max_firings is None else max(self.config.max_firings - self.fired, 0)

    def next_occurrence(self) -> InstantNs | None:
        """The first unsettled occurrence; also of a paused schedule."""
        if self.remaining == 0:
            return None
        found = next_after(self.times, self._opening())
        return found if found is not None and (self.config.end is None or found <= self.config.end) else None

    def first(self, until: InstantNs, most: int) -> list[InstantNs]:
        """The first unsettled occurrences."""
        return occurrences_between(self.times, self._opening(), self._closing(until), most)

    def latest(self, until: InstantNs, most: int) -> list[InstantNs]:
        """The last unsettled occurrences."""
        return latest_between(self.times, self._opening(), self._closing(until), most)

    def due_at(self, occurrence: InstantNs) -> InstantNs:
        return due_at(self.config.id, self.times, self.config.jitter_ms, occurrence)

    def after(
        self, event: ScheduleChanged | SchedulePaused | ScheduleResumed | ScheduleFired | ScheduleSkipped
    ) -> "ScheduleState":
        replace = msgspec.structs.replace
        match event:
            case ScheduleChanged(at, config, anchor, settled):
                return replace(self, config=config, changed_at=at, anchor=anchor, settled=settled)
            case SchedulePaused(at):
                return replace(self, config=replace(self.config, paused=True), changed_at=at)
            case ScheduleResumed(at, _, settled):
                return replace(self, config=replace(self.config, paused=False), changed_at=at, settled=settled)
            case ScheduleFired(at, _, occurrence, outcome, count, place):
                noted = self._noted(HistoryEntry(occurrence, at, outcome, count, place))
                return replace(self, settled=occurrence, fired=self.fired + 1, history=noted)
            case ScheduleSkipped(at, _, occurrence, settled, count, reason):
                noted = self._noted(HistoryEntry(occurrence, at, Outcome.SKIPPED, count, None, reason))
                return replace(self, settled=settled, history=noted)

    def _opening(self) -> InstantNs:
        """A future start does not count as settled: it may still be moved to an earlier time."""
        return self.settled if self.config.start is None else InstantNs(max(self.settled, self.config.start - 1))

    def _closing(self, until: InstantNs) -> InstantNs:
        return until if self.config.end is None else min(until, self.config.end)

    def _noted(self, entry: HistoryEntry) -> tuple[HistoryEntry, ...]:
        return (*self.history, entry)[-HISTORY_KEPT:]


def created(event: ScheduleCreated) -> ScheduleState:
    return ScheduleState(event.config, event.at, event.at, event.anchor, event.settled)
