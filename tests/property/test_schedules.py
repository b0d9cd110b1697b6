"""Schedules under restarts, pauses, crashes in the middle of firing, and a clock that jumps.

A naive model that holds the whole list of occurrences says what has to fire; none may fire twice, none may get lost.
"""

import bisect
import functools

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from goqueue.core.schedules.cron import Times, occurrences_between
from goqueue.core.schedules.jitter import due_at
from goqueue.core.schedules.schedule import Misfire, ScheduleConfig, SchedulePatch
from goqueue.core.schedules.schedules import Schedules
from goqueue.core.schedules.state import Status
from tests.unit.schedules.scene import HOUR, MINUTE, SECOND, at, config, replayed, restored

# A day before clocks go back in Berlin.
BEGINNING = at("2026-10-24 01:00")
HORIZON = BEGINNING + 5 * 24 * HOUR
TIMES = [
    {"cron": "*/10 * * * *"},
    {"cron": "30 2 * * *", "zone": "Europe/Berlin"},
    {"cron": "0,30 1,2,3 * * *", "zone": "Europe/Berlin", "dst_overlap": "both"},
    {"cron": "20,40 * * * *", "zone": "America/New_York"},
    {"every_s": 420},
    {"every_s": 7200},
]
CONFIGS = st.builds(
    lambda times, **rest: {**times, **rest},
    st.sampled_from(TIMES),
    misfire=st.sampled_from(Misfire),
    misfire_after_ms=st.sampled_from([0, 60_000, 3_600_000]),
    catch_up_most=st.sampled_from([1, 3, 100]),
    jitter_ms=st.sampled_from([0, 0, 90_000, 10_000_000]),
    max_firings=st.sampled_from([None, None, None, 5]),
    start=st.sampled_from([None, None, BEGINNING + 30 * HOUR]),
    end=st.sampled_from([None, None, BEGINNING + 60 * HOUR]),
)
STEPS = [SECOND, MINUTE, 5 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR, 5 * HOUR, 26 * HOUR]


remembered_due_at = functools.cache(due_at)


@functools.cache
def all_occurrences(times: Times) -> list[int]:
    return occurrences_between(times, BEGINNING, HORIZON, 100_000)


class Model:
    """One schedule as a list of all its occurrences, of which those not settled are left."""

    def __init__(self, made: ScheduleConfig, times: Times, now: int):
        self.config, self.times = made, times
        self.left = self.occurrences_behind(now)
        self.fired: list[int] = []
        self.is_paused = False

    def occurrences_behind(self, instant: int) -> list[int]:
        first, last = max(instant + 1, self.config.start or 0), self.config.end or HORIZON
        return [each for each in all_occurrences(self.times) if first <= each <= last]

    def due_at(self, occurrence: int) -> int:
        return remembered_due_at(self.config.id, self.times, self.config.jitter_ms, occurrence)

    @property
    def may_fire(self) -> int:
        return 1 << 60 if self.config.max_firings is None else self.config.max_firings - len(self.fired)

    def to_do(self, now: int) -> tuple[list[int], list[int]]:
        """What to skip and what to fire."""
        if self.is_paused or not self.may_fire:
            return [], []
        due = [each for each in self.left if each <= now and self.due_at(each) <= now]
        missed = [each for each in due if now - self.due_at(each) > self.config.misfire_after_ms * 1_000_000]
        on_time = due[len(missed) :]
        if not missed:
            return [], on_time[: self.may_fire]
        match self.config.misfire:
            case Misfire.SKIP:
                return missed, on_time[: self.may_fire]
            case Misfire.ONCE:
                return [], due[-1:]
            case Misfire.ALL:
                kept = missed[-self.config.catch_up_most :]
                return missed[: -len(kept)], [*kept, *on_time][: self.may_fire]

    def settle(self, up_to: int) -> None:
        del self.left[: bisect.bisect_right(self.left, up_to)]


