"""Child process of the gRPC benchmark: one kind of load against a running server, its figures as JSON."""

import asyncio
import itertools
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable

import msgspec

from bench.broker_client import VALUE, percentiles
from bench.loads import run_load
from goqueue import codec
from goqueue.client.connection import connect
from goqueue.model.record import Record
from goqueue.wire.native.frames import Opcode
from goqueue.wire.native.messages import Publish

Sender = Callable[[], Awaitable[object]]


async def native(address: str, topic: str, batch: int, count: int, workers: int) -> dict[str, float]:
    records = codec.encode([Record(value=VALUE)] * batch)
    head = msgspec.msgpack.encode(Publish(topic, 0))
    connections = [await connect(address) for _ in range(min(workers, 16))]
    turns = itertools.cycle(connections)
    return await _ask([_native(next(turns), head, records) for _ in range(workers)], count, batch)


def _native(connection: object, head: bytes, records: bytes) -> Sender:
    return lambda: connection.ask(Opcode.PUBLISH, head, records)  # type: ignore[attr-defined]


async def http(address: str, topic: str, batch: int, count: int, workers: int) -> dict[str, float]:
    messages = [{"value": "x" * 100, "partition": 0}] * batch
    body = json.dumps({"messages": messages}).encode()
    request = (
        f"POST /topics/{topic}/messages HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode() + body
    return await _ask([await _http(address, request) for _ in range(workers)], count, batch)


async def _http(address: str, request: bytes) -> Sender:
    host, _, port = address.rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port), limit=1 << 22)

    async def one() -> None:
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        await reader.readexactly(int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]))

    return one


async def unary(address: str, topic: str, batch: int, count: int, workers: int, form: str) -> dict[str, float]:
    import grpc

    from goqueue.wire.grpc.v1 import publish_pb2_grpc

    async with grpc.aio.insecure_channel(address) as channel:
        stub = publish_pb2_grpc.PublishServiceStub(channel)
        request = _request(topic, batch, form)
        await stub.Publish(request)
        return await _ask([lambda: stub.Publish(request)] * workers, count, batch)


async def stream(address: str, topic: str, batch: int, count: int, workers: int, form: str) -> dict[str, float]:
    """All requests on one stream, `workers` of them under way."""
    import grpc

    from goqueue.wire.grpc.v1 import publish_pb2, publish_pb2_grpc

    publish = _request(topic, batch, form)
    room = asyncio.Semaphore(workers)
    sent: dict[int, float] = {}
    latencies: list[float] = []

    async def requests() -> AsyncIterator[publish_pb2.PublishStreamRequest]:
        for number in range(count):
            await room.acquire()
            sent[number] = time.perf_counter()
            yield publish_pb2.PublishStreamRequest(correlation_id=number, publish=publish)

    async with grpc.aio.insecure_channel(address) as channel:
        stub = publish_pb2_grpc.PublishServiceStub(channel)
        await stub.Publish(publish)
        before = time.perf_counter()
        async for answer in stub.PublishStream(requests()):
            assert answer.HasField("published"), answer
            latencies.append(time.perf_counter() - sent.pop(answer.correlation_id))
            room.release()
        took = time.perf_counter() - before
    return {"per_s": count * batch / took, **percentiles(latencies)}


async def consume(address: str, topic: str, count: int) -> dict[str, float]:
    """From the earliest record, as raw batches."""
    import grpc

    from goqueue.wire.grpc.v1 import consume_pb2, consume_pb2_grpc

    options = [("grpc.max_receive_message_length", 64 * 1024 * 1024)]
    async with grpc.aio.insecure_channel(address, options=options) as channel:
        stub = consume_pb2_grpc.ConsumeServiceStub(channel)
        sources = [consume_pb2.ConsumeFrom(topic=topic)]
        got, before = 0, time.perf_counter()
        async for event in stub.Consume(consume_pb2.ConsumeRequest(sources=sources, max_bytes=4 * 1024 * 1024)):
            got += codec.scan(event.batch.batch.records).count
            if got >= count:
                break
        took = time.perf_counter() - before
    return {"per_s": got / took}


def _request(topic: str, batch: int, form: str) -> object:
    from goqueue.wire.grpc.v1 import publish_pb2, records_pb2

    if form == "typed":
        records = [records_pb2.Record(value=VALUE, partition=0)] * batch
        return publish_pb2.PublishRequest(topic=topic, records=records)
    encoded = codec.encode([Record(value=VALUE)] * batch)
    return publish_pb2.PublishRequest(topic=topic, partition=0, batch=records_pb2.RecordBatch(records=encoded))


async def _ask(senders: list[Sender], count: int, batch: int) -> dict[str, float]:
    """Each sender waits for its answer before it asks again."""
    latencies: list[float] = []
    left = iter(range(count))

    async def run(send: Sender) -> None:
        for _ in left:
            before = time.perf_counter()
            await send()
            latencies.append(time.perf_counter() - before)

    before = time.perf_counter()
    await asyncio.gather(*map(run, senders))
    return {"per_s": count * batch / (time.perf_counter() - before), **percentiles(latencies)}


if __name__ == "__main__":
    run_load(native, http, unary, stream, consume)
