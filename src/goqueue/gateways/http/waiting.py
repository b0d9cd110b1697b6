"""Requests that wait for something to happen: the wait ends early when the client goes away or the broker stops."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.types import Receive

from goqueue.gateways.http.responses import HttpRefusal

__all__ = ["ClientGone", "Waiting"]


class ClientGone(Exception):
    """Nobody is left to be answered."""


async def _keep(_: Any) -> None:
    """For work that changes nothing."""


class Waiting:
    """Knows the waits under way."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Future[Any]] = set()
        self._stopping = False

    def __len__(self) -> int:
        return len(self._tasks)

    def stop(self) -> None:
        """End all waits, and begin no more."""
        self._stopping = True
        for task in self._tasks:
            task.cancel()

    async def result_of(
        self, work: Awaitable[Any], receive: Receive, take_back: Callable[[Any], Awaitable[None]] = _keep
    ) -> Any:
        """What the work returns, unless there is a reason not to wait for it any longer.

        When the work was done in the moment in which the client went away, its result is given to `take_back`.
        """
        task = asyncio.ensure_future(work)
        gone = asyncio.ensure_future(_until_gone(receive))
        self._tasks.add(task)
        try:
            if self._stopping:
                raise self._reason()
            await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
            if task.done() and not task.cancelled() and not gone.done():
                return task.result()
            raise self._reason()
        finally:
            self._tasks.discard(task)
            gone.cancel()
            task.cancel()
            # A handler may have something to put back on its way out.
            await asyncio.wait({task, gone})
            # What it was refused is of no interest any more, and asking for it says so.
            has_result = not task.cancelled() and task.exception() is None
            if has_result and not gone.cancelled():
                await take_back(task.result())

    def _reason(self) -> Exception:
        if not self._stopping:
            return ClientGone()
        return HttpRefusal(503, "not_ready", "the broker is stopping", headers=((b"connection", b"close"),))


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
