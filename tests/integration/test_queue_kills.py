"""Kill −9 while workers take, acknowledge, fail and reject: what was said stays said, and no record is lost."""

import asyncio
import contextlib
import json
import random
import time

import pytest

from goqueue.client import Admin, Consumer, Producer, Worker
from goqueue.errors import BrokerUnreachable, RequestTimeout, UnknownReceipt
from goqueue.model.log import LogId
from goqueue.model.topic import TopicConfig

TOPIC = "jobs"
GROUP = "workers"
PARTITIONS = 3
MAX_ATTEMPTS = 4
BATCH = 25
CONFIG = TopicConfig(max_attempts=MAX_ATTEMPTS, retry_backoff_ms=20, visibility_timeout_ms=1500)
LOST = (BrokerUnreachable, RequestTimeout, UnknownReceipt)
"""After these nobody knows whether it was done."""


class Notes:
    """What workers saw and were told."""

    def __init__(self) -> None:
        self.published: set[bytes] = set()
        self.deliveries: dict[bytes, int] = {}
        self.nacks: dict[bytes, int] = {}
        self.acked: set[bytes] = set()
        self.perhaps_acked: set[bytes] = set()
        self.rejected: set[bytes] = set()
        self.taken = 0

    def took(self, jobs):
        """All at once: while a worker is busy with the first, the time of the last may be up."""
        for job in jobs:
            self._took(job)
        return jobs

    def _took(self, job) -> None:
        value = job.value
        self.taken += 1
        assert value not in self.acked, f"{value} was delivered after its ack"
        assert value not in self.rejected, f"{value} was delivered after it was rejected"
        assert job.deliveries > self.deliveries.get(value, 0), f"{value}: a delivery was not counted"
        assert self.nacks.get(value, 0) <= job.failures < min(job.deliveries, MAX_ATTEMPTS), f"{value}: {job.failures}"
        self.deliveries[value] = job.deliveries


