"""Child process of the queue benchmark: one kind of work against a running server, its figures as JSON."""

import asyncio
import struct
import time
from collections import Counter

from bench.broker_client import percentiles
from bench.loads import run_load
from goqueue import codec
from goqueue.client import Job, Producer, Worker
from goqueue.model.record import Record

VALUE = bytes(100)
GROUP = "bench"


async def fill(address: str, topic: str, count: int, priorities: bool = False) -> dict[str, float]:
    """A backlog, in batches of 1000; the five priorities evenly mixed, or all normal."""
    batch = codec.encode([Record(value=VALUE, priority=step % 5 if priorities else 2) for step in range(1000)])
    async with Producer(address, buffer_records=100_000) as producer:
        before = time.perf_counter()
        for number in range(count // 1000):
            await producer.send_batch(topic, number % 3, batch, 1000)
        await producer.flush()
        return {"per_s": count / (time.perf_counter() - before)}


class Acks:
    """A worker goes on while its acknowledgements are on their way, up to three of them."""

    def __init__(self, worker: Worker, tasks: asyncio.TaskGroup) -> None:
        self._worker = worker
        self._tasks = tasks
        self._room = asyncio.Semaphore(3)
        self.done = 0

    async def send(self, jobs: list[Job]) -> None:
        await self._room.acquire()
        self._tasks.create_task(self._send(jobs))

    async def _send(self, jobs: list[Job]) -> None:
        await self._worker.ack(*jobs)
        self.done += len(jobs)
        self._room.release()


async def cycle(address: str, topic: str, count: int, workers: int) -> dict[str, float]:
    """Publish, take a hundred, acknowledge them together, all at the same time."""
    under_way: list[Acks] = []
    begun = time.perf_counter()

    async def work() -> None:
        async with Worker(topic, group=GROUP, bootstrap=address) as worker, asyncio.TaskGroup() as tasks:
            acks = Acks(worker, tasks)
            under_way.append(acks)
            while sum(one.done for one in under_way) < count:
                jobs = await worker.take(100, wait_ms=100)
                if jobs:
                    await acks.send(jobs)

    await asyncio.gather(fill(address, topic, count), *(work() for _ in range(workers)))
    return {"per_s": count / (time.perf_counter() - begun)}


async def drain(address: str, topic: str, count: int, workers: int) -> dict[str, object]:
    """Take and acknowledge a backlog; how the priorities were mixed while all lanes had records."""
    left = count
    served: Counter[int] = Counter()
    last_served = dict.fromkeys(range(5), time.perf_counter())
    longest = dict.fromkeys(range(5), 0.0)
    begun = time.perf_counter()

    async def work() -> None:
        nonlocal left
        async with Worker(topic, group=GROUP, bootstrap=address) as worker:
            while left > 0:
                jobs = await worker.take(100, wait_ms=100)
                if not jobs:
                    continue
                await worker.ack(*jobs)
                left -= len(jobs)
                now = time.perf_counter()
                for lane, number in Counter(job.message.priority for job in jobs).items():
                    longest[lane] = max(longest[lane], now - last_served[lane])
                    last_served[lane] = now
                    # Up to here no lane can have run empty: the heaviest has a fifth of all and half of the turns.
                    if count - left < 0.38 * count:
                        served[lane] += number

    await asyncio.gather(*(work() for _ in range(workers)))
    total = sum(served.values()) or 1
    return {
        "per_s": count / (time.perf_counter() - begun),
        "shares": [served[lane] / total for lane in range(5)],
        "longest_wait_s": longest[4],
    }


async def latency(address: str, topic: str, rate: int, seconds: int) -> dict[str, float]:
    """From the moment a record is handed to the producer to the moment a waiting worker has it."""
    delays: list[float] = []
    count = rate * seconds

    async def work() -> None:
        async with Worker(topic, group=GROUP, bootstrap=address) as worker, asyncio.TaskGroup() as tasks:
            acks = Acks(worker, tasks)
            while len(delays) < count:
                jobs = await worker.take(500, wait_ms=1000)
                now = time.perf_counter()
                delays.extend(now - struct.unpack("d", job.value[:8])[0] for job in jobs)
                await acks.send(jobs)

    working = asyncio.create_task(work())
    each = max(1, rate // 500)
    async with Producer(address, linger_ms=1) as producer:
        # To connect and to begin a group is done once, and counts for nothing.
        await (await producer.send(topic, struct.pack("d", time.perf_counter()) + VALUE[8:]))
        while not delays:
            await asyncio.sleep(0.01)
        delays.clear()
        start = time.perf_counter()
        for tick in range(count // each):
            due = start + tick * each / rate
            if (early := due - time.perf_counter()) > 0:
                await asyncio.sleep(early)
            for _ in range(each):
                await producer.send(topic, struct.pack("d", due) + VALUE[8:])
        await producer.flush()
    await working
    return percentiles(delays)


async def single_ack(address: str, topic: str, seconds: float, workers: int) -> dict[str, float]:
    """One record acknowledged with each request."""
    done = 0
    until = time.perf_counter() + seconds

    async def work() -> None:
        nonlocal done
        async with Worker(topic, group=GROUP, bootstrap=address) as worker:
            while time.perf_counter() < until:
                for job in await worker.take(100, wait_ms=100):
                    await worker.ack(job)
                    done += 1

    await asyncio.gather(*(work() for _ in range(workers)))
    return {"per_s": done / seconds}


if __name__ == "__main__":
    run_load(fill, cycle, drain, latency, single_ack)
