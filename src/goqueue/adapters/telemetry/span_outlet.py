"""Span outlet: the event loop adds spans to a queue, and a thread sends them to their destination."""

import asyncio
import threading
import time
import traceback
from collections import deque
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

from goqueue.adapters.telemetry.logs import Logger
from goqueue.adapters.telemetry.span_metrics import SpanCounters
from goqueue.model.span import SpanRun

__all__ = ["Destination", "SpanOutlet", "running_outlet"]

LOOK_EVERY_S = 0.25
PAUSE_AFTER_S = 0.005
STOP_WITHIN_S = 1.5
"""Time for sending at a stop; spans left after it are dropped, so that a broker does not wait for a collector."""


class Destination(Protocol):
    """Destination of an outlet. Used by its thread only, except for `give_up`."""

    name: str
    room: int
    """Limit of the waiting spans, as the sum of their weights."""

    def weight(self, run: SpanRun) -> int:
        """Weight of a run. Called by the event loop."""

    def send(self, runs: Iterator[SpanRun]) -> tuple[int, int]:
        """Send all runs; returns the numbers of spans sent and failed. Raises nothing."""

    def close(self) -> None:
        """Release resources after everything was sent."""

    def give_up(self) -> None:
        """End the send in progress; called by another thread when the time is up."""


class SpanOutlet:
    """See `goqueue.engine.tracing.tracing.Sink`. The thread polls, and is woken only when it is idle."""

    def __init__(self, destination: Destination, logger: Logger, counters: SpanCounters) -> None:
        self._destination = destination
        self._log = logger
        self._counters = counters
        counters.begin(destination.name)
        self._waiting: deque[Sequence[SpanRun]] = deque()
        # Each of the two counters is written by one thread only, so neither needs a lock.
        self._put = 0
        self._taken = 0
        self._told_of_drops = False
        self._stop = threading.Event()
        self._is_idle = False
        self._came = threading.Event()
        self._is_late = False
        self._thread = threading.Thread(target=self._run, name=f"spans-{destination.name}", daemon=True)

    def take(self, runs: Sequence[SpanRun]) -> int | None:
        """Add spans to the queue; room is checked once, so one batch may exceed the limit."""
        if self._put - self._taken >= self._destination.room:
            spans = sum(run.count for run in runs)
            self._counters.dropped(self._destination.name, spans)
            if not self._told_of_drops:
                self._told_of_drops = True
                self._log.warning(
                    "spans are dropped: they come faster than they go",
                    to=self._destination.name,
                    hint="trace fewer records with tracing.rate, or trace_rate of a topic",
                )
            return spans
        self._waiting.append(runs)
        self._put += sum(map(self._destination.weight, runs))
        if self._is_idle:
            self._came.set()
        return None

    def start(self) -> None:
        self._thread.start()

    async def stop(self) -> None:
        """Send the waiting spans, unless that takes too long."""
        self._stop.set()
        self._came.set()
        await asyncio.to_thread(self._thread.join, STOP_WITHIN_S)
        if self._thread.is_alive():
            self._is_late = True
            await asyncio.to_thread(self._destination.give_up)
            self._log.warning("spans were left behind at the stop", to=self._destination.name)

    def _run(self) -> None:
        is_last = False
        while not is_last:
            is_last = self._stop.wait(LOOK_EVERY_S)
            taken = self._taken
            try:
                sent, failed = self._destination.send(self._drain())
                self._counters.went(self._destination.name, sent, failed)
            except Exception as bug:
                # Logged, because otherwise the thread would end silently and lose spans.
                self._log.error("bug", error=repr(bug), traceback="".join(traceback.format_exception(bug)))
            if self._taken == taken:
                self._sleep()
        if not self._is_late:
            self._destination.close()

    def _sleep(self) -> None:
        """Until spans come, or the stop."""
        self._came.clear()
        self._is_idle = True
        # What came before it was idle did not wake it.
        if not self._waiting and not self._stop.is_set():
            self._came.wait()
        self._is_idle = False

    def _drain(self) -> Iterator[SpanRun]:
        """Runs that are waiting now; later ones wait for the next round."""
        since_s = time.thread_time()
        for _ in range(len(self._waiting)):
            if self._is_late:
                return
            for run in self._waiting.popleft():
                yield run
                # A run takes room until it is sent.
                self._taken += self._destination.weight(run)
                worked_s = time.thread_time() - since_s
                if worked_s >= PAUSE_AFTER_S:
                    # Pause as long as the work took: only one Python thread runs at a time, and records have priority.
                    self._stop.wait(worked_s)
                    since_s = time.thread_time()


@asynccontextmanager
async def running_outlet(outlet: SpanOutlet) -> AsyncIterator[SpanOutlet]:
    outlet.start()
    try:
        yield outlet
    finally:
        await outlet.stop()
