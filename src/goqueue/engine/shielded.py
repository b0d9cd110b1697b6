"""Shielded work: runs to its end although its caller is cancelled, for changes that must not stop half-way.

With `asyncio.shield` alone, work that is refused after its caller was cancelled prints a traceback.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from goqueue.errors import GoQueueError

__all__ = ["shielded", "unattended"]

Result = TypeVar("Result")

_running: set[asyncio.Future[Any]] = set()
"""The event loop keeps only weak references to tasks."""


async def shielded(work: "Coroutine[Any, Any, Result] | asyncio.Future[Result]") -> Result:
    """Returns or raises what the work does; cancelling the caller leaves it running."""
    future = asyncio.ensure_future(work)
    try:
        await asyncio.wait({future})
    except asyncio.CancelledError:
        unattended(future)
        raise
    return future.result()


def unattended(work: "Coroutine[Any, Any, Any] | asyncio.Future[Any]") -> asyncio.Future[Any]:
    """Run work whose result is not needed: a refusal is dropped, a bug is reported by the event loop."""
    future = asyncio.ensure_future(work)
    _running.add(future)
    future.add_done_callback(_ended)
    return future


def _ended(future: asyncio.Future[Any]) -> None:
    _running.discard(future)
    failure = None if future.cancelled() else future.exception()
    if failure is not None and not isinstance(failure, GoQueueError):
        report = {"message": "work without a caller failed", "exception": failure, "future": future}
        future.get_loop().call_exception_handler(report)
