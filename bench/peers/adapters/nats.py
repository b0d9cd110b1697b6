"""NATS JetStream with nats-py: publish_async and its futures, pull consumers with explicit acknowledgements."""

import asyncio
from collections.abc import Sequence
from typing import Any

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js.api import AckPolicy, ConsumerConfig, StorageType, StreamConfig

from bench.peers.port import Subject

__all__ = ["NatsJetStream"]

PING_S = 3600
"""Servers are frozen while others are measured, so nobody asks whether they are there."""
ACKS_PENDING = 100_000


async def connect(address: str) -> Client:
    return await nats.connect(f"nats://{address}", ping_interval=PING_S, allow_reconnect=False)


class AsyncPublisher:
    """All of a batch with `publish_async`, then its futures."""

    def __init__(self, connection: Client, subject: str) -> None:
        self._connection = connection
        self._stream = connection.jetstream(publish_async_max_pending=10_000)
        self._subject = subject

    async def publish(self, values: Sequence[bytes]) -> None:
        if len(values) == 1:
            await self._stream.publish(self._subject, values[0])
            return
        confirmations = [await self._stream.publish_async(self._subject, value) for value in values]
        await asyncio.gather(*confirmations)

    async def close(self) -> None:
        await self._connection.close()


class PullReader:
    """`fetch`, and an acknowledgement for each message, or for the last one where that counts for all before it."""

    def __init__(self, connection: Client, pulling: Any, *, last_counts_for_all: bool) -> None:
        self._connection = connection
        self._pulling = pulling
        self._last_counts_for_all = last_counts_for_all
        self._taken: list[Msg] = []

    async def next(self, limit: int, wait_s: float) -> int:
        for message in self._taken[-1:] if self._last_counts_for_all else self._taken:
            await message.ack()
        try:
            self._taken = await self._pulling.fetch(limit, timeout=wait_s)
        except TimeoutError:
            self._taken = []
            await self._connection.flush()
        return len(self._taken)

    async def close(self) -> None:
        await self._connection.close()


class NatsJetStream:
    def __init__(self, address: str, *, is_alone: bool) -> None:
        self._address = address

    async def create(self, subject: Subject) -> None:
        connection = await connect(self._address)
        stream = connection.jetstream()
        await stream.add_stream(StreamConfig(name=subject.name, subjects=[subject.name], storage=StorageType.FILE))
        for group in subject.groups:
            policy = AckPolicy.ALL if len(subject.groups) > 1 else AckPolicy.EXPLICIT
            config = ConsumerConfig(durable_name=group, ack_policy=policy, max_ack_pending=ACKS_PENDING)
            await stream.add_consumer(subject.name, config)
        await connection.close()

    async def drop(self, subject: Subject) -> None:
        connection = await connect(self._address)
        await connection.jetstream().delete_stream(subject.name)
        await connection.close()

    async def publisher(self, subject: Subject) -> AsyncPublisher:
        return AsyncPublisher(await connect(self._address), subject.name)

    async def worker(self, subject: Subject, group: str) -> PullReader:
        return await self._reader(subject, group, last_counts_for_all=False)

    async def follower(self, subject: Subject, group: str) -> PullReader:
        return await self._reader(subject, group, last_counts_for_all=True)

    async def _reader(self, subject: Subject, group: str, *, last_counts_for_all: bool) -> PullReader:
        connection = await connect(self._address)
        pulling = await connection.jetstream().pull_subscribe_bind(group, stream=subject.name)
        return PullReader(connection, pulling, last_counts_for_all=last_counts_for_all)

    async def close(self) -> None:
        pass
