"""Child process of the delay benchmark: delayed records against a running server, its figures as JSON."""

import asyncio
import random
import time

import msgspec

from bench.broker_client import percentiles
from bench.loads import run_load
from goqueue import codec
from goqueue.client import Admin, Worker
from goqueue.client.connection import connect
from goqueue.model.record import Record
from goqueue.wire.native.frames import Opcode
from goqueue.wire.native.messages import Publish

VALUE = bytes(100)
BATCH = 1000
UNDER_WAY = 8
WEEK_NS = 7 * 24 * 3600 * 10**9


async def schedule(address: str, topic: str, count: int) -> dict[str, float]:
    """Records due at any instant of the next seven days, a thousand in a request."""
    chance = random.Random(1)
    batch = codec.encode([Record(value=VALUE)] * BATCH)
    connection = await connect(address)
    gate = asyncio.Semaphore(UNDER_WAY)

    async def publish(number: int) -> None:
        now = time.time_ns()
        dues = tuple(now + 3600 * 10**9 + chance.randrange(WEEK_NS) for _ in range(BATCH))
        head = msgspec.msgpack.encode(Publish(topic, number % 3, deliver_at=dues))
        async with gate:
            await connection.ask(Opcode.PUBLISH, head, batch)

    before = time.perf_counter()
    await asyncio.gather(*(publish(number) for number in range(count // BATCH)))
    took = time.perf_counter() - before
    await connection.close()
    return {"per_s": count / took}


async def cancel(address: str, topic: str, count: int) -> dict[str, float]:
    """The first records of three partitions, `count` in all, a thousand in a request."""
    each = count // 3 // BATCH * BATCH
    gate = asyncio.Semaphore(UNDER_WAY)
    cancelled = 0

    async def cancel_batch(admin: Admin, partition: int, first: int) -> None:
        nonlocal cancelled
        async with gate:
            ended = await admin.cancel_delayed_many(topic, [(partition, first + step) for step in range(BATCH)])
        cancelled += len(ended.cancelled)

    async with Admin(address) as admin:
        batches = [(partition, first) for first in range(0, each, BATCH) for partition in range(3)]
        before = time.perf_counter()
        await asyncio.gather(*(cancel_batch(admin, *batch) for batch in batches))
        took = time.perf_counter() - before
    assert cancelled == 3 * each, f"{cancelled} of {3 * each} were cancelled"
    return {"per_s": cancelled / took}


async def firing(address: str, topic: str, rate: int, seconds: int) -> dict[str, float]:
    """How late a waiting worker has records, of which so many fall due in each second."""
    count = rate * seconds
    start = time.time_ns() + 5 * 10**9
    connection = await connect(address)
    for first in range(0, count, BATCH):
        dues = tuple(start + (first + step) * 10**9 // rate for step in range(BATCH))
        batch = codec.encode([Record(value=b"%d" % due + VALUE) for due in dues])
        head = msgspec.msgpack.encode(Publish(topic, first // BATCH % 3, deliver_at=dues))
        await connection.ask(Opcode.PUBLISH, head, batch)
    await connection.close()
    late: list[float] = []
    early = 0
    async with Worker(topic, group="bench", bootstrap=address) as worker:
        while len(late) < count:
            jobs = await worker.take(1000, wait_ms=10_000)
            now = time.time_ns()
            errors = [now - int(job.value[:19]) for job in jobs]
            early += sum(error < 0 for error in errors)
            late += [error / 1e9 for error in errors]
            await worker.ack(*jobs)
    return {"early": early, **percentiles(late)}


if __name__ == "__main__":
    run_load(schedule, cancel, firing)
