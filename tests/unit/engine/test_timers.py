"""Timers run jobs when their deadlines have come, and sleep in between."""

import asyncio

import pytest

from goqueue.engine.timers import AFTER_FAILURE_MS, LONGEST_SLEEP_MS, TimedJob, Timers
from goqueue.errors import DiskFull
from goqueue.model.ids import InstantNs
from goqueue.testing.clock import FakeClock

MS = 1_000_000


class CountingClock(FakeClock):
    """Counts how often the loop goes to sleep."""

    def __init__(self) -> None:
        super().__init__()
        self.sleeps = 0

    async def sleep_ms(self, duration_ms: int) -> None:
        self.sleeps += 1
        await super().sleep_ms(duration_ms)


class Machine:
    """Something with deadlines."""

    def __init__(self, clock: FakeClock) -> None:
        self.clock = clock
        self.dues: list[int] = []
        self.fired: list[int] = []

    def next_deadline(self) -> int | None:
        return min(self.dues, default=None)

    async def fire(self) -> None:
        now = self.clock.now_ns()
        self.fired += [now] * sum(due <= now for due in self.dues)
        self.dues = [due for due in self.dues if due > now]


@pytest.fixture
def clock() -> CountingClock:
    return CountingClock()


@pytest.fixture
async def timers(clock):
    made, tasks, failures = Timers(clock), [], []

    def run(*jobs: TimedJob) -> Timers:
        made.add(*jobs)
        tasks.append(asyncio.ensure_future(made.run(lambda name, _: failures.append(name))))
        return made

    run.failures = failures
    yield run
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def settle():
    for _ in range(20):
        await asyncio.sleep(0)


async def pass_ms(clock, duration_ms):
    await settle()
    clock.advance_ms(duration_ms)
    await settle()


async def test_a_job_runs_when_its_deadline_has_come_and_not_before(timers, clock):
    machine = Machine(clock)
    machine.dues = [clock.now_ns() + 10 * MS, clock.now_ns() + 30 * MS]
    timers(TimedJob("machine", machine.fire, deadline=machine.next_deadline))
    await pass_ms(clock, 9)
    assert machine.fired == []
    await pass_ms(clock, 1)
    assert len(machine.fired) == 1
    await pass_ms(clock, 20)
    assert len(machine.fired) == 2


async def test_a_deadline_earlier_than_all_others_ends_the_sleep(timers, clock):
    machine = Machine(clock)
    machine.dues = [clock.now_ns() + 4000 * MS]
    running = timers(TimedJob("machine", machine.fire, deadline=machine.next_deadline))
    await settle()
    machine.dues.append(clock.now_ns() + 5 * MS)
    running.set(machine.dues[-1])
    await pass_ms(clock, 5)
    assert len(machine.fired) == 1


async def test_nothing_wakes_an_idle_loop_but_a_look_at_the_clock_every_few_seconds(timers, clock):
    machine = Machine(clock)
    machine.dues = [clock.now_ns() + 3_600_000 * MS]
    timers(*(TimedJob(f"machine {number}", machine.fire, deadline=machine.next_deadline) for number in range(10)))
    await settle()
    before = clock.sleeps
    for _ in range(60):
        await pass_ms(clock, 1000)
    assert clock.sleeps - before == 60_000 // LONGEST_SLEEP_MS
    assert machine.fired == []


async def test_what_falls_due_side_by_side_runs_together(timers, clock):
    machine, runs = Machine(clock), []

    async def fire():
        runs.append(clock.now_ns())
        await machine.fire()

    machine.dues = [InstantNs(clock.now_ns() + step * MS) for step in range(1, 101)]
    timers(TimedJob("machine", fire, deadline=machine.next_deadline, pause_ms=50))
    for _ in range(200):
        await pass_ms(clock, 1)
    assert len(machine.fired) == 100
    assert len(runs) == 3


async def test_a_clock_that_is_set_forward_is_noticed(timers, clock):
    machine = Machine(clock)
    machine.dues = [clock.now_ns() + 3_600_000 * MS]
    timers(TimedJob("machine", machine.fire, deadline=machine.next_deadline))
    await pass_ms(clock, 3_600_000)
    assert len(machine.fired) == 1


async def test_a_job_that_takes_long_holds_up_no_other_and_does_not_run_beside_itself(timers, clock):
    machine, may_end, runs = Machine(clock), asyncio.Event(), []

    async def slow():
        runs.append(1)
        await may_end.wait()

    machine.dues = [clock.now_ns() + 10 * MS]
    timers(TimedJob("slow", slow), TimedJob("machine", machine.fire, deadline=machine.next_deadline))
    await pass_ms(clock, 10)
    await pass_ms(clock, 10)
    assert (runs, len(machine.fired)) == ([1], 1)
    may_end.set()
    await pass_ms(clock, 10)
    assert len(runs) > 1


async def test_a_job_that_fails_is_reported_and_tried_again_later(timers, clock):
    attempts = []

    async def failing():
        attempts.append(clock.now_ns())
        raise DiskFull("no room")

    machine = Machine(clock)
    machine.dues = [clock.now_ns()]
    timers(TimedJob("failing", failing, deadline=machine.next_deadline))
    await pass_ms(clock, AFTER_FAILURE_MS - 1)
    assert (len(attempts), timers.failures) == (1, ["failing"])
    await pass_ms(clock, 1)
    assert len(attempts) == 2
