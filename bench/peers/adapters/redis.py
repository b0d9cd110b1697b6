"""Redis Streams with redis-py and hiredis: pipelines of XADD, groups with XREADGROUP and XACK."""

import os
from collections.abc import Sequence
from typing import Any

import redis
import redis.asyncio

from bench.peers.port import Subject

__all__ = ["RedisStreams"]


class Blocking:
    """The client without asyncio, which is about twice as quick where a process has only one connection."""

    def __init__(self, host: str, port: int) -> None:
        self._client = redis.Redis(host=host, port=port, socket_timeout=None)

    async def call(self, *commands: tuple[Any, ...]) -> list[Any]:
        if len(commands) == 1:
            return [self._client.execute_command(*commands[0])]
        pipeline = self._client.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command)
        return pipeline.execute()

    async def close(self) -> None:
        self._client.close()


class Concurrent:
    """The client with asyncio, for several connections side by side."""

    def __init__(self, host: str, port: int) -> None:
        self._client = redis.asyncio.Redis(host=host, port=port, socket_timeout=None, single_connection_client=True)

    async def call(self, *commands: tuple[Any, ...]) -> list[Any]:
        if len(commands) == 1:
            return [await self._client.execute_command(*commands[0])]
        pipeline = self._client.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command)
        return await pipeline.execute()

    async def close(self) -> None:
        await self._client.aclose()


class StreamPublisher:
    """A pipeline of XADD; the replies come when the journal is synced, if it is at all."""

    def __init__(self, connection: Blocking | Concurrent, stream: str) -> None:
        self._connection = connection
        self._stream = stream.encode()

    async def publish(self, values: Sequence[bytes]) -> None:
        await self._connection.call(*[(b"XADD", self._stream, b"*", b"v", value) for value in values])

    async def close(self) -> None:
        await self._connection.close()


class GroupReader:
    """XACK of what came before and XREADGROUP for more travel together."""

    def __init__(self, connection: Blocking | Concurrent, stream: str, group: str, member: str) -> None:
        self._connection = connection
        self._stream = stream.encode()
        self._group = group.encode()
        self._member = member.encode()
        self._taken: list[bytes] = []

    async def next(self, limit: int, wait_s: float) -> int:
        who = (b"GROUP", self._group, self._member)
        how = (b"COUNT", limit, b"BLOCK", max(1, round(1000 * wait_s)))
        commands: list[tuple[Any, ...]] = [(b"XREADGROUP", *who, *how, b"STREAMS", self._stream, b">")]
        if self._taken:
            commands.insert(0, (b"XACK", self._stream, self._group, *self._taken))
        found = (await self._connection.call(*commands))[-1]
        self._taken = [entry for entry, _ in _entries(found)]
        return len(self._taken)

    async def close(self) -> None:
        await self._connection.close()


def _entries(found: Any) -> list[Any]:
    """Entries of the one stream that was asked for, in either form of the protocol."""
    if not found:
        return []
    (named,) = found.items() if isinstance(found, dict) else found
    return list(named[1])


class RedisStreams:
    def __init__(self, address: str, *, is_alone: bool) -> None:
        host, _, port = address.rpartition(":")
        self._place = (host, int(port))
        self._kind = Blocking if is_alone else Concurrent
        self._members = 0

    async def create(self, subject: Subject) -> None:
        """Groups are made before the first record, so the stream is made with them."""
        await self._once(*[("XGROUP", "CREATE", subject.name, group, "0", "MKSTREAM") for group in subject.groups])

    async def drop(self, subject: Subject) -> None:
        await self._once(("UNLINK", subject.name))

    async def _once(self, *commands: tuple[str, ...]) -> None:
        connection = Blocking(*self._place)
        try:
            if commands:
                await connection.call(*commands)
        finally:
            await connection.close()

    async def publisher(self, subject: Subject) -> StreamPublisher:
        return StreamPublisher(self._kind(*self._place), subject.name)

    async def worker(self, subject: Subject, group: str) -> GroupReader:
        self._members += 1
        return GroupReader(self._kind(*self._place), subject.name, group, f"{os.getpid()}-{self._members}")

    async def follower(self, subject: Subject, group: str) -> GroupReader:
        return await self.worker(subject, group)

    async def close(self) -> None:
        pass
