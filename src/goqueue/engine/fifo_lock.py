"""FIFO lock: one holder at a time, in the order of the requests; tasks and callbacks may wait for it."""

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial

__all__ = ["FifoLock"]


class FifoLock:
    """For use on one event loop."""

    __slots__ = ("_is_taken", "_waiting")

    def __init__(self) -> None:
        self._is_taken = False
        self._waiting: deque[Callable[[], object]] | None = None
        """Created for the first waiter, as it is larger than the rest of a queue's state."""

    def locked(self) -> bool:
        return self._is_taken

    def ask(self, begin: Callable[[], None]) -> None:
        """Call `begin` as the holder, which must `release`.

        It is never called immediately, so that requests of one pass of the event loop are decided together.
        """
        soon = partial(asyncio.get_running_loop().call_soon, begin)
        if self._is_taken:
            self._wait(soon)
        else:
            self._is_taken = True
            soon()

    async def acquire(self) -> None:
        """Acquire the lock; returns without a pass of the event loop if it is free."""
        if not self._is_taken:
            self._is_taken = True
            return
        reply: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._wait(partial(self._give, reply))
        try:
            await reply
        except asyncio.CancelledError:
            if not reply.cancelled():
                # The lock was granted just before the cancellation.
                self.release()
            raise

    async def __aenter__(self) -> None:
        await self.acquire()

    async def __aexit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        if self._waiting:
            self._waiting.popleft()()
        else:
            self._is_taken = False

    def _wait(self, begin: Callable[[], object]) -> None:
        if self._waiting is None:
            self._waiting = deque()
        self._waiting.append(begin)

    def _give(self, reply: asyncio.Future[None]) -> None:
        if reply.done():
            # The waiting task was cancelled.
            self.release()
        else:
            reply.set_result(None)
