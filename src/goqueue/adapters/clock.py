"""The one place that reads the clock."""

import asyncio
import time

from goqueue.model.ids import InstantNs

__all__ = ["SystemClock"]


class SystemClock:
    """Wall time of this machine."""

    def now_ns(self) -> InstantNs:
        return InstantNs(time.time_ns())

    async def sleep_ms(self, duration_ms: int) -> None:
        await asyncio.sleep(duration_ms / 1000)
