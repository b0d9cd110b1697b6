"""Child process of the benchmark of single messages: a publisher at a steady rate, and a worker that waits for each.

Both sides of both brokers are asyncio clients on uvloop, each in a process of its own with its own connection. A value
begins with the instant at which it was handed to the client, by the clock that all processes of the machine share.
"""

import asyncio
import struct
import time
from collections.abc import AsyncIterator, Awaitable, Callable

from bench.broker_client import percentiles
from bench.loads import run_load

VALUE = bytes(92)
GROUP = "bench"
GIVE_UP_AFTER_MS = 10_000
CPUCLOCK_SCHED = 2
WARM_S = 1.0
"""Connections, the group and the caches of both sides are made in this time, which counts for nothing."""

Send = Callable[[bytes], Awaitable[object]]


async def publish(broker: str, address: str, topic: str, pid: int, rate: float, seconds: float) -> dict[str, float]:
    """One message after another by the clock; the processor time of the broker meanwhile, for each."""
    if broker == "goqueue":
        from goqueue.client import Producer

        async with Producer(address, linger_ms=0) as producer:

            async def send(value: bytes) -> object:
                return await producer.send(topic, value)

            return await _offer(send, pid, rate, seconds)
    import redis.asyncio

    host, _, port = address.rpartition(":")
    client = redis.asyncio.Redis(host=host, port=int(port), single_connection_client=True)

    try:
        async with asyncio.TaskGroup() as tasks:

            async def add(value: bytes) -> object:
                return tasks.create_task(client.execute_command(b"XADD", topic.encode(), b"*", b"v", value))

            await client.ping()
            return await _offer(add, pid, rate, seconds)
    finally:
        await client.aclose()


async def _offer(send: Send, pid: int, rate: float, seconds: float) -> dict[str, float]:
    await _steadily(send, rate, WARM_S)
    cpu, began = processor_seconds(pid), time.perf_counter()
    count = await _steadily(send, rate, seconds)
    took = time.perf_counter() - began
    return {"cpu_ms": 1000 * (processor_seconds(pid) - cpu) / count, "per_s": count / took}


async def _steadily(send: Send, rate: float, seconds: float) -> int:
    count = round(rate * seconds)
    began = time.perf_counter()
    for number in range(count):
        if (early := began + number / rate - time.perf_counter()) > 0:
            await asyncio.sleep(early)
        await send(struct.pack("d", time.perf_counter()) + VALUE)
    await asyncio.sleep(max(0.0, began + count / rate - time.perf_counter()))
    return count


async def work(broker: str, address: str, topic: str, count: int, skipped: int) -> dict[str, float]:
    """Wait for what comes, acknowledge it, wait again; how old each message was when it came."""
    delays: list[float] = []
    seen = 0
    async for values in _goqueue(address, topic) if broker == "goqueue" else _redis(address, topic):
        now = time.perf_counter()
        for value in values:
            seen += 1
            if seen > skipped:
                delays.append(now - struct.unpack("d", value[:8])[0])
        if seen >= count + skipped:
            break
    return percentiles(delays)


async def _goqueue(address: str, topic: str) -> AsyncIterator[list[bytes]]:
    from goqueue.client import Worker

    async with Worker(topic, group=GROUP, bootstrap=address) as worker:
        while True:
            jobs = await worker.take(100, wait_ms=GIVE_UP_AFTER_MS)
            if not jobs:
                raise TimeoutError(f"nothing came within {GIVE_UP_AFTER_MS} ms")
            yield [job.value or b"" for job in jobs]
            await worker.ack(*jobs)


async def _redis(address: str, topic: str) -> AsyncIterator[list[bytes]]:
    import redis.asyncio

    host, _, port = address.rpartition(":")
    client = redis.asyncio.Redis(host=host, port=int(port), single_connection_client=True, socket_timeout=None)
    stream, group = topic.encode(), GROUP.encode()
    await client.xgroup_create(topic, GROUP, id="0", mkstream=True)
    wish = (b"XREADGROUP", b"GROUP", group, b"w", b"COUNT", 100, b"BLOCK", GIVE_UP_AFTER_MS, b"STREAMS", stream, b">")
    while True:
        found = await client.execute_command(*wish)
        if not found:
            raise TimeoutError(f"nothing came within {GIVE_UP_AFTER_MS} ms")
        entries = found[stream]
        yield [fields[1] for _, fields in entries]
        await client.execute_command(b"XACK", stream, group, *[entry for entry, _ in entries])


def processor_seconds(pid: int) -> float:
    """Of all threads of a process, by its clock, which counts nanoseconds."""
    return time.clock_gettime((~pid << 3) | CPUCLOCK_SCHED)


if __name__ == "__main__":
    run_load(publish, work)