async def publish(server, notes, stop):
    """Every record that was confirmed counts."""
    async with Producer(server.native) as producer:
        number = 0
        while not stop.is_set():
            values = [b"%d" % (number + step) for step in range(BATCH)]
            sent = [await producer.send(TOPIC, value, partition=number // BATCH % PARTITIONS) for value in values]
            for delivery, value in zip(sent, values, strict=True):
                await delivery
                notes.published.add(value)
            number += BATCH
            await asyncio.sleep(0.005)


async def work(server, notes, chance, stop):
    """Until told to stop; then acknowledge whatever comes until all is done."""
    async with Worker(TOPIC, group=GROUP, bootstrap=server.native) as worker:
        while not stop.is_set():
            for job in notes.took(await worker.take(20, wait_ms=200)):
                with contextlib.suppress(*LOST):
                    await treat(worker, job, notes, chance.random())
        while not await is_done(server):
            for job in notes.took(await worker.take(100, wait_ms=200)):
                with contextlib.suppress(*LOST):
                    await treat(worker, job, notes, 0.0)


async def treat(worker, job, notes, fate):
    value = job.value
    if fate < 0.70:
        notes.perhaps_acked.add(value)
        await worker.ack(job)
        notes.acked.add(value)
    elif fate < 0.85:
        await worker.nack(job, reason="failed")
        notes.nacks[value] = notes.nacks.get(value, 0) + 1
    elif fate < 0.90:
        await worker.reject(job, reason="bad")
        notes.rejected.add(value)
    elif fate < 0.95:
        await worker.release(job)
    # The others are held until their time is up.


async def is_done(server):
    logs = [LogId(TOPIC, number) for number in range(PARTITIONS)]
    async with Admin(server.native) as admin:
        return await admin.committed_offsets(GROUP) == await admin.offsets_at(logs, "latest")


def said_of(letter):
    return json.loads(dict(letter.headers)["goqueue-dead-letter"])


async def read_all(server, topic):
    found = []
    async with Consumer(topic, bootstrap=server.native) as consumer:
        while some := await consumer.poll(wait_ms=0, limit=10_000):
            found += some
    return found


async def kill_again_and_again(server, seconds, seed):
    chance = random.Random(seed)
    notes, enough, stop = Notes(), asyncio.Event(), asyncio.Event()
    async with Admin(server.native) as admin:
        await admin.create_topic(TOPIC, PARTITIONS, CONFIG)
    until = time.monotonic() + seconds
    kills = 0
    async with asyncio.timeout(seconds + 60), asyncio.TaskGroup() as group:
        publishing = group.create_task(publish(server, notes, enough))
        for number in range(4):
            group.create_task(work(server, notes, random.Random(seed + number), stop))
        while time.monotonic() < until:
            await asyncio.sleep(chance.uniform(0.05, 0.8))
            await asyncio.to_thread(server.crash_and_restart)
            kills += 1
        enough.set()
        await publishing
        stop.set()
    await check(server, notes)
    return notes, kills


async def check(server, notes):
    records = [one.value for one in await read_all(server, TOPIC)]
    assert len(records) == len(set(records))
    assert notes.published <= set(records)
    letters = await read_all(server, f"{TOPIC}.dlq")
    deadline = time.monotonic() + 5
    while set(records) - {one.value for one in letters} - notes.perhaps_acked and time.monotonic() < deadline:
        # The last of them can be read when they are synced, a moment after the group has passed them.
        await asyncio.sleep(0.05)
        letters = await read_all(server, f"{TOPIC}.dlq")
    dead = [one.value for one in letters]
    assert len(dead) == len(set(dead)), "a record is with the dead letters twice"
    assert notes.rejected <= set(dead)
    assert not notes.acked & set(dead), "acknowledged, and with the dead letters, too"
    lost = {value: notes.deliveries.get(value) for value in set(records) - set(dead) - notes.perhaps_acked}
    assert lost == {}, "neither acknowledged nor with the dead letters"
    for one in letters:
        said = said_of(one)
        assert (said["topic"], said["group"]) == (TOPIC, GROUP)
        assert said["deliveries"] >= notes.deliveries.get(one.value, 0)
        if said["cause"] != "rejected":
            assert said["failures"] == MAX_ATTEMPTS
        assert notes.nacks.get(one.value, 0) <= said["failures"] <= said["deliveries"]


async def test_every_record_is_acknowledged_or_a_dead_letter_exactly_once_whatever_is_killed(server):
    notes, kills = await kill_again_and_again(server, 8, seed=1)
    assert kills >= 2
    assert len(notes.acked) > 50


@pytest.mark.slow
async def test_every_record_ends_exactly_once_after_many_kills(server):
    notes, kills = await kill_again_and_again(server, 35, seed=2)
    assert kills >= 8
    assert len(notes.acked) > 300
    assert notes.rejected
    assert notes.nacks


async def test_held_leases_and_counters_are_as_they_were_after_a_kill(server):
    async with Admin(server.native) as admin:
        await admin.create_topic(TOPIC, 1, TopicConfig(retry_backoff_ms=0))
    async with Producer(server.native) as producer:
        await producer.send_many(TOPIC, [b"held", b"short", b"failed", b"done", b"rejected"])

    async def at(visibility_ms):
        return await stack.enter_async_context(
            Worker(TOPIC, group=GROUP, bootstrap=server.native, visibility_ms=visibility_ms)
        )

    async with contextlib.AsyncExitStack() as stack:
        long, short, other = await at(60_000), await at(4000), await at(60_000)
        (held,) = await long.take(1)
        (brief,) = await short.take(1)
        failed, done, rejected = await other.take()
        await other.nack(failed)
        (failed,) = await other.take()
        await other.nack(failed)
        await other.ack(done)
        await other.reject(rejected)
        for _ in range(3):
            await asyncio.to_thread(server.crash_and_restart)
        taken, taken_ns = {}, {}
        while len(taken) < 2:
            for job in await other.take(wait_ms=10_000):
                taken[job.value], taken_ns[job.value] = job, time.time_ns()
        again, late = taken[b"failed"], taken[b"short"]
        assert (again.deliveries, again.failures) == (3, 2)
        # Held until its deadline, and no longer than the sweep needs after it.
        assert (late.deliveries, late.failures) == (2, 1)
        assert taken_ns[b"short"] >= brief.deadline_ns
        with pytest.raises(UnknownReceipt):
            await short.ack(brief)
        await long.extend(held, visibility_ms=60_000)
        await long.ack(held)
        await other.nack(again)
        await other.ack(late)
        assert await other.take(wait_ms=300) == []
    letters = {
        one.value: json.loads(dict(one.headers)["goqueue-dead-letter"]) for one in await read_all(server, "jobs.dlq")
    }
    assert {value: said["failures"] for value, said in letters.items()} == {b"rejected": 0, b"failed": 3}
    async with Admin(server.native) as admin:
        assert await admin.committed_offsets(GROUP) == {LogId(TOPIC, 0): 5}
