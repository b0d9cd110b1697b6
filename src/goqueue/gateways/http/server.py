"""Serve the application on a socket that is already bound, until told to stop."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn

from goqueue.gateways.http.app import HttpApp
from goqueue.gateways.http.connection import connections_within
from goqueue.gateways.http.limits import HttpLimits

__all__ = ["serve_http"]


class _Server(uvicorn.Server):
    """Signals are the business of whoever started the process, not of a listener."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


@asynccontextmanager
async def serve_http(
    app: HttpApp, listener: socket.socket, limits: HttpLimits, *, stop_within_s: float
) -> AsyncIterator[None]:
    """Serving while inside; on the way out requests under way may finish, and those that only wait are ended."""
    server = _Server(
        uvicorn.Config(
            app,
            http=connections_within(limits, app.traffic),
            ws="none",
            lifespan="off",
            log_config=None,
            log_level="critical",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=max(1, limits.idle_ms // 1000),
            timeout_graceful_shutdown=int(stop_within_s),
        )
    )
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield
    finally:
        app.stop()
        server.should_exit = True
        await serving
