"""Live updates: server-sent events, one for each second, until the page is closed or the broker stops."""

import asyncio
from collections.abc import Callable
from typing import Any

import msgspec
from starlette.types import Receive, Send

from goqueue.errors import GoQueueError
from goqueue.gateways.console.guarding import SECURITY_HEADERS
from goqueue.gateways.console.page import Feed, Update
from goqueue.gateways.console.visit import Visit

__all__ = ["MOST_STREAMS", "Feeding"]

MOST_STREAMS = 64
EVERY_MS = 1000
RETRY_MS = 3000

_encode = msgspec.json.Encoder().encode


class Feeding:
    """The streams under way."""

    def __init__(self, report_bug: Callable[[BaseException], None]) -> None:
        self._report_bug = report_bug
        self._tasks: set[asyncio.Future[Any]] = set()
        self._streams = 0
        """With those that wait for their first update: they take room as well."""
        self._stopping = False

    @property
    def has_room(self) -> bool:
        return not self._stopping and self._streams < MOST_STREAMS

    def stop(self) -> None:
        """End all streams, and begin no more."""
        self._stopping = True
        for task in self._tasks:
            task.cancel()

    async def serve(self, feed: Feed, visit: Visit, receive: Receive, send: Send) -> None:
        """Only with room. The first update is asked for before anything is sent, so that it can still be refused."""
        self._streams += 1
        try:
            await self._serve(await feed(visit, True), feed, visit, receive, send)
        finally:
            self._streams -= 1

    async def _serve(self, first: Update, feed: Feed, visit: Visit, receive: Receive, send: Send) -> None:
        task = asyncio.ensure_future(self._send_all(feed, visit, first, send))
        gone = asyncio.ensure_future(_until_gone(receive))
        self._tasks.add(task)
        try:
            await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._tasks.discard(task)
            task.cancel()
            gone.cancel()
            await asyncio.wait({task, gone})
        if not task.cancelled() and (bug := task.exception()) is not None:
            self._report_bug(bug)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send_all(self, feed: Feed, visit: Visit, first: Update, send: Send) -> None:
        headers = [
            (b"content-type", b"text/event-stream; charset=utf-8"),
            (b"cache-control", b"no-store"),
            *SECURITY_HEADERS,
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        update, begin = first, b"retry: %d\n" % RETRY_MS
        while True:
            await send({"type": "http.response.body", "body": begin + _event(update), "more_body": True})
            begin = b""
            await visit.broker.clock.sleep_ms(EVERY_MS)
            try:
                update = await feed(visit, False)
            except GoQueueError:
                # What was watched is gone: the page finds out when it asks again.
                return


def _event(update: Update) -> bytes:
    return b"data: " + _encode(update) + b"\n\n"


async def _until_gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
