"""GoQueue through gRPC with the stubs that come with it: a stream of publishes, leases taken and acknowledged."""

import asyncio
from collections.abc import Sequence

import grpc.aio

from bench.peers.port import Subject
from goqueue.wire.grpc.v1 import (
    publish_pb2,
    publish_pb2_grpc,
    queue_pb2,
    queue_pb2_grpc,
    records_pb2,
    topics_pb2,
    topics_pb2_grpc,
)

__all__ = ["GoQueueGrpc"]

OPTIONS = (("grpc.max_receive_message_length", -1), ("grpc.use_local_subchannel_pool", 1))


class StreamPublisher:
    """`PublishStream` with typed records: a request for each call, and its answer when the records are synced."""

    def __init__(self, address: str, topic: str) -> None:
        self._channel = grpc.aio.insecure_channel(address, options=OPTIONS)
        self._stream = publish_pb2_grpc.PublishServiceStub(self._channel).PublishStream()
        self._topic = topic

    async def publish(self, values: Sequence[bytes]) -> None:
        records = [records_pb2.Record(value=value) for value in values]
        publish = publish_pb2.PublishRequest(topic=self._topic, records=records)
        await self._stream.write(publish_pb2.PublishStreamRequest(correlation_id=1, publish=publish))
        answer = await self._stream.read()
        if answer is grpc.aio.EOF or answer.WhichOneof("outcome") != "published":
            raise RuntimeError(f"publish over gRPC: {answer}")

    async def close(self) -> None:
        await self._stream.done_writing()
        await self._channel.close()


class PollingReader:
    """Polls for records one by one, while the acknowledgement of the last ones is on its way."""

    def __init__(self, address: str, topic: str, group: str) -> None:
        self._channel = grpc.aio.insecure_channel(address, options=OPTIONS)
        self._queue = queue_pb2_grpc.QueueServiceStub(self._channel)
        self._topic = topic
        self._group = group
        self._receipts: list[str] = []

    async def next(self, limit: int, wait_s: float) -> int:
        wish = queue_pb2.PollRequest(
            group=self._group,
            topics=[self._topic],
            limit=limit,
            wait_ms=round(1000 * wait_s),
            form=records_pb2.RECORD_FORM_TYPED,
        )
        answer, _ = await asyncio.gather(self._queue.Poll(wish), self._acknowledge())
        self._receipts = [one.receipt for lease in answer.leases for one in lease.typed]
        return len(self._receipts)

    async def _acknowledge(self) -> None:
        if not self._receipts:
            return
        settled = queue_pb2.Settled(receipts=self._receipts)
        answer = await self._queue.Ack(queue_pb2.AckRequest(records=settled))
        if refused := [one.error for one in answer.results if one.HasField("error")]:
            raise RuntimeError(f"acknowledge over gRPC: {refused[0]}")

    async def close(self) -> None:
        await self._channel.close()


class GoQueueGrpc:
    def __init__(self, address: str, *, is_alone: bool) -> None:
        self._address = address

    async def create(self, subject: Subject) -> None:
        async with grpc.aio.insecure_channel(self._address) as channel:
            wish = topics_pb2.CreateTopicRequest(name=subject.name)
            await topics_pb2_grpc.TopicServiceStub(channel).CreateTopic(wish)

    async def drop(self, subject: Subject) -> None:
        async with grpc.aio.insecure_channel(self._address) as channel:
            wish = topics_pb2.DeleteTopicRequest(name=subject.name)
            await topics_pb2_grpc.TopicServiceStub(channel).DeleteTopic(wish)

    async def publisher(self, subject: Subject) -> StreamPublisher:
        return StreamPublisher(self._address, subject.name)

    async def worker(self, subject: Subject, group: str) -> PollingReader:
        return PollingReader(self._address, subject.name, group)

    async def follower(self, subject: Subject, group: str) -> PollingReader:
        return await self.worker(subject, group)

    async def close(self) -> None:
        pass
