"""Serve the application over the connections of an acceptor, until told to stop."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import cast

import uvicorn

from goqueue.engine.traffic import Acceptor
from goqueue.gateways.http.app import HttpApp
from goqueue.gateways.http.connection import BUSY, LimitedConnection, connections_within
from goqueue.gateways.http.limits import HttpLimits

__all__ = ["serve_http"]


class _Server(uvicorn.Server):
    """Without handlers of signals, which belong to the process; connections come from the acceptor."""

    def __init__(self, config: uvicorn.Config, acceptor: Acceptor) -> None:
        super().__init__(config)
        self._acceptor = acceptor

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: object = None) -> None:
        config, state = self.config, self.server_state

        def make() -> asyncio.BaseProtocol:
            kind = cast(type[LimitedConnection], config.http_protocol_class)
            return kind(config=config, server_state=state, app_state={})

        self._acceptor.serve(make, BUSY)
        # It closes them, and waits until they are closed.
        self.servers = [cast(asyncio.base_events.Server, self._acceptor)]
        self.started = True


@asynccontextmanager
async def serve_http(
    app: HttpApp, acceptor: Acceptor, limits: HttpLimits, *, stop_within_s: float
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
        ),
        acceptor,
    )
    serving = asyncio.create_task(server.serve())
    try:
        yield
    finally:
        app.stop()
        server.should_exit = True
        await serving
