"""The loads themselves: what is done over and over, and from where to where its time is taken."""

import asyncio
import itertools
import struct
from collections.abc import Awaitable, Callable

from goqueue import codec
from goqueue.cli.load.plan import Kind, Plan
from goqueue.cli.load.run import Run
from goqueue.client import Consumer, Delivery, Job, Producer, Worker
from goqueue.errors import GoQueueError
from goqueue.model.record import Record

__all__ = ["LOADS", "fill", "parties"]

IN_FLIGHT = 8
"""Batches under way on one connection: more would only wait for each other."""
TAKE = 100
MOST_BEHIND = 20_000
"""Without a rate the producer of a queue waits for the workers, or the age of the backlog would be measured."""
TICK_S = 0.002
WAIT_MS = 200
LAST_WAIT_S = 2.0
STAMP = struct.Struct(">Qd")

Load = Callable[[Run], Awaitable[None]]


def _producer(plan: Plan) -> Producer:
    return Producer(
        plan.server,
        buffer_records=max(10_000, 2 * IN_FLIGHT * plan.batch),
        batch_records=plan.batch,
        linger_ms=1,
        durability=plan.durability,
    )


class _Batches:
    """Sends ready batches to the partitions in turn, a few at a time, and takes the time until each is confirmed."""

    def __init__(self, run: Run, producer: Producer) -> None:
        self._run = run
        self._producer = producer
        self._room = asyncio.Semaphore(IN_FLIGHT)
        self._turns = itertools.cycle(range(run.plan.partitions))
        self._ready = codec.encode([Record(value=bytes(run.plan.size))] * run.plan.batch)

    async def send(self, count: int, since: float | None, tasks: asyncio.TaskGroup, stamp: bytes = b"") -> None:
        """`since` is when it was due; None for as soon as there was room."""
        await self._room.acquire()
        plan, begun = self._run.plan, self._run.now
        records = self._ready
        if stamp or count != plan.batch:
            records = codec.encode([Record(value=stamp.ljust(plan.size, b"."))] * count)
        try:
            delivery = await self._producer.send_batch(plan.topic, next(self._turns), records, count)
        except GoQueueError as error:
            self._room.release()
            await self._run.failed(error)
            return
        tasks.create_task(self._confirm(delivery, count, begun if since is None else since))

    async def _confirm(self, delivery: Delivery, count: int, since: float) -> None:
        try:
            await delivery
        except GoQueueError as error:
            await self._run.failed(error)
        else:
            if self._run.plan.kind is Kind.PUBLISH:
                self._run.latencies.add(self._run.now - since, count)
                self._run.did(count, count * self._run.plan.size)
        finally:
            self._room.release()


async def publish(run: Run) -> None:
    """From the moment a batch is handed over, or with a rate from when it was due, until it is confirmed."""
    plan = run.plan

    async def connection(number: int) -> None:
        async with _producer(plan) as producer:
            await producer.send_batch(plan.topic, 0, codec.encode([Record(value=b"warm")]), 1)
            await producer.flush()
            batches = _Batches(run, producer)
            await run.line_up()
            pace = None if plan.per_second is None else plan.batch * plan.connections / plan.per_second
            async with asyncio.TaskGroup() as tasks:
                for step in itertools.count():
                    due = None if pace is None else run.start + (step + number / plan.connections) * pace
                    if due is not None:
                        await run.until(due)
                    count = run.next_share(plan.batch)
                    if not count:
                        return
                    await batches.send(count, due, tasks)

    await asyncio.gather(*map(connection, range(plan.connections)))


async def consume(run: Run) -> None:
    """Each connection reads the whole topic from its beginning; the time is that of one fetch."""
    plan = run.plan

    async def connection() -> None:
        async with Consumer(plan.topic, bootstrap=plan.server, max_bytes=4 << 20) as consumer:
            ends = await consumer.offsets_at(consumer.assigned, "latest")
            await run.line_up()
            while not run.is_over and any(consumer.position(log) < end for log, end in ends.items()):
                before = run.now
                try:
                    found = await consumer.poll_raw(wait_ms=WAIT_MS)
                except GoQueueError as error:
                    await run.failed(error)
                    continue
                if found:
                    run.latencies.add(run.now - before)
                for batch in found:
                    run.did(codec.scan(batch.records).count, len(batch.records))

    await asyncio.gather(*(connection() for _ in range(plan.connections)))


