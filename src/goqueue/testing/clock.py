"""Fake clock: time advances only when a test advances it."""

import asyncio
import heapq

from goqueue.model.ids import InstantNs

__all__ = ["FakeClock"]

NS_PER_MS = 1_000_000


class FakeClock:
    """Starts at a fixed instant; only `advance_ms` and `advance_ns` move it, and wake the sleepers that are due."""

    def __init__(self, now_ns: int = 1_700_000_000_000_000_000) -> None:
        self._now_ns = now_ns
        self._sleepers: list[tuple[int, int, asyncio.Future[None]]] = []
        self._slept = 0

    def now_ns(self) -> InstantNs:
        return InstantNs(self._now_ns)

    async def sleep_ms(self, duration_ms: int) -> None:
        wake_up: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._slept += 1
        heapq.heappush(self._sleepers, (self._now_ns + duration_ms * NS_PER_MS, self._slept, wake_up))
        await wake_up

    def advance_ms(self, duration_ms: int) -> None:
        self.advance_ns(duration_ms * NS_PER_MS)

    def advance_ns(self, duration_ns: int) -> None:
        self._now_ns += duration_ns
        while self._sleepers and self._sleepers[0][0] <= self._now_ns:
            _, _, wake_up = heapq.heappop(self._sleepers)
            if not wake_up.done():
                wake_up.set_result(None)
