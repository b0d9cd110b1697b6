"""Clock of this machine; no other module of the broker reads a clock."""

import asyncio
import time
from collections.abc import Callable
from typing import cast

from goqueue.model.ids import InstantNs

__all__ = ["SystemClock"]


class SystemClock:
    """Wall time of this machine."""

    # The C function itself, because it is called several times per request.
    now_ns = staticmethod(cast(Callable[[], InstantNs], time.time_ns))

    async def sleep_ms(self, duration_ms: int) -> None:
        await asyncio.sleep(duration_ms / 1000)
