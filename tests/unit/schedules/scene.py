"""Schedules that are told to do something, with what was fired and everything that was written."""

from datetime import UTC, datetime

import msgspec

from goqueue.core.schedules.events import ScheduleEvent
from goqueue.core.schedules.schedule import ScheduleConfig, SchedulePatch
from goqueue.core.schedules.schedules import Schedules
from goqueue.core.schedules.state import ScheduleState
from goqueue.model.ids import InstantNs

SECOND = 1_000_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE


def at(text: str) -> InstantNs:
    """The instant of a time in UTC, as `2026-03-29 01:00` or with seconds."""
    return InstantNs(int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * SECOND)


def shown(instant: int) -> str:
    """The opposite of `at`, without seconds when they are zero."""
    text = datetime.fromtimestamp(instant // SECOND, UTC).strftime("%Y-%m-%d %H:%M:%S")
    return text.removesuffix(":00")


def config(**given) -> ScheduleConfig:
    if "every_s" not in given:
        given.setdefault("cron", "0 * * * *")
    return ScheduleConfig(**{"id": "report", "topic": "reports", "value": b"go", **given})


def restored(states: tuple[ScheduleState, ...]) -> Schedules:
    """As after a restart: through the bytes of a snapshot."""
    kept = msgspec.msgpack.encode(states)
    again = Schedules()
    again.restore(msgspec.msgpack.decode(kept, type=tuple[ScheduleState, ...]))
    return again


def replayed(events: list[ScheduleEvent]) -> Schedules:
    kept = msgspec.msgpack.encode(events)
    again = Schedules()
    for event in msgspec.msgpack.decode(kept, type=list[ScheduleEvent]):
        again.apply(event)
    return again


class Scene:
    def __init__(self, now: str = "2026-06-01 12:30") -> None:
        self.now = at(now)
        self.schedules = Schedules()
        self.written: list[ScheduleEvent] = []
        self.fired: list[tuple[str, str]] = []

    def write(self, *events: ScheduleEvent) -> None:
        for event in events:
            self.schedules.apply(event)
            self.written.append(event)

    def create(self, **given) -> None:
        self.write(*self.schedules.create(config(**given), now=self.now))

    def change(self, schedule_id: str = "report", **given) -> None:
        self.write(*self.schedules.change(schedule_id, SchedulePatch(**given), now=self.now))

    def pause(self) -> None:
        self.write(*self.schedules.pause("report", now=self.now))

    def resume(self) -> None:
        self.write(*self.schedules.resume("report", now=self.now))

    def delete(self) -> None:
        self.write(*self.schedules.delete("report", now=self.now))

    def restart(self) -> None:
        self.schedules = restored(self.schedules.snapshot())

    def clock(self, text: str) -> "Scene":
        self.now = at(text)
        return self

    def fire(self) -> list[str]:
        """Do all that is due; the occurrences that fired."""
        fired = []
        while (due := self.schedules.next_due()) is not None and due <= self.now:
            decision = self.schedules.decide_firings(now=self.now)
            assert decision.skips or decision.firings
            self.write(*decision.skips)
            for firing in decision.firings:
                self.write(self.schedules.fired(firing, now=self.now))
                fired.append(shown(firing.occurrence))
                self.fired.append((firing.schedule, fired[-1]))
        return fired

    def run(self, until: str) -> list[str]:
        """Let time pass with the broker there all the time."""
        fired = []
        end = at(until)
        while (due := self.schedules.next_due()) is not None and due <= end:
            self.now = max(self.now, due)
            fired += self.fire()
        self.now = end
        return fired

    @property
    def state(self) -> ScheduleState:
        return self.schedules.state("report")

    def history(self) -> list[tuple[str, str, int]]:
        return [(shown(entry.occurrence), entry.outcome.value, entry.count) for entry in self.state.history]
