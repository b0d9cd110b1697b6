"""Schedule events."""

from enum import StrEnum

import msgspec

from goqueue.core.schedules.schedule import ScheduleConfig
from goqueue.model.ids import InstantNs

__all__ = [
    "Outcome",
    "RecordPlace",
    "ScheduleChanged",
    "ScheduleCreated",
    "ScheduleDeleted",
    "ScheduleEvent",
    "ScheduleFired",
    "SchedulePaused",
    "ScheduleResumed",
    "ScheduleSkipped",
]


class Outcome(StrEnum):
    """Outcome of an occurrence."""

    FIRED = "fired"
    SKIPPED = "skipped"
    CAUGHT_UP = "caught_up"
    """Fired, but only after it had been missed."""


class RecordPlace(msgspec.Struct, frozen=True, array_like=True):
    """Position of the record written by a firing."""

    partition: int
    offset: int


class ScheduleCreated(msgspec.Struct, frozen=True, tag="schedule_created"):
    """Occurrences up to `settled` do not fire."""

    at: InstantNs
    config: ScheduleConfig
    anchor: InstantNs
    settled: InstantNs


class ScheduleChanged(msgspec.Struct, frozen=True, tag="schedule_changed"):
    at: InstantNs
    config: ScheduleConfig
    anchor: InstantNs
    settled: InstantNs


class SchedulePaused(msgspec.Struct, frozen=True, tag="schedule_paused"):
    at: InstantNs
    schedule: str


class ScheduleResumed(msgspec.Struct, frozen=True, tag="schedule_resumed"):
    """Occurrences up to `settled` fell into the pause, and are not made up for."""

    at: InstantNs
    schedule: str
    settled: InstantNs


class ScheduleDeleted(msgspec.Struct, frozen=True, tag="schedule_deleted"):
    at: InstantNs
    schedule: str


class ScheduleFired(msgspec.Struct, frozen=True, tag="schedule_fired"):
    """Written in the same entry as the record, so that neither exists without the other.

    It settles all occurrences up to its own, and counts for `count` of them.
    """

    at: InstantNs
    schedule: str
    occurrence: InstantNs
    outcome: Outcome
    count: int = 1
    place: RecordPlace | None = None


class ScheduleSkipped(msgspec.Struct, frozen=True, tag="schedule_skipped"):
    """Occurrences from `occurrence` up to `settled` will not fire. Large numbers are not counted to the end."""

    at: InstantNs
    schedule: str
    occurrence: InstantNs
    settled: InstantNs
    count: int
    reason: str


ScheduleEvent = (
    ScheduleCreated
    | ScheduleChanged
    | SchedulePaused
    | ScheduleResumed
    | ScheduleDeleted
    | ScheduleFired
    | ScheduleSkipped
)
