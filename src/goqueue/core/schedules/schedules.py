"""Schedules of a broker: created, changed, paused and deleted by operators, fired by time.

Commands decide: they return events and change nothing; `apply` is the only writer. The events of a command are written
together and applied before the next command is given.

For each firing that `decide_firings` returns, the event of `fired` is written in one entry with the record. After a
crash there are both or neither: an occurrence without them is pending, one with them is settled.
"""

from collections.abc import Iterator
from typing import NamedTuple

from goqueue.core.schedules.agenda import Agenda
from goqueue.core.schedules.checks import check_config
from goqueue.core.schedules.events import (
    RecordPlace,
    ScheduleChanged,
    ScheduleCreated,
    ScheduleDeleted,
    ScheduleEvent,
    ScheduleFired,
    SchedulePaused,
    ScheduleResumed,
    ScheduleSkipped,
)
from goqueue.core.schedules.misfire import Firing, plan
from goqueue.core.schedules.schedule import ScheduleConfig, SchedulePatch, patched
from goqueue.core.schedules.state import ScheduleState, Status, created
from goqueue.errors import ScheduleExists, StateConflict, UnknownSchedule
from goqueue.model.ids import InstantNs

__all__ = ["MOST_SCHEDULES", "Decision", "Schedules"]

MOST_SCHEDULES = 100_000
MOST_FIRINGS = 100
"""Decided at a time: finding missed occurrences takes milliseconds for each schedule, and the broker has other work."""
MS_NS = 1_000_000


class Decision(NamedTuple):
    """First write and apply the skips, then publish the firings in order.

    When the record of one cannot be written now, leave out the later ones of that schedule: settling one settles all
    before it.
    """

    skips: list[ScheduleSkipped]
    firings: list[Firing]


