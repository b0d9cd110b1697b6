"""GoQueue through its Python client: lists of values, jobs of a worker, polls of a consumer."""

import asyncio
from collections.abc import Sequence
from typing import Self

from bench.peers.port import Subject
from goqueue import codec
from goqueue.client import Admin, Consumer, Job, Producer, Worker
from goqueue.client.direct import Publisher
from goqueue.model.record import Record

__all__ = ["GoQueueNative", "GoQueueReady"]

BUFFER_RECORDS = 100_000


class ListPublisher:
    """`Producer.send` for one record, `Producer.send_many` for a list; each waits for the broker's confirmation."""

    def __init__(self, address: str, topic: str) -> None:
        self._topic = topic
        self._producer = Producer(address, linger_ms=0, buffer_records=BUFFER_RECORDS)

    async def publish(self, values: Sequence[bytes]) -> None:
        if len(values) == 1:
            await (await self._producer.send(self._topic, values[0]))
        else:
            await self._producer.send_many(self._topic, values)

    async def close(self) -> None:
        await self._producer.close()


class DirectPublisher:
    """`Publisher`, the client without asyncio, where a process has only one connection."""

    def __init__(self, address: str, topic: str) -> None:
        self._topic = topic
        self._publisher = Publisher(address)

    async def publish(self, values: Sequence[bytes]) -> None:
        if len(values) == 1:
            self._publisher.publish(self._topic, values[0])
        else:
            self._publisher.publish_many(self._topic, values)

    async def close(self) -> None:
        self._publisher.close()


class ReadyPublisher(ListPublisher):
    """`Producer.send_batch`: records that were encoded before, as a program has that passes records on."""

    def __init__(self, address: str, topic: str) -> None:
        super().__init__(address, topic)
        self._ready: dict[tuple[int, int], bytes] = {}

    async def publish(self, values: Sequence[bytes]) -> None:
        shape = (len(values), len(values[0]))
        batch = self._ready.get(shape)
        if batch is None:
            batch = self._ready[shape] = codec.encode([Record(value) for value in values])
        await (await self._producer.send_batch(self._topic, 0, batch, len(values)))


class WorkerReader:
    """Asks for more jobs while the acknowledgement of the last ones is on its way."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._jobs: list[Job] = []

    @classmethod
    async def open(cls, address: str, topic: str, group: str) -> Self:
        return cls(await Worker(topic, group=group, bootstrap=address).__aenter__())

    async def next(self, limit: int, wait_s: float) -> int:
        done, wait_ms = self._jobs, round(1000 * wait_s)
        if done:
            _, self._jobs = await asyncio.gather(self._worker.ack(*done), self._worker.take(limit, wait_ms=wait_ms))
        else:
            self._jobs = await self._worker.take(limit, wait_ms=wait_ms)
        return len(self._jobs)

    async def close(self) -> None:
        await self._worker.close()


class FollowingReader:
    """A consumer of a group that commits after each poll."""

    def __init__(self, consumer: Consumer) -> None:
        self._consumer = consumer
        self._has_polled = False

    @classmethod
    async def open(cls, address: str, topic: str, group: str) -> Self:
        consumer = Consumer(topic, bootstrap=address, group=group, auto_commit_ms=None)
        return cls(await consumer.__aenter__())

    async def next(self, limit: int, wait_s: float) -> int:
        if self._has_polled:
            await self._consumer.commit()
        found = len(await self._consumer.poll(wait_ms=round(1000 * wait_s), limit=limit))
        self._has_polled = found > 0
        return found

    async def close(self) -> None:
        await self._consumer.close()


class GoQueueNative:
    def __init__(self, address: str, *, is_alone: bool) -> None:
        self._address = address
        self._is_alone = is_alone

    async def create(self, subject: Subject) -> None:
        async with Admin(self._address) as admin:
            await admin.create_topic(subject.name)

    async def drop(self, subject: Subject) -> None:
        async with Admin(self._address) as admin:
            await admin.delete_topic(subject.name)

    async def publisher(self, subject: Subject) -> ListPublisher | DirectPublisher:
        kind = DirectPublisher if self._is_alone else ListPublisher
        return kind(self._address, subject.name)

    async def worker(self, subject: Subject, group: str) -> WorkerReader:
        return await WorkerReader.open(self._address, subject.name, group)

    async def follower(self, subject: Subject, group: str) -> FollowingReader:
        return await FollowingReader.open(self._address, subject.name, group)

    async def close(self) -> None:
        pass


class GoQueueReady(GoQueueNative):
    """The same with batches that are encoded already."""

    async def publisher(self, subject: Subject) -> ReadyPublisher:
        return ReadyPublisher(self._address, subject.name)
