"""Timers: run background jobs at their deadlines; the only place of the engine that sleeps.

Each state machine reports its next deadline; the loop sleeps until the earliest one. A new deadline that is earlier
ends the sleep.
"""

import asyncio
from collections.abc import Awaitable, Callable

from goqueue.engine.ports import Clock
from goqueue.errors import GoQueueError
from goqueue.model.delay import LATEST_NS
from goqueue.model.ids import InstantNs

__all__ = ["TimedJob", "Timers", "idle_until"]

LONGEST_SLEEP_MS = 5000
"""The clock may be set while the broker sleeps."""
AFTER_FAILURE_MS = 1000
NS_PER_MS = 1_000_000
IDLE_NS = LONGEST_SLEEP_MS * NS_PER_MS

Deadline = Callable[[], int | None]


def _always() -> int:
    return 0


def idle_until(now: int) -> int:
    """When an idle broker looks at something again; the same times for all jobs, so that they wake it together."""
    return (now // IDLE_NS + 1) * IDLE_NS


class TimedJob:
    """Runs when its deadline has come, never overlapping itself, and rests for `pause_ms` after each run.

    A job without deadlines is due whenever it has rested.
    """

    def __init__(
        self, name: str, run: Callable[[], Awaitable[object]], *, deadline: Deadline = _always, pause_ms: int = 0
    ) -> None:
        self.name = name
        self.run = run
        self._deadline = deadline
        self._pause_ns = pause_ms * NS_PER_MS
        self._rests_until = 0
        self._is_running = False

    def due(self) -> int | None:
        """The time of the next run; None while it runs or has no deadline."""
        if self._is_running:
            return None
        at = self._deadline()
        return None if at is None else max(at, self._rests_until)

    def begin(self) -> None:
        self._is_running = True

    def end(self, now: int, *, pause_ms: int = 0) -> None:
        self._is_running = False
        self.rest(now, pause_ms=pause_ms)

    def rest(self, now: int, *, pause_ms: int = 0) -> None:
        self._rests_until = now + max(self._pause_ns, pause_ms * NS_PER_MS)


class Timers:
    """One loop for all jobs; each run is a task, so that a long one delays no other."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._jobs: list[TimedJob] = []
        self._until = LATEST_NS
        self._news = asyncio.Event()

    def add(self, *jobs: TimedJob) -> None:
        """Add jobs."""
        self._jobs += jobs
        self._news.set()

    def set(self, at: int) -> None:
        """Note that something is due at this time."""
        if at < self._until:
            self._until = at
            self._news.set()

    async def run(self, failed: Callable[[str, GoQueueError], None]) -> None:
        """Run until cancelled. A job that fails is tried again later."""
        async with asyncio.TaskGroup() as group:
            while True:
                self._news.clear()
                self._until = LATEST_NS
                now = self._clock.now_ns()
                for job in self._jobs:
                    at = job.due()
                    if at is None:
                        continue
                    if at <= now:
                        job.begin()
                        group.create_task(self._run(job, failed))
                    else:
                        self._until = min(self._until, at)
                await self._sleep(now)

    async def _run(self, job: TimedJob, failed: Callable[[str, GoQueueError], None]) -> None:
        pause_ms = 0
        try:
            await job.run()
        except GoQueueError as failure:
            pause_ms = AFTER_FAILURE_MS
            failed(job.name, failure)
        finally:
            job.end(self._clock.now_ns(), pause_ms=pause_ms)
            self._news.set()

    async def _sleep(self, now: InstantNs) -> None:
        """Sleep until the earliest deadline, or until one that is earlier is set."""
        left_ms = -(-(self._until - now) // NS_PER_MS)
        sleeping = asyncio.ensure_future(self._clock.sleep_ms(min(left_ms, LONGEST_SLEEP_MS)))
        news = asyncio.ensure_future(self._news.wait())
        try:
            await asyncio.wait((sleeping, news), return_when=asyncio.FIRST_COMPLETED)
        finally:
            sleeping.cancel()
            news.cancel()
