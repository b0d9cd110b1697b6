"""Listen for native clients, and hang up on those that are too many or too slow."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from goqueue.engine.traffic import Acceptor, ListenerTraffic
from goqueue.errors import InvalidRequest
from goqueue.gateways.native.connection import Connection, Dispatch, Exchange, encode_error
from goqueue.gateways.native.limits import ConnectionLimits
from goqueue.wire.native.frames import FrameFlag, frame_head
from goqueue.wire.native.reader import SCRATCH_BYTES

__all__ = ["NativeListener", "serve_native"]

SHORTEST_SWEEP_S = 0.05
LONGEST_SWEEP_S = 5.0
CLOSE_WITHIN_S = 1.0
"""So long the last replies may be on their way when the broker stops."""


class NativeListener:
    """Keeps count of its connections."""

    def __init__(self, dispatch: Dispatch, limits: ConnectionLimits, traffic: ListenerTraffic) -> None:
        self._dispatch = dispatch
        self._limits = limits
        self._sweep_s = max(SHORTEST_SWEEP_S, min(LONGEST_SWEEP_S, limits.frame_within_ms / 2000))
        self._scratch = memoryview(bytearray(SCRATCH_BYTES))
        self._changed = asyncio.Event()
        self._is_draining = False
        self._next_sweep: asyncio.TimerHandle
        self.connections: set[Exchange] = set()
        self._traffic = traffic

    def accept(self) -> Connection:
        return Connection(self._dispatch, self._limits, self, self._scratch)

    def opened(self, connection: Exchange) -> None:
        self.connections.add(connection)
        self._traffic.connections = len(self.connections)

    def idle(self, _: Exchange) -> None:
        if self._is_draining:
            self._changed.set()

    def closed(self, connection: Exchange) -> None:
        self.connections.discard(connection)
        self._traffic.connections = len(self.connections)
        self.idle(connection)

    def close_overdue(self, now: float) -> None:
        for connection in [one for one in self.connections if one.is_overdue(now)]:
            connection.abort()

    async def drain(self, within_s: float) -> None:
        """Take no more requests, let those under way finish, then close every connection."""
        self._is_draining = True
        for connection in self.connections:
            connection.drain()
        self._dispatch.end_waits()
        await self._until(lambda: not any(one.requests_under_way for one in self.connections), within_s)
        for connection in tuple(self.connections):
            connection.close()
        await self._until(lambda: not self.connections, CLOSE_WITHIN_S)
        for connection in tuple(self.connections):
            connection.abort()

    async def _until(self, holds: Callable[[], bool], within_s: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(within_s):
                while not holds():
                    self._changed.clear()
                    await self._changed.wait()

    def sweep(self) -> None:
        """Close overdue connections now and from time to time."""
        loop = asyncio.get_running_loop()
        self.close_overdue(loop.time())
        self._next_sweep = loop.call_later(self._sweep_s, self.sweep)

    def stop_sweeping(self) -> None:
        self._next_sweep.cancel()


@asynccontextmanager
async def serve_native(listener: NativeListener, acceptor: Acceptor, *, stop_within_s: float) -> AsyncIterator[None]:
    """Serving while inside."""
    too_many = InvalidRequest("there are too many connections", hint="close some that are not used")
    acceptor.serve(listener.accept, frame_head(0, FrameFlag.ERROR, 0, encode_error(too_many), 0))
    listener.sweep()
    try:
        yield
    finally:
        listener.stop_sweeping()
        acceptor.close()
        await acceptor.wait_closed()
        await listener.drain(stop_within_s)
