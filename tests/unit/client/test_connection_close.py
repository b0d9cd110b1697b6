"""Letting go of a connection while there are still bytes on their way."""

import asyncio

from goqueue.client.connection import ClientConnection
from goqueue.wire.native.frames import Opcode

MORE_THAN_SOCKETS_HOLD = 32 * 1024 * 1024


async def test_what_is_written_is_sent_before_a_connection_closes_however_late_it_is_taken():
    may_read = asyncio.Event()
    received: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def take(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await may_read.wait()
        received.set_result(len(await reader.read(-1)))
        writer.close()

    async with await asyncio.start_server(take, "127.0.0.1", 0) as server:
        host, port = server.sockets[0].getsockname()
        address = f"{host}:{port}"
        _, connection = await asyncio.get_running_loop().create_connection(
            lambda: ClientConnection(address), host, port
        )
        connection.tell(Opcode.PUBLISH, b"", bytes(MORE_THAN_SOCKETS_HOLD))
        closing = asyncio.create_task(connection.close())
        await asyncio.sleep(0)
        assert not closing.done()
        may_read.set()
        await closing
        assert await received > MORE_THAN_SOCKETS_HOLD
