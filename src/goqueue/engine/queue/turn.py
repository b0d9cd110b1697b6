"""Whose turn it is to change a queue: one at a time, and the others in the order in which they came."""

import asyncio
from collections import deque
from collections.abc import Callable
from functools import partial

__all__ = ["Turn"]


class Turn:
    """As a lock; those who ask for it need not be tasks."""

    __slots__ = ("_is_taken", "_waiting")

    def __init__(self) -> None:
        self._is_taken = False
        self._waiting: deque[Callable[[], object]] | None = None
        """Made with the first who has to wait: it is larger than all the rest of a queue's state."""

    def locked(self) -> bool:
        return self._is_taken

    def ask(self, begin: Callable[[], None]) -> None:
        """Have `begin` called when its turn has come, which it has to `release`.

        Never at once: what comes in together is looked at together.
        """
        soon = partial(asyncio.get_running_loop().call_soon, begin)
        if self._is_taken:
            self._wait(soon)
        else:
            self._is_taken = True
            soon()

    async def acquire(self) -> None:
        """As `ask`, for those who wait; without waiting if nobody has the turn."""
        if not self._is_taken:
            self._is_taken = True
            return
        reply: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._wait(partial(self._give, reply))
        try:
            await reply
        except asyncio.CancelledError:
            if not reply.cancelled():
                # It was given in this very moment.
                self.release()
            raise

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
            # Whoever waited has gone away.
            self.release()
        else:
            reply.set_result(None)
