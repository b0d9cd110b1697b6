"""Leases of a worker that stops: another worker gets its jobs at once, whatever the reason."""

import asyncio
import subprocess
import sys
import threading
from contextlib import suppress

import pytest

from goqueue.client import Admin, Producer, Worker, sync
from goqueue.errors import ClientClosed

JOBS = [b"%d" % number for number in range(30)]
AT_ONCE_MS = 2000
"""Far below the 30 s that a lease lasts."""


class Mistake(Exception):
    """Of a program that uses a worker."""


@pytest.fixture
async def topic(shared_server, request):
    name = f"leases-{request.node.name}"
    async with Admin(bootstrap=shared_server.native) as admin, Producer(bootstrap=shared_server.native) as producer:
        await admin.create_topic(name, 1)
        await producer.send_many(name, JOBS)
    return name


def worker_of(server, topic, **settings):
    return Worker(topic, group=topic, bootstrap=server.native, **settings)


async def values_left(server, topic, **settings):
    async with worker_of(server, topic, **settings) as worker:
        jobs = await worker.take(wait_ms=AT_ONCE_MS)
        await worker.ack(*jobs)
        assert {job.failures for job in jobs} <= {0}
    return sorted((job.value for job in jobs), key=int)


async def test_an_exception_inside_the_block_gives_every_job_back_at_once(shared_server, topic):
    with pytest.raises(Mistake):
        async with worker_of(shared_server, topic, prefetch=10) as worker:
            async for _ in worker:
                raise Mistake
    assert await values_left(shared_server, topic) == JOBS


async def test_an_exception_inside_the_block_of_a_blocking_worker_gives_every_job_back_at_once(shared_server, topic):
    def fail():
        with sync.Worker(topic, group=topic, bootstrap=shared_server.native, prefetch=10) as worker:
            for _ in worker:
                raise Mistake

    with pytest.raises(Mistake):
        await asyncio.to_thread(fail)
    assert await values_left(shared_server, topic) == JOBS


async def test_leaving_the_block_gives_back_what_was_not_settled_and_nothing_else(shared_server, topic):
    async with worker_of(shared_server, topic) as worker:
        jobs = await worker.take(20)
        await worker.ack(*jobs[::2])
        await worker.reject(jobs[1])
    assert await values_left(shared_server, topic) == [JOBS[3 + 2 * step] for step in range(9)] + JOBS[20:]


async def test_jobs_in_key_order_are_given_back_too(shared_server, topic):
    async with worker_of(shared_server, topic, key_order=True) as worker:
        assert await worker.take(1)
    assert await values_left(shared_server, topic, key_order=True) == JOBS


async def test_a_job_whose_lease_ran_out_does_not_hold_back_those_given_with_it(shared_server, topic):
    async with worker_of(shared_server, topic, visibility_ms=300) as worker:
        jobs = await worker.take()
        await worker.extend(*jobs[1:], visibility_ms=60_000)
        async with worker_of(shared_server, topic) as other:
            assert [job.value for job in await other.take(wait_ms=20_000)] == [b"0"]
            await worker.close()
            assert [job.value for job in await other.take(wait_ms=AT_ONCE_MS)] == JOBS[1:]


async def test_jobs_of_an_aborted_transaction_are_given_back_and_those_of_a_committed_one_are_done(
    shared_server, topic
):
    producer = Producer(bootstrap=shared_server.native, transactional_id=topic)
    with pytest.raises(Mistake):
        async with producer, worker_of(shared_server, topic) as worker:
            first, second, *_ = await worker.take()
            async with producer.transaction() as transaction:
                await transaction.ack(first)
            async with producer.transaction() as transaction:
                await transaction.ack(second)
                raise Mistake
    assert await values_left(shared_server, topic) == JOBS[1:]


async def test_a_job_in_an_open_transaction_is_not_given_back(shared_server, topic):
    async with Producer(bootstrap=shared_server.native, transactional_id=topic) as producer:
        async with worker_of(shared_server, topic) as worker:
            first, *_ = await worker.take()
            transaction = producer.transaction()
            await transaction.__aenter__()
            await transaction.ack(first)
        assert await values_left(shared_server, topic) == JOBS[1:]
        await transaction.commit()
    async with Admin(bootstrap=shared_server.native) as admin:
        assert list((await admin.committed_offsets(topic)).values()) == [len(JOBS)]


async def test_what_a_cancelled_take_was_given_goes_to_the_next_one(shared_server, request):
    topic = f"leases-{request.node.name}"
    async with Admin(bootstrap=shared_server.native) as admin, Producer(bootstrap=shared_server.native) as producer:
        await admin.create_topic(topic, 1)
        async with worker_of(shared_server, topic) as worker:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(worker.take(wait_ms=30_000), 0.2)
            await producer.send_many(topic, JOBS[:3])
            found = []
            while len(found) < 3:
                found += await worker.take(wait_ms=AT_ONCE_MS)
            assert [job.value for job in found] == JOBS[:3]


async def test_a_take_that_waits_gets_nothing_of_what_its_worker_gives_back(shared_server, topic):
    worker = worker_of(shared_server, topic)
    async with worker:
        assert len(await worker.take()) == len(JOBS)
        waiting = asyncio.create_task(worker.take(wait_ms=30_000))
        await asyncio.wait([waiting], timeout=0.1)
    assert await asyncio.wait_for(waiting, 5) == []
    assert await values_left(shared_server, topic) == JOBS


async def test_a_worker_interrupted_by_a_signal_gives_its_jobs_back(shared_server, topic):
    program = (
        "import sys\n"
        "from goqueue import Worker\n"
        "with Worker(sys.argv[1], group=sys.argv[1], bootstrap=sys.argv[2]) as worker:\n"
        "    for job in worker:\n"
        "        print('took', flush=True)\n"
        "        import time; time.sleep(60)\n"
    )
    command = [sys.executable, "-c", program, topic, shared_server.native]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert await asyncio.to_thread(running.stdout.readline) == b"took\n"
        running.send_signal(2)
        await asyncio.to_thread(running.communicate, timeout=20)
    assert await values_left(shared_server, topic) == JOBS


def test_threads_that_still_work_on_jobs_of_a_closed_worker_learn_that_it_is_closed(shared_server):
    name = "leases-of-threads"
    with sync.Admin(bootstrap=shared_server.native) as admin, sync.Producer(bootstrap=shared_server.native) as producer:
        admin.create_topic(name, 1)
        producer.send_many(name, JOBS)
    ended = threading.Event()
    with sync.Worker(name, group=name, bootstrap=shared_server.native) as worker:
        (job,) = worker.take(1)

        def wait_for_more():
            # A call that begins after the worker was closed is refused.
            with suppress(ClientClosed):
                while worker.take(100, wait_ms=60_000):
                    pass
            ended.set()

        thread = threading.Thread(target=wait_for_more)
        thread.start()
    assert ended.wait(10)
    thread.join()
    with sync.Worker(name, group=name, bootstrap=shared_server.native) as worker:
        assert job.value in [one.value for one in worker.take(wait_ms=AT_ONCE_MS)]
