"""Requests that wait for something to happen, and are made to answer at once when the broker stops."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

__all__ = ["Waits"]

T = TypeVar("T")


class Waits:
    """Of all connections of a listener."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self.are_over = False

    def end(self) -> None:
        self.are_over = True
        for task in tuple(self._tasks):
            task.cancel()

    async def wait(self, work: Awaitable[T], instead: Callable[[], Awaitable[T]]) -> T:
        """What the work gives, or what is given instead of it when waiting is over."""
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            return await work
        except asyncio.CancelledError:
            if not self.are_over:
                raise
            task.uncancel()
            return await instead()
        finally:
            self._tasks.discard(task)
