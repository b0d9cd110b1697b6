"""Serve the application over the connections of an acceptor, until told to stop."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from email.utils import formatdate
from typing import cast

import uvicorn
from uvicorn.server import ServerState

from goqueue.engine.traffic import Acceptor
from goqueue.gateways.http.app import HttpApp
from goqueue.gateways.http.connection import BUSY, LimitedConnection, connections_within
from goqueue.gateways.http.limits import HttpLimits

__all__ = ["serve_http"]

NS_PER_S = 1_000_000_000


class _State(ServerState):
    """The date in answers is made when an answer needs it; uvicorn makes it once a second, also when idle."""

    def __init__(self, config: uvicorn.Config, now_ns: Callable[[], int]) -> None:
        self._config = config
        self._now_ns = now_ns
        self._at_s = 0
        self._headers: list[tuple[bytes, bytes]] = []
        super().__init__()

    @property
    def default_headers(self) -> list[tuple[bytes, bytes]]:
        now_s = self._now_ns() // NS_PER_S
        if now_s != self._at_s:
            date = formatdate(now_s, usegmt=True).encode()
            self._at_s, self._headers = now_s, [(b"date", date), *self._config.encoded_headers]
        return self._headers

    @default_headers.setter
    def default_headers(self, _: list[tuple[bytes, bytes]]) -> None:
        """uvicorn sets them when it begins."""


class _Server(uvicorn.Server):
    """Without handlers of signals, which belong to the process; connections come from the acceptor."""

    def __init__(self, config: uvicorn.Config, acceptor: Acceptor, now_ns: Callable[[], int]) -> None:
        super().__init__(config)
        self.server_state = _State(config, now_ns)
        self._acceptor = acceptor
        self._stopping = asyncio.Event()

    async def main_loop(self) -> None:
        """uvicorn looks ten times a second whether it is to stop."""
        await self._stopping.wait()

    def stop(self) -> None:
        self.should_exit = True
        self._stopping.set()

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
        app.traffic.now_ns,
    )
    serving = asyncio.create_task(server.serve())
    try:
        yield
    finally:
        app.stop()
        server.stop()
        await serving
