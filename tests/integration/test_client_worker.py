"""Workers of the client library: taking ahead, giving back, going on after the broker was away."""

import asyncio
import threading

import pytest

from goqueue.client import Admin, Producer, Worker, sync
from goqueue.errors import BrokerUnreachable, ClientClosed, InvalidRequest, UnknownTopic

JOBS = [b"%d" % number for number in range(30)]


@pytest.fixture
async def topic(shared_server, request):
    name = f"worker-{request.node.name}"
    async with Admin(shared_server.native) as admin, Producer(shared_server.native) as producer:
        await admin.create_topic(name, 1)
        await producer.send_many(name, JOBS)
    return name


def worker_of(server, topic, **settings):
    return Worker(topic, group=topic, bootstrap=server.native, **settings)


async def test_a_worker_can_be_iterated(shared_server, topic):
    found = []
    async with worker_of(shared_server, topic, prefetch=7) as worker:
        async for job in worker:
            found.append(job.value)
            await worker.ack(job)
            if len(found) == len(JOBS):
                break
    assert found == JOBS
    async with Admin(shared_server.native) as admin:
        assert list((await admin.committed_offsets(topic)).values()) == [len(JOBS)]


async def test_what_was_taken_ahead_and_what_was_handed_out_is_given_back(shared_server, topic):
    async with worker_of(shared_server, topic, prefetch=10) as worker:
        first = await anext(aiter(worker))
    async with worker_of(shared_server, topic) as other:
        jobs = await other.take(wait_ms=0)
    assert first.value == b"0"
    assert [job.value for job in jobs] == JOBS
    assert [(job.deliveries, job.failures) for job in jobs[:11]] == [(2, 0)] * 10 + [(1, 0)]


async def test_closing_ends_a_take_that_waits(shared_server, topic):
    async with worker_of(shared_server, topic) as worker:
        await worker.take(wait_ms=0)
        waiting = asyncio.create_task(worker.take(wait_ms=30_000))
        await asyncio.wait([waiting], timeout=0.1)
        await worker.close()
        assert await asyncio.wait_for(waiting, 5) == []
        with pytest.raises(ClientClosed):
            await worker.take()


async def test_a_worker_needs_a_topic_that_is_there(shared_server):
    with pytest.raises(InvalidRequest):
        Worker(group="g", bootstrap=shared_server.native)
    for wrong in ({"visibility_ms": 0}, {"prefetch": 0}, {"max_bytes": -1}, {"unknown": 1}):
        with pytest.raises(InvalidRequest):
            Worker("topic", group="g", bootstrap=shared_server.native, **wrong)
    async with worker_of(shared_server, "there-is-none") as worker:
        with pytest.raises(UnknownTopic):
            await worker.take()


async def test_settling_nothing_asks_nobody(shared_server, topic):
    async with worker_of(shared_server, topic) as worker:
        await worker.ack()
        assert (await worker.nack()).dead == 0


async def test_the_dead_are_counted(shared_server, topic):
    async with worker_of(shared_server, topic) as worker:
        one, two, *_ = await worker.take()
        assert (await worker.reject(one, two, reason="bad")).dead == 2
        assert (await worker.extend(*_, visibility_ms=90_000)).deadline_ns > _[0].deadline_ns


async def test_a_worker_goes_on_after_the_broker_was_away(server):
    async with Admin(server.native) as admin, Producer(server.native) as producer:
        await admin.create_topic("jobs", 1)
        await producer.send_many("jobs", JOBS)
    async with worker_of(server, "jobs") as worker:
        done, failed, *_ = await worker.take(5)
        await asyncio.to_thread(server.kill)
        with pytest.raises(BrokerUnreachable):
            await worker.nack(failed)
        acking = asyncio.create_task(worker.ack(done))
        taking = asyncio.create_task(worker.take(wait_ms=20_000))
        await asyncio.to_thread(server.start)
        await acking
        assert [job.value for job in await taking] == JOBS[5:]
        await worker.nack(failed, delay_ms=0)
        (again,) = await worker.take(wait_ms=5000)
        assert (again.value, again.deliveries, again.failures) == (b"1", 2, 1)


def test_a_blocking_worker_is_iterated_and_closed_by_another_thread(shared_server):
    with sync.Admin(shared_server.native) as admin, sync.Producer(shared_server.native) as producer:
        admin.create_topic("blocking-worker", 1)
        producer.send_many("blocking-worker", JOBS)
    worker = sync.Worker("blocking-worker", group="blocking", bootstrap=shared_server.native, prefetch=4)
    found = []
    has_all = threading.Event()

    def work():
        for job in worker:
            worker.ack(job)
            found.append(job.value)
            if len(found) == len(JOBS):
                has_all.set()

    thread = threading.Thread(target=work)
    with worker:
        thread.start()
        assert has_all.wait(20)
    thread.join(10)
    assert not thread.is_alive()
    assert found == JOBS
