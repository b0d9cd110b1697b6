"""RabbitMQ's streams with rstream: lists that are confirmed, and readers that store how far they came."""

import asyncio
import contextlib
from collections import deque
from collections.abc import Sequence

from rstream import Consumer, MessageContext, Producer

from bench.peers.port import Reader, Subject

__all__ = ["RabbitMqStream"]

USER = {"username": "guest", "password": "guest"}
PATIENT_S = 3600
"""Servers are frozen while others are measured, so nobody asks whether they are there."""


class StreamPublisher:
    """`send_batch`, and a callback for each record that is confirmed."""

    def __init__(self, producer: Producer, stream: str) -> None:
        self._producer = producer
        self._stream = stream
        self._waiting_for = 0
        self._all_confirmed = asyncio.Event()

    def _on_confirmation(self, status: object) -> None:
        self._waiting_for -= 1
        if self._waiting_for == 0:
            self._all_confirmed.set()

    async def publish(self, values: Sequence[bytes]) -> None:
        self._waiting_for = len(values)
        self._all_confirmed.clear()
        await self._producer.send_batch(self._stream, list(values), on_publish_confirm=self._on_confirmation)
        await self._all_confirmed.wait()

    async def close(self) -> None:
        await self._producer.close()


class StreamReader:
    """Stores its offset with each batch: a stream has no acknowledgements of records."""

    def __init__(self, consumer: Consumer, stream: str, group: str) -> None:
        self._consumer = consumer
        self._stream = stream
        self._group = group
        self._arrived: deque[int] = deque()
        self._has_some = asyncio.Event()
        self._last_taken: int | None = None
        self._is_subscribed = False

    async def _subscribe(self) -> None:
        """Not before the first record is wanted: what is pushed earlier would arrive before the clock runs."""
        self._is_subscribed = True
        await self._consumer.subscribe(self._stream, self._on_record, decoder=lambda value: value)

    def _on_record(self, value: object, context: MessageContext) -> None:
        self._arrived.append(context.offset)
        self._has_some.set()

    async def next(self, limit: int, wait_s: float) -> int:
        if not self._is_subscribed:
            await self._subscribe()
        if self._last_taken is not None:
            await self._consumer.store_offset(self._stream, self._group, self._last_taken)
            self._last_taken = None
        if not self._arrived:
            self._has_some.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._has_some.wait(), wait_s)
        taken = [self._arrived.popleft() for _ in range(min(limit, len(self._arrived)))]
        if taken:
            self._last_taken = taken[-1]
        await asyncio.sleep(0)
        return len(taken)

    async def close(self) -> None:
        await self._consumer.close()


class RabbitMqStream:
    def __init__(self, address: str, *, is_alone: bool) -> None:
        host, _, port = address.rpartition(":")
        self._place = {"host": host, "port": int(port), "heartbeat": PATIENT_S, **USER}

    async def create(self, subject: Subject) -> None:
        async with Producer(**self._place) as producer:
            await producer.create_stream(subject.name, exists_ok=True)

    async def drop(self, subject: Subject) -> None:
        async with Producer(**self._place) as producer:
            await producer.delete_stream(subject.name)

    async def publisher(self, subject: Subject) -> StreamPublisher:
        producer = Producer(**self._place)
        await producer.start()
        return StreamPublisher(producer, subject.name)

    async def worker(self, subject: Subject, group: str) -> Reader:
        raise NotImplementedError("readers of a stream share nothing: each gets every record")

    async def follower(self, subject: Subject, group: str) -> StreamReader:
        consumer = Consumer(**self._place)
        await consumer.start()
        return StreamReader(consumer, subject.name, group)

    async def close(self) -> None:
        pass