async def queue(run: Run) -> None:
    """Publish, take, acknowledge, all at the same time; from when a record was handed over until it is acknowledged."""
    plan = run.plan
    sent = 0
    published = asyncio.Event()

    async def produce() -> None:
        nonlocal sent
        async with _producer(plan) as producer:
            batches = _Batches(run, producer)
            await run.line_up()
            async with asyncio.TaskGroup() as tasks:
                for step in itertools.count():
                    if plan.per_second is not None:
                        await run.until(run.start + step * plan.batch / plan.per_second)
                    while plan.per_second is None and sent - run.progress.records > MOST_BEHIND and not run.is_over:
                        await run.until(run.now + TICK_S)
                    count = run.next_share(plan.batch)
                    if not count:
                        break
                    await batches.send(count, None, tasks, STAMP.pack(plan.mark, run.now))
                    sent += count
        published.set()

    async def work() -> None:
        async with Worker(plan.topic, group=plan.group, bootstrap=plan.server) as worker:
            await run.line_up()
            async with asyncio.TaskGroup() as tasks:
                room = asyncio.Semaphore(3)
                while not run.is_over and not (published.is_set() and run.progress.records >= sent):
                    try:
                        jobs = await worker.take(TAKE, wait_ms=WAIT_MS)
                    except GoQueueError as error:
                        await run.failed(error)
                        continue
                    if jobs:
                        await room.acquire()
                        tasks.create_task(settle(worker, jobs, room))
                    elif published.is_set():
                        # Other processes may have done what this one published.
                        return

    async def settle(worker: Worker, jobs: list[Job], room: asyncio.Semaphore) -> None:
        try:
            await worker.ack(*jobs)
        except GoQueueError as error:
            await run.failed(error)
        else:
            now = run.now
            for job in jobs:
                since = _stamp_of(job.value, plan.mark)
                if since is not None:
                    run.latencies.add(now - since)
            run.did(len(jobs), len(jobs) * plan.size)
        finally:
            room.release()

    await asyncio.gather(produce(), *(work() for _ in range(plan.connections)))


async def latency(run: Run) -> None:
    """Single records at a steady rate; from when each was due until a reader that waits for it has it."""
    plan = run.plan
    per_second = plan.per_second or 1000.0
    sent = 0
    published = asyncio.Event()

    async def produce() -> None:
        nonlocal sent
        async with _producer(plan) as producer:
            await run.line_up()
            for step in itertools.count():
                due = run.start + step / per_second
                await run.until(due)
                if not run.next_share(1):
                    break
                try:
                    await producer.send(plan.topic, STAMP.pack(plan.mark, due).ljust(plan.size, b"."))
                    sent += 1
                except GoQueueError as error:
                    await run.failed(error)
            try:
                await producer.flush()
            except GoQueueError as error:
                await run.failed(error)
        published.set()

    async def read() -> None:
        async with Consumer(plan.topic, bootstrap=plan.server, start="latest") as consumer:
            await run.line_up()
            give_up = run.start + plan.seconds + LAST_WAIT_S
            while run.now < give_up and not (published.is_set() and run.progress.records >= sent):
                try:
                    found = await consumer.poll(wait_ms=WAIT_MS)
                except GoQueueError as error:
                    await run.failed(error)
                    continue
                now = run.now
                for message in found:
                    since = _stamp_of(message.value, plan.mark)
                    if since is not None:
                        run.latencies.add(now - since)
                        run.did(1, plan.size)

    await asyncio.gather(produce(), read())


def _stamp_of(value: bytes | None, mark: int) -> float | None:
    """When this record of this run was handed over; None for what others wrote."""
    if value is None or len(value) < STAMP.size:
        return None
    found, since = STAMP.unpack_from(value)
    return since if found == mark else None


async def fill(plan: Plan, records: int) -> None:
    """Something to read, in batches that are encoded once."""
    ready = codec.encode([Record(value=bytes(plan.size))] * plan.batch)
    async with Producer(plan.server, buffer_records=max(100_000, 4 * plan.batch), durability="memory") as producer:
        for number in range(-(-records // plan.batch)):
            await producer.send_batch(plan.topic, number % plan.partitions, ready, plan.batch)
        await producer.flush()


LOADS: dict[Kind, Load] = {
    Kind.PUBLISH: publish,
    Kind.CONSUME: consume,
    Kind.QUEUE: queue,
    Kind.LATENCY: latency,
}


def parties(plan: Plan) -> int:
    """How many connections line up before it begins."""
    return {Kind.QUEUE: plan.connections + 1, Kind.LATENCY: 2}.get(plan.kind, plan.connections)
