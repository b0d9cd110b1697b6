"""One run of a load: when it ends, what it counts, and at which pace it goes."""

import asyncio
import time
from collections import Counter

from goqueue.cli.load.latencies import Latencies
from goqueue.cli.load.plan import Plan, Progress, Summary
from goqueue.errors import GoQueueError

__all__ = ["Run"]

PAUSE_AFTER_ERROR_S = 0.1


class Run:
    """Shared by all connections of a process."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.latencies = Latencies()
        self.waiting = 0
        self._go = asyncio.Event()
        self._failures: Counter[str] = Counter()
        self._records = self._bytes = self._begun = 0
        self._start = self._last = time.perf_counter()

    async def line_up(self) -> None:
        """Connected; begin together with the others."""
        self.waiting += 1
        await self._go.wait()

    def begin(self) -> None:
        self._go.set()
        self._start = self._last = time.perf_counter()

    @property
    def now(self) -> float:
        return time.perf_counter()

    @property
    def is_over(self) -> bool:
        return self.now - self._start >= self.plan.seconds or self._are_enough(self._records)

    def next_share(self, most: int) -> int:
        """How many of the wanted records the caller may do next; 0 when all are given out or time is up."""
        if self.now - self._start >= self.plan.seconds:
            return 0
        share = most if self.plan.records is None else min(most, self.plan.records - self._begun)
        self._begun += share
        return share

    def _are_enough(self, records: int) -> bool:
        return self.plan.records is not None and records >= self.plan.records

    def did(self, records: int, size: int) -> None:
        self._records += records
        self._bytes += size
        self._last = time.perf_counter()

    async def failed(self, error: GoQueueError) -> None:
        self._failures[error.code] += 1
        await asyncio.sleep(PAUSE_AFTER_ERROR_S)

    async def until(self, due: float) -> None:
        if (early := due - time.perf_counter()) > 0:
            await asyncio.sleep(early)

    @property
    def start(self) -> float:
        return self._start

    @property
    def progress(self) -> Progress:
        return Progress(self._records, self._bytes, sum(self._failures.values()))

    @property
    def summary(self) -> Summary:
        took = max(self._last - self._start, 1e-9)
        return Summary(self._records, self._bytes, took, self.latencies.counts, dict(self._failures))
