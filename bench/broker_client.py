"""Child process of the broker benchmark: one kind of load against a running server, its figures as JSON."""

import asyncio
import gc
import json
import time
from collections.abc import Awaitable, Callable

from bench.loads import run_load
from goqueue import codec
from goqueue.client import Consumer, Producer
from goqueue.client.connection import connect
from goqueue.codec.arrow import to_arrow
from goqueue.model.record import Record
from goqueue.wire.native.frames import Opcode

VALUE = bytes(100)


async def send(address: str, topic: str, count: int) -> dict[str, float]:
    """Through the accumulator, with a result for each record."""
    async with Producer(address) as producer:
        await (await producer.send(topic, VALUE))
        before = time.perf_counter()
        deliveries = [await producer.send(topic, VALUE) for _ in range(count)]
        await producer.flush()
        took = time.perf_counter() - before
        assert all(delivery.result().offset >= 0 for delivery in deliveries)
    return {"per_s": count / took}


async def send_many(address: str, topic: str, count: int) -> dict[str, float]:
    values = [VALUE] * 50_000
    async with Producer(address, buffer_records=100_000) as producer:
        await producer.send_many(topic, values[:1000])
        before = time.perf_counter()
        for _ in range(count // len(values)):
            await producer.send_many(topic, values)
        took = time.perf_counter() - before
    return {"per_s": count // len(values) * len(values) / took}


async def send_batch(address: str, topic: str, count: int) -> dict[str, float]:
    """Batches of 1000 that are encoded already."""
    batch = codec.encode([Record(value=VALUE)] * 1000)
    async with Producer(address, buffer_records=100_000) as producer:
        await (await producer.send_batch(topic, 0, batch, 1000))
        before = time.perf_counter()
        for number in range(count // 1000):
            await producer.send_batch(topic, number % 3, batch, 1000)
        await producer.flush()
        took = time.perf_counter() - before
    return {"per_s": count // 1000 * 1000 / took}


async def send_keyed(address: str, topic: str, count: int) -> dict[str, float]:
    """A hundred thousand keys, again and again: food for a compaction."""
    batches = [
        codec.encode([Record(value=VALUE, key=b"key-%d" % (start + number)) for number in range(1000)])
        for start in range(0, 100_000, 1000)
    ]
    async with Producer(address, buffer_records=100_000, durability="memory") as producer:
        for number in range(count // 1000):
            await producer.send_batch(topic, 0, batches[number % len(batches)], 1000)
        await producer.flush()
    return {}


async def fetch(address: str, topic: str, count: int, form: str) -> dict[str, float]:
    """From the earliest record, as raw batches, Arrow or Python objects."""
    got = 0
    async with Consumer(topic, bootstrap=address, max_bytes=4 * 1024 * 1024) as consumer:
        before = time.perf_counter()
        while got < count:
            if form == "objects":
                got += len(await consumer.poll(limit=100_000))
                continue
            for batch in await consumer.poll_raw():
                if form == "arrow":
                    got += to_arrow(batch.records).num_rows
                else:
                    got += codec.scan(batch.records).count
        took = time.perf_counter() - before
    return {"per_s": got / took}


async def offered(address: str, topic: str, rate: int, seconds: int) -> dict[str, float]:
    """A steady rate, by the clock: what is late counts as waiting, so a stall is not hidden."""
    every = 0.001
    each = max(1, round(rate * every))
    latencies: list[float] = []

    async def confirmed(delivery: Awaitable[object], due: float) -> None:
        await delivery
        latencies.append(time.perf_counter() - due)

    async with Producer(address, linger_ms=1, batch_records=1000, buffer_records=200_000) as producer:
        await (await producer.send(topic, VALUE))
        # What was imported stays: walking it again and again would be a pause of this process, not the broker's.
        gc.collect()
        gc.freeze()
        start = time.perf_counter()
        waiting: set[asyncio.Task[None]] = set()
        for tick in range(int(seconds / every)):
            due = start + tick * every
            if (early := due - time.perf_counter()) > 0:
                await asyncio.sleep(early)
            for _ in range(each):
                delivery = await producer.send(topic, VALUE)
            # The last of them waits longest for its turn and is confirmed last.
            task = asyncio.create_task(confirmed(delivery, due))
            waiting.add(task)
            task.add_done_callback(waiting.discard)
        await producer.flush()
        if waiting:
            await asyncio.wait(waiting)
        took = time.perf_counter() - start
    return {"per_s": each * int(seconds / every) / took, **percentiles(latencies)}


async def single(address: str, topic: str, connections: int, seconds: float) -> dict[str, float]:
    """One record per request, awaited, on each connection: the native protocol without the accumulator."""
    import msgspec

    from goqueue.wire.native.messages import Publish

    batch = codec.encode([Record(value=VALUE)])
    head = msgspec.msgpack.encode(Publish(topic, 0))

    async def worker() -> Callable[[], Awaitable[None]]:
        connection = await connect(address)

        async def one() -> None:
            await connection.ask(Opcode.PUBLISH, head, batch)

        return one

    return await _hammer([await worker() for _ in range(connections)], seconds)


async def single_http(address: str, topic: str, connections: int, seconds: float) -> dict[str, float]:
    body = json.dumps({"value": "x" * 100}).encode()
    request = (
        f"POST /topics/{topic}/messages HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    ).encode() + body

    async def worker() -> Callable[[], Awaitable[None]]:
        host, _, port = address.rpartition(":")
        reader, writer = await asyncio.open_connection(host, int(port))

        async def one() -> None:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
            await reader.readexactly(length)

        return one

    return await _hammer([await worker() for _ in range(connections)], seconds)


async def _hammer(workers: list[Callable[[], Awaitable[None]]], seconds: float) -> dict[str, float]:
    latencies: list[float] = []
    stop_at = time.perf_counter() + seconds

    async def run(one: Callable[[], Awaitable[None]]) -> None:
        while (before := time.perf_counter()) < stop_at:
            await one()
            latencies.append(time.perf_counter() - before)

    before = time.perf_counter()
    await asyncio.gather(*map(run, workers))
    return {"per_s": len(latencies) / (time.perf_counter() - before), **percentiles(latencies)}


async def idle(address: str, count: int) -> dict[str, float]:
    """Hold connections open and check that they all still answer."""
    from goqueue.wire.native.messages import Metadata, MetadataReply

    connections = []
    for start in range(0, count, 200):
        connections += await asyncio.gather(*(connect(address) for _ in range(min(200, count - start))))
    print(json.dumps({"held": len(connections)}), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, input)
    for start in range(0, count, 500):
        some = connections[start : start + 500]
        await asyncio.gather(*(one.request(Opcode.METADATA, Metadata(()), MetadataReply) for one in some))
    return {"answered": len(connections)}


def percentiles(samples: list[float]) -> dict[str, float]:
    ordered = sorted(samples)
    at = lambda share: ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000  # noqa: E731
    return {"p50_ms": at(0.5), "p99_ms": at(0.99), "p999_ms": at(0.999), "max_ms": ordered[-1] * 1000}


if __name__ == "__main__":
    run_load(send, send_many, send_batch, send_keyed, fetch, offered, single, single_http, idle)
