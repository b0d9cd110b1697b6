"""Child process of the benchmark of growth: publish or work off, as wide as asked for; its figures as JSON."""

import asyncio
import time

from bench.loads import run_load
from goqueue import codec
from goqueue.client import Producer, Worker
from goqueue.model.record import Record


async def publish(
    address: str, topic: str, *, size: int, batch: int, connections: int, partitions: int, seconds: float
) -> dict[str, float]:
    """Ready batches, the next one when the last is confirmed, on each connection."""
    ready = codec.encode([Record(value=bytes(size))] * batch)
    producers = [Producer(address, buffer_records=2 * batch) for _ in range(connections)]
    done = 0

    async def work(number: int, producer: Producer) -> None:
        nonlocal done
        while time.perf_counter() < until:
            await (await producer.send_batch(topic, number % partitions, ready, batch))
            done += batch
            number += connections

    for producer in producers:
        await (await producer.send_batch(topic, 0, ready, batch))
    begun = time.perf_counter()
    until = begun + seconds
    await asyncio.gather(*(work(number, producer) for number, producer in enumerate(producers)))
    took = time.perf_counter() - begun
    for producer in producers:
        await producer.close()
    return {"per_s": done / took, "count": done}


async def fill(address: str, topic: str, *, count: int, partitions: int) -> dict[str, float]:
    batch = codec.encode([Record(value=bytes(100))] * 1000)
    async with Producer(address, buffer_records=100_000) as producer:
        for number in range(count // 1000):
            await producer.send_batch(topic, number % partitions, batch, 1000)
        await producer.flush()
    return {}


async def work_off(address: str, topic: str, *, count: int, groups: int, workers: int) -> dict[str, float]:
    """Each group takes and acknowledges so many of the records that are there, a hundred at a time."""
    left = [count] * groups

    async def work(group: int) -> None:
        async with Worker(topic, group=f"group-{group}", bootstrap=address) as worker:
            while left[group] > 0:
                jobs = await worker.take(100, wait_ms=100)
                left[group] -= len(jobs)
                await worker.ack(*jobs)

    begun = time.perf_counter()
    await asyncio.gather(*(work(group) for group in range(groups) for _ in range(workers)))
    took = time.perf_counter() - begun
    done = sum(count - one for one in left)
    return {"per_s": done / took, "count": done}


if __name__ == "__main__":
    run_load(publish, fill, work_off)
