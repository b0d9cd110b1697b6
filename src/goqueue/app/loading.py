"""Loading of modules after the start: gRPC in the background, HTTP and the console on first use.

The imports take some tenths of a second, so they run in a thread while the event loop serves clients.
"""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable, MutableMapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Any

from goqueue.errors import GoQueueError

if TYPE_CHECKING:
    from goqueue.gateways.http.app import Pages

__all__ = ["PagesOnDemand", "served_in_background", "served_on_demand", "task_within"]

Load = Callable[[], AbstractAsyncContextManager[None]]
Refused = Callable[[GoQueueError | OSError], None]


@asynccontextmanager
async def task_within(work: "asyncio._CoroutineLike[None]") -> AsyncIterator[None]:
    """A background task that ends with the block, and cancels the block if it fails."""
    async with asyncio.TaskGroup() as group:
        task = group.create_task(work)
        yield
        task.cancel()


def served_in_background(
    load: Load, serving: Callable[[], None], refused: Refused
) -> AbstractAsyncContextManager[None]:
    """Serve as soon as the module is loaded, and call `serving`; a failure is reported and the broker continues."""
    return task_within(_serve_when_loaded(load, serving, refused))


async def _serve_when_loaded(load: Load, serving: Callable[[], None], refused: Refused) -> None:
    try:
        async with await asyncio.to_thread(load):
            serving()
            await asyncio.Event().wait()
    except (GoQueueError, OSError) as failure:
        refused(failure)


def served_on_demand(listener: socket.socket, load: Load, refused: Refused) -> AbstractAsyncContextManager[None]:
    """Serve from the first connection on; connections that arrive before wait in the backlog.

    A failure is reported, and the next connection tries again.
    """
    return task_within(_serve_when_asked(listener, load, refused))


async def _serve_when_asked(listener: socket.socket, load: Load, refused: Refused) -> None:
    while True:
        await _readable(listener)
        try:
            async with await asyncio.to_thread(load):
                await asyncio.Event().wait()
        except (GoQueueError, OSError) as failure:
            refused(failure)
            _hang_up(listener)


def _hang_up(listener: socket.socket) -> None:
    """Close the connections in the backlog."""
    listener.setblocking(False)
    with contextlib.suppress(OSError):
        while True:
            listener.accept()[0].close()


async def _readable(listener: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    is_asked = asyncio.Event()
    loop.add_reader(listener, is_asked.set)
    try:
        await is_asked.wait()
    finally:
        loop.remove_reader(listener)


class PagesOnDemand:
    """See `goqueue.gateways.http.app.Pages`."""

    def __init__(self, load: "Callable[[], Pages]") -> None:
        self._load = load
        self._turn = asyncio.Lock()
        self._pages: Pages | None = None
        self._is_stopped = False

    async def __call__(self, scope: MutableMapping[str, Any], receive: Any, send: Any) -> None:
        pages = self._pages or await self._loaded()
        await pages(scope, receive, send)

    def stop(self) -> None:
        self._is_stopped = True
        if self._pages is not None:
            self._pages.stop()

    async def _loaded(self) -> "Pages":
        async with self._turn:
            if self._pages is None:
                self._pages = await asyncio.to_thread(self._load)
                if self._is_stopped:
                    self._pages.stop()
            return self._pages
