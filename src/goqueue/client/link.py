"""The client's link to its broker: connects when needed, again after a loss, and waits longer each time it fails."""

import asyncio
from typing import Any, TypeVar

from goqueue.client.addresses import DEFAULT_BOOTSTRAP, Addresses, AttemptTimes, addresses_of, none_answers
from goqueue.client.connection import ANSWER_WITHIN_S, CONNECT_WITHIN_S, ClientConnection, connect
from goqueue.errors import BrokerUnreachable, ClientClosed
from goqueue.wire.native.frames import Opcode

__all__ = ["DEFAULT_BOOTSTRAP", "Link"]

FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 2.0

Reply = TypeVar("Reply")


class Link:
    """One connection at a time, shared by everything a client does.

    Of several addresses it uses the first that answers. Later it begins with the one that answered last.
    """

    def __init__(self, bootstrap: Addresses, connect_timeout_s: float = CONNECT_WITHIN_S) -> None:
        self._addresses = addresses_of(bootstrap)
        self.bootstrap = ",".join(self._addresses)
        self._connect_timeout_s = connect_timeout_s
        self.was_connected = False
        """Whether there ever was a connection: until then the address may be wrong."""
        self._connection: ClientConnection | None = None
        self._connecting: asyncio.Task[ClientConnection] | None = None
        self._is_closed = False

    @property
    def live(self) -> ClientConnection | None:
        """The connection, when there is one right now."""
        connection = self._connection
        return connection if connection is not None and not connection.is_lost else None

    async def connection(self) -> ClientConnection:
        """The connection, made if there is none; callers who ask meanwhile wait for the same one."""
        if self._is_closed:
            raise ClientClosed("this client is closed")
        if self.live is not None:
            return self.live
        if self._connecting is None:
            self._connecting = asyncio.create_task(self._connect())
            self._connecting.add_done_callback(self._connected)
        return await asyncio.shield(self._connecting)

    async def _connect(self) -> ClientConnection:
        failures = []
        for address, within_s in AttemptTimes(self._connect_timeout_s).of(self._addresses):
            try:
                connection = await connect(address, within_s)
            except BrokerUnreachable as failure:
                failures.append(failure)
            else:
                place = self._addresses.index(address)
                self._addresses = self._addresses[place:] + self._addresses[:place]
                return connection
        raise none_answers(failures)

    def _connected(self, task: "asyncio.Task[ClientConnection]") -> None:
        self._connecting = None
        if not task.cancelled() and task.exception() is None:
            self._connection = task.result()
            self.was_connected = True

    async def connection_within(self, seconds: float) -> ClientConnection:
        """As `connection`, trying again until it works or time is up.

        A broker that never answered is waited for no longer than connecting may take: the address may be wrong.
        """
        if not self.was_connected:
            seconds = min(seconds, self._connect_timeout_s)
        deadline = asyncio.get_running_loop().time() + seconds
        pause = FIRST_PAUSE_S
        while True:
            try:
                return await self.connection()
            except BrokerUnreachable:
                if asyncio.get_running_loop().time() + pause > deadline:
                    raise
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE_S)

    async def request(
        self, opcode: Opcode, message: Any, reply: type[Reply], *, within_s: float = ANSWER_WITHIN_S
    ) -> tuple[Reply, memoryview]:
        return await (await self.connection()).request(opcode, message, reply, within_s=within_s)

    async def ask(self, opcode: Opcode, message: Any, reply: type[Reply]) -> Reply:
        """A request whose answer has no tail."""
        answer, _ = await self.request(opcode, message, reply)
        return answer

    async def ask_within(self, seconds: float, opcode: Opcode, message: Any, reply: type[Reply]) -> Reply:
        """As `ask`, and again whenever the connection is lost, until time is up: for what may be asked twice."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + seconds
        while True:
            connection = await self.connection_within(deadline - loop.time())
            try:
                left_s = min(max(deadline - loop.time(), FIRST_PAUSE_S), ANSWER_WITHIN_S)
                answer, _ = await connection.request(opcode, message, reply, within_s=left_s)
            except BrokerUnreachable:
                if loop.time() > deadline:
                    raise
            else:
                return answer

    async def drop(self) -> None:
        """Give up the connection, and with it every request that waits; the next request makes another one."""
        if self._connection is not None:
            await self._connection.close()

    async def close(self) -> None:
        self._is_closed = True
        if self._connecting is not None:
            self._connecting.cancel()
            # It may have been made in this very moment.
            await asyncio.wait([self._connecting])
        if self._connection is not None:
            await self._connection.close()