class Schedules:
    """Schedules by id, in order of creation."""

    def __init__(self) -> None:
        self._states: dict[str, ScheduleState] = {}
        self._agenda = Agenda()

    # Commands of operators

    def create(self, config: ScheduleConfig, *, now: InstantNs) -> list[ScheduleEvent]:
        """The schedule may start at once, but does not fire for the time before its creation."""
        if config.id in self._states:
            raise ScheduleExists(f"there is a schedule {config.id} already")
        if len(self._states) >= MOST_SCHEDULES:
            raise StateConflict(
                f"there are {MOST_SCHEDULES} schedules, and there can be no more", hint="delete some that have ended"
            )
        check_config(config)
        event = ScheduleCreated(now, config, _anchor(now), InstantNs(now - 1 if config.start == now else now))
        _check_can_fire(created(event))
        return [event]

    def change(self, schedule_id: str, patch: SchedulePatch, *, now: InstantNs) -> list[ScheduleEvent]:
        """New times apply from now on. All other changes lose no occurrence that is due and has not fired yet."""
        state = self.state(schedule_id)
        config = patched(state.config, patch)
        if config == state.config:
            return []
        check_config(config)
        anchor = state.anchor if config.every_s == state.config.every_s else _anchor(now)
        has_other_times = (config.times(anchor), config.start) != (state.times, state.config.start)
        is_resumed = state.config.paused and not config.paused
        settled = state.settled
        if has_other_times or is_resumed or state.status is Status.ENDED:
            settled = max(settled, now)
        event = ScheduleChanged(now, config, anchor, settled)
        if has_other_times:
            _check_can_fire(state.after(event))
        return [event]

    def pause(self, schedule_id: str, *, now: InstantNs) -> list[ScheduleEvent]:
        return [] if self.state(schedule_id).config.paused else [SchedulePaused(now, schedule_id)]

    def resume(self, schedule_id: str, *, now: InstantNs) -> list[ScheduleEvent]:
        """Occurrences during the pause were not missed: they are not made up for, whatever the misfire policy."""
        state = self.state(schedule_id)
        if not state.config.paused:
            return []
        return [ScheduleResumed(now, schedule_id, max(state.settled, now))]

    def delete(self, schedule_id: str, *, now: InstantNs) -> list[ScheduleEvent]:
        return [ScheduleDeleted(now, self.state(schedule_id).config.id)]

    # Commands of time

    def next_due(self) -> InstantNs | None:
        """When to call `decide_firings` next. Ask again after every event; while it is in the past, call again."""
        return self._agenda.earliest()

    def decide_firings(self, *, now: InstantNs, most: int = MOST_FIRINGS) -> Decision:
        """The occurrences to fire and to skip now, by due time."""
        skips: list[ScheduleSkipped] = []
        firings: list[Firing] = []
        for schedule_id in self._agenda.due(now):
            room = most - len(skips) - len(firings)
            if room <= 0:
                break
            planned = plan(self._states[schedule_id], now=now, most=room)
            if planned.skipped is not None:
                skips.append(planned.skipped)
            firings += planned.firings
        return Decision(skips, firings)

    def is_next(self, decided: Firing | ScheduleSkipped) -> bool:
        """False if the schedule was changed since this was decided: then decide again."""
        state = self._states.get(decided.schedule)
        if state is None or state.config.paused:
            return False
        if isinstance(decided, Firing):
            return state.settled == decided.after
        return state.settled < decided.occurrence

    def fired(self, firing: Firing, *, now: InstantNs, place: RecordPlace | None = None) -> ScheduleFired:
        """The event to write with the record."""
        self._check_is_next(firing)
        return ScheduleFired(now, firing.schedule, firing.occurrence, firing.outcome, firing.count, place)

    def passed_over(self, firing: Firing, *, now: InstantNs, reason: str) -> ScheduleSkipped:
        """The event to write when the record can never be published, for example because its topic is gone."""
        self._check_is_next(firing)
        return ScheduleSkipped(now, firing.schedule, firing.occurrence, firing.occurrence, firing.count, reason)

    # Queries

    def __contains__(self, schedule_id: str) -> bool:
        return schedule_id in self._states

    def __iter__(self) -> Iterator[ScheduleState]:
        return iter(self._states.values())

    def __len__(self) -> int:
        return len(self._states)

    def state(self, schedule_id: str) -> ScheduleState:
        try:
            return self._states[schedule_id]
        except KeyError:
            raise UnknownSchedule(f"there is no schedule {schedule_id[:60]}") from None

    def due_at(self, schedule_id: str) -> InstantNs | None:
        """The next due time, jitter included; None while the schedule is paused and when it has ended."""
        return self._agenda.at(schedule_id)

    # Snapshots

    def apply(self, event: ScheduleEvent) -> None:
        match event:
            case ScheduleCreated():
                self._keep(created(event))
            case ScheduleChanged(_, config):
                self._keep(self._states[config.id].after(event))
            case ScheduleDeleted(_, schedule_id):
                del self._states[schedule_id]
                self._agenda.put(schedule_id, None)
            case _:
                self._keep(self._states[event.schedule].after(event))

    def snapshot(self) -> tuple[ScheduleState, ...]:
        return tuple(self._states.values())

    def restore(self, states: tuple[ScheduleState, ...]) -> None:
        self._states = {}
        self._agenda = Agenda()
        for state in states:
            self._keep(state)

    def _keep(self, state: ScheduleState) -> None:
        self._states[state.config.id] = state
        occurrence = None if state.config.paused else state.next_occurrence()
        self._agenda.put(state.config.id, None if occurrence is None else state.due_at(occurrence))

    def _check_is_next(self, firing: Firing) -> None:
        """Check that nothing was settled since the firing was decided, except the ones decided before it."""
        assert self.is_next(firing), f"{firing.identity} was not the next one"


def _anchor(now: InstantNs) -> InstantNs:
    """Whole milliseconds, so that occurrences counted from here have exact text forms."""
    return InstantNs(now - now % MS_NS)


def _check_can_fire(state: ScheduleState) -> None:
    if state.status is Status.ENDED:
        raise StateConflict(
            f"the schedule {state.config.id} would never fire",
            hint="it has no occurrence to come between its start and its end, or no firing left; "
            "check these and the expression",
        )