class SchedulesThatRestart(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.now = BEGINNING
        self.schedules = Schedules()
        self.models: dict[str, Model] = {}
        self.written = []
        self.middle = self.schedules.snapshot()
        self.since_middle = 0

    def write(self, *events):
        for event in events:
            self.schedules.apply(event)
            self.written.append(event)

    def pick(self, data):
        return data.draw(st.sampled_from(sorted(self.models)))

    @initialize(given=CONFIGS)
    def begin(self, given):
        self.make("first", given)

    def make(self, name, given):
        # A schedule with nothing left to fire is refused, which is not what this is about.
        enough = self.now + 29 * HOUR
        given = {key: value for key, value in given.items() if key not in ("start", "end") or (value or 0) > enough}
        made = config(id=name, **given)
        self.write(*self.schedules.create(made, now=self.now))
        self.models[name] = Model(made, self.schedules.state(name).times, self.now)

    @rule(name=st.sampled_from(["first", "second", "third"]), given=CONFIGS)
    def create(self, name, given):
        if name not in self.models:
            self.make(name, given)

    @precondition(lambda self: self.models)
    @rule(data=st.data())
    def delete(self, data):
        name = self.pick(data)
        self.write(*self.schedules.delete(name, now=self.now))
        del self.models[name]

    @rule(step=st.sampled_from(STEPS))
    def time_passes(self, step):
        if self.now + step < HORIZON - 4 * HOUR:
            self.now += step

    @rule(step=st.sampled_from(STEPS), data=st.data())
    def time_passes_and_brings_firings(self, step, data):
        self.time_passes(step)
        self.fire(data)

    @rule(step=st.sampled_from(STEPS))
    def the_clock_is_set_back(self, step):
        self.now = max(self.now - step, BEGINNING)

    @rule(data=st.data())
    def fire(self, data):
        """All that is due; or the broker stops after some of it was written."""
        decision = self.schedules.decide_firings(now=self.now, most=10_000)
        expected = {name: model.to_do(self.now) for name, model in self.models.items()}
        skips = {skip.schedule: skip for skip in decision.skips}
        for name, (skipped, fired) in expected.items():
            assert [firing.occurrence for firing in decision.firings if firing.schedule == name] == fired
            if skipped:
                skip = skips.pop(name)
                assert (skip.occurrence, skip.settled) == (skipped[0], skipped[-1])
                assert skip.count == min(len(skipped), 100)
        assert not skips

        everything = [*decision.skips, *decision.firings]
        written = data.draw(st.integers(0, len(everything))) if data.draw(st.booleans()) else len(everything)
        for skip in decision.skips[:written]:
            self.write(skip)
            self.models[skip.schedule].settle(skip.settled)
        for firing in decision.firings[: max(written - len(decision.skips), 0)]:
            self.write(self.schedules.fired(firing, now=self.now))
            model = self.models[firing.schedule]
            assert firing.occurrence in model.left
            model.settle(firing.occurrence)
            model.fired.append(firing.occurrence)
        if written < len(everything):
            self.restart()

    @rule()
    def restart(self):
        self.schedules = restored(self.schedules.snapshot())

    @rule()
    def replay(self):
        """From the beginning, and from the snapshot that was taken last."""
        assert replayed(self.written).snapshot() == self.schedules.snapshot()
        late = restored(self.middle)
        for event in self.written[self.since_middle :]:
            late.apply(event)
        assert late.snapshot() == self.schedules.snapshot()
        assert late.next_due() == self.schedules.next_due()
        self.schedules = late

    @rule()
    def take_a_snapshot(self):
        self.middle, self.since_middle = self.schedules.snapshot(), len(self.written)

    @precondition(lambda self: self.models)
    @rule(data=st.data())
    def pause(self, data):
        name = self.pick(data)
        self.write(*self.schedules.pause(name, now=self.now))
        self.models[name].is_paused = True

    @precondition(lambda self: any(model.is_paused for model in self.models.values()))
    @rule(data=st.data())
    def resume(self, data):
        name = self.pick(data)
        self.write(*self.schedules.resume(name, now=self.now))
        if self.models[name].is_paused:
            self.models[name].settle(self.now)
        self.models[name].is_paused = False

    @precondition(lambda self: self.models)
    @rule(data=st.data(), text=st.sampled_from(["", "a", "b"]))
    def describe(self, data, text):
        """A change that has nothing to do with times; it settles nothing, unless the schedule had ended."""
        name = self.pick(data)
        if self.schedules.state(name).status is not Status.ENDED:
            self.write(*self.schedules.change(name, SchedulePatch(description=text), now=self.now))

    @precondition(lambda self: self.models)
    @rule(data=st.data(), times=st.sampled_from(TIMES))
    def have_other_times(self, data, times):
        name = self.pick(data)
        model = self.models[name]
        before = self.schedules.state(name)
        if before.status is Status.ENDED or (model.config.end or HORIZON) < self.now + 30 * HOUR:
            return
        policies = {"zone": "UTC", "dst_overlap": "first", **times}
        events = self.schedules.change(name, SchedulePatch(**policies), now=self.now)
        self.write(*events)
        after = self.schedules.state(name)
        model.config, model.times = after.config, after.times
        if before.times != after.times:
            model.left = model.occurrences_behind(max(before.settled, self.now))

    def teardown(self):
        """Nothing fired twice, and the first occurrence that has not had its turn is the one that is waited for."""
        for model in self.models.values():
            assert model.fired == sorted(set(model.fired))
        for name, model in self.models.items():
            state = self.schedules.state(name)
            assert state.fired == len(model.fired)
            assert len(state.history) <= 20
            following = model.left[0] if model.left and model.may_fire else None
            assert state.next_occurrence() == following or (following is None and state.next_occurrence() > HORIZON)
            if not model.is_paused and following is not None:
                assert self.schedules.due_at(name) == model.due_at(following)


TestSchedulesThatRestart = SchedulesThatRestart.TestCase
TestSchedulesThatRestart.settings = settings(max_examples=120, stateful_step_count=40)
