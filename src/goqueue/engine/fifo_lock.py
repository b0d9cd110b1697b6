"""FIFO lock: held by one at a time, in the order of the requests; callbacks may wait for it as tasks do."""

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial

__all__ = ["FifoLock"]


class FifoLock:
    """For one event loop."""

    __slots__ = ("_is_taken", "_waiting")

    def __init__(self) -> None:
        self._is_taken = False
        self._waiting: deque[Callable[[], object]] | None = None
        """Made for the first one that has to wait: it is larger than all the rest of a queue's state."""

    def locked(self) -> bool:
        return self._is_taken

    def ask(self, begin: Callable[[], None]) -> None:
        """Have `begin` called as the holder, which must `release`.

        It is never called immediately, so that requests of one pass of the event loop are decided together.
        """
        soon = partial(asyncio.get_running_loop().call_soon, begin)
        if self._is_taken:
            self._wait(soon)
        else:
            self._is_taken = True
            soon()

    async def acquire(self) -> None:
        """Returns without a pass of the event loop if the lock is free."""
        if not self._is_taken:
            self._is_taken = True
            return
        reply: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._wait(partial(self._give, reply))
        try:
            await reply
        except asyncio.CancelledError:
            if not reply.cancelled():
                # It was given just before the cancellation.
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
            # The task that waited was cancelled.
            self.release()
        else:
            reply.set_result(None)
