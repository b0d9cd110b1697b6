"""Acceptor of a listener: accepts connections up to a limit, and refuses the others with a reason.

The accept loop of asyncio accepts all waiting connections before any is counted, so a burst of connections takes all
descriptors of the process, and it gives clients no reason when it closes a connection.
"""

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress

from goqueue.engine.traffic import ListenerTraffic

__all__ = ["SocketAcceptor"]

TOGETHER = 64
"""Connections accepted in one step of the event loop, so that other work runs in between."""
PAUSE_S = 0.5
"""Pause after the system ran out of descriptors; meanwhile connections wait in the backlog."""
READ_BYTES = 64 * 1024


class SocketAcceptor:
    """See `goqueue.engine.traffic.Acceptor`; `told` is called if the listener is full or cannot accept."""

    def __init__(
        self, listener: socket.socket, most: int, traffic: ListenerTraffic, told: Callable[[str, str], None]
    ) -> None:
        listener.setblocking(False)
        self._listener = listener
        self._most = traffic.most_connections = most
        self._traffic = traffic
        self._told = told
        self._loop = asyncio.get_running_loop()
        self._opening: set[asyncio.Task[object]] = set()
        self._make: Callable[[], asyncio.BaseProtocol]
        self._refusal = b""
        self._paused: asyncio.TimerHandle | None = None
        self._is_full = self._is_failing = False

    def serve(self, make: Callable[[], asyncio.BaseProtocol], refusal: bytes) -> None:
        self._make, self._refusal = make, refusal
        self._loop.add_reader(self._listener, self._accept)

    def close(self) -> None:
        self._loop.remove_reader(self._listener)
        if self._paused is not None:
            self._paused.cancel()

    async def wait_closed(self) -> None:
        if self._opening:
            await asyncio.wait(self._opening)

    def _accept(self) -> None:
        for _ in range(TOGETHER):
            try:
                client, _ = self._listener.accept()
            except (BlockingIOError, InterruptedError):
                return
            except ConnectionError:
                # The client left while it waited in the backlog.
                continue
            except OSError as error:
                self._pause(error)
                return
            self._is_failing = False
            if self._traffic.connections + len(self._opening) >= self._most:
                self._refuse(client)
            else:
                self._open(client)

    def _open(self, client: socket.socket) -> None:
        self._is_full = False
        client.setblocking(False)
        task = self._loop.create_task(self._connect(client))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    async def _connect(self, client: socket.socket) -> None:
        try:
            await self._loop.connect_accepted_socket(self._make, client)
        except OSError:
            client.close()

    def _refuse(self, client: socket.socket) -> None:
        """Tell the client why and close at once, so that no refused connection keeps a descriptor."""
        self._traffic.refused_connections += 1
        with client, suppress(OSError):
            client.setblocking(False)
            client.send(self._refusal)
            client.shutdown(socket.SHUT_WR)
            # Closing a socket with unread bytes resets it, and a reset may overtake the refusal.
            client.recv(READ_BYTES)
        if not self._is_full:
            self._is_full = True
            self._told("connections are refused", f"{self._most} connections are open, which is the limit")

    def _pause(self, error: OSError) -> None:
        """Stop accepting for a while: the system has no descriptors or memory left, and a retry at once would fail."""
        self._loop.remove_reader(self._listener)
        self._paused = self._loop.call_later(PAUSE_S, self._loop.add_reader, self._listener, self._accept)
        if not self._is_failing:
            self._is_failing = True
            self._told("connections cannot be accepted", error.strerror or str(error))
