"""Requests that wait for something to happen, and are made to answer at once when the broker stops."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

__all__ = ["Waits"]

T = TypeVar("T")


class Waits:
    """Of all connections of a listener."""

    def __init__(self) -> None:
        self._ends: set[Callable[[], object]] = set()
        self.are_over = False

    def end(self) -> None:
        self.are_over = True
        for end in tuple(self._ends):
            end()

    def add(self, end: Callable[[], object]) -> None:
        """Have `end` called when waiting is over, unless it is discarded before."""
        self._ends.add(end)

    def discard(self, end: Callable[[], object]) -> None:
        self._ends.discard(end)

    async def wait(self, work: Awaitable[T], instead: Callable[[], Awaitable[T]]) -> T:
        """What the work gives, or what is given instead of it when waiting is over."""
        task = asyncio.current_task()
        assert task is not None
        self.add(task.cancel)
        try:
            return await work
        except asyncio.CancelledError:
            if not self.are_over:
                raise
            task.uncancel()
            return await instead()
        finally:
            self.discard(task.cancel)
