"""A way to the broker that is cut at a chosen frame: before it arrives, or when its answer is on the way back."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Literal

from goqueue.wire.native.frames import LENGTH_SIZE, Opcode

__all__ = ["Cutter", "cutter"]


class Cutter:
    """Passes frames on; each cut that was asked for happens once."""

    def __init__(self, broker: str) -> None:
        self._host, _, port = broker.rpartition(":")
        self._port = int(port)
        self._cuts: list[tuple[str, int]] = []
        self._ways: set[asyncio.StreamWriter] = set()
        self.address = ""
        self.happened = 0

    def cut(self, where: Literal["asked", "answered"], opcode: Opcode) -> None:
        self._cuts.append((where, opcode))

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            from_broker, to_broker = await asyncio.open_connection(self._host, self._port)
        except OSError:
            writer.transport.abort()
            return
        ends = {writer, to_broker}
        self._ways |= ends
        try:
            await asyncio.wait(
                [
                    asyncio.ensure_future(self._pass("asked", reader, to_broker)),
                    asyncio.ensure_future(self._pass("answered", from_broker, writer)),
                ],
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            for end in ends:
                end.transport.abort()
            self._ways -= ends

    async def _pass(self, where: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                length = await reader.readexactly(LENGTH_SIZE)
                frame = await reader.readexactly(int.from_bytes(length, "big"))
                if (where, frame[0]) in self._cuts:
                    self._cuts.remove((where, frame[0]))
                    self.happened += 1
                    return
                writer.write(length + frame)
                await writer.drain()

    def hang_up(self) -> None:
        for end in self._ways:
            end.transport.abort()


@asynccontextmanager
async def cutter(broker: str) -> AsyncIterator[Cutter]:
    made = Cutter(broker)
    server = await asyncio.start_server(made.accept, "127.0.0.1", 0)
    made.address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield made
    finally:
        server.close()
        made.hang_up()
        await server.wait_closed()
