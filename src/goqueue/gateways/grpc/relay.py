"""Connections that came before gRPC was loaded: what they send is passed on to it, and its answers back.

Bytes are not looked at, so TLS is between the client and gRPC as ever. A side is read when the other has taken what was
read before, so that no more than one piece waits here in each direction.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

__all__ = ["relayed"]

PIECE_BYTES = 64 * 1024
LOOPBACKS = {"0.0.0.0": "127.0.0.1", "::": "::1"}


@asynccontextmanager
async def relayed(clients: Iterable[socket.socket], address: tuple[str, int]) -> AsyncIterator[None]:
    """While inside, each of them for as long as either side wants."""
    host, port = address
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_relay(client, (LOOPBACKS.get(host, host), port))) for client in clients]
        yield
        for task in tasks:
            task.cancel()


async def _relay(client: socket.socket, address: tuple[str, int]) -> None:
    family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
    with client, socket.socket(family, socket.SOCK_STREAM) as server:
        for side in (client, server):
            side.setblocking(False)
            side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            await asyncio.get_running_loop().sock_connect(server, address)
            async with asyncio.TaskGroup() as group:
                requests = group.create_task(_pass_on(client, server))
                await _pass_on(server, client)
                # It is gRPC that says when all is answered: a client that is silent may be gone.
                requests.cancel()
        except* OSError:
            # One side is gone; closing both tells the other.
            pass


async def _pass_on(source: socket.socket, sink: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    piece = memoryview(bytearray(PIECE_BYTES))
    while size := await loop.sock_recv_into(source, piece):
        await loop.sock_sendall(sink, piece[:size])
    sink.shutdown(socket.SHUT_WR)
