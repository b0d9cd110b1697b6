"""A worker that runs a handler: jobs are acknowledged, tried again, kept while they take long, and left in order."""

import asyncio
import logging
import signal
import subprocess
import sys
import threading
from datetime import timedelta

import pytest

from goqueue.client import Admin, Producer, TopicConfig, Worker, sync
from goqueue.errors import ClientClosed, InvalidRequest, UnknownTopic
from tests.behaviour.serving import name_of

JOBS = [b"%d" % number for number in range(20)]
LEASE_MS = 1500
AT_ONCE_MS = 2000


@pytest.fixture
async def topic(shared_server, request):
    name = name_of(request.node.nodeid)
    config = TopicConfig(max_attempts=2, retry_backoff_ms=50)
    async with Admin(bootstrap=shared_server.native) as admin, Producer(bootstrap=shared_server.native) as producer:
        await admin.create_topic(name, 1, config)
        await producer.send_many(name, JOBS)
    return name


def worker_of(server, topic, **settings):
    return Worker(topic, group=topic, bootstrap=server.native, **settings)


async def values_left(server, topic):
    async with worker_of(server, topic) as worker:
        return sorted((job.value for job in await worker.take(wait_ms=AT_ONCE_MS)), key=int)


async def committed(server, topic):
    async with Admin(bootstrap=server.native) as admin:
        return list((await admin.committed_offsets(topic)).values())


class Calls:
    """A handler that notes what it is called with, and tells its worker to stop after so many jobs."""

    def __init__(self, worker, count):
        self.values = []
        self.running = self.most_running = 0
        self._worker = worker
        self._count = count

    def began(self, job):
        self.values.append(job.value)
        self.running += 1
        self.most_running = max(self.running, self.most_running)

    def ended(self):
        self.running -= 1
        if len(self.values) == self._count:
            self._worker.stop()


async def test_each_job_is_acknowledged_when_its_handler_returns(shared_server, topic):
    async with worker_of(shared_server, topic) as worker:
        calls = Calls(worker, len(JOBS))

        async def handle(job):
            calls.began(job)
            await asyncio.sleep(0)
            calls.ended()

        await worker.run(handle)
    assert calls.values == JOBS
    assert calls.most_running == 1
    assert await committed(shared_server, topic) == [len(JOBS)]


async def test_up_to_concurrency_handlers_run_at_a_time(shared_server, topic):
    async with worker_of(shared_server, topic) as worker:
        calls = Calls(worker, len(JOBS))
        four = asyncio.Barrier(4)

        async def handle(job):
            calls.began(job)
            await four.wait()
            calls.ended()

        await worker.run(handle, concurrency=4)
    assert calls.most_running == 4
    assert await committed(shared_server, topic) == [len(JOBS)]


async def test_a_job_whose_handler_fails_is_tried_again_and_then_goes_to_the_dead_letters(shared_server, topic, caplog):
    failures, done = [], []
    async with worker_of(shared_server, topic) as worker:

        async def handle(job):
            (failures if job.value == b"3" else done).append((job.deliveries, job.failures))
            if len(failures) + len(done) == len(JOBS) + 1:
                worker.stop()
            if job.value == b"3":
                raise ValueError("no stock")

        with caplog.at_level(logging.WARNING, "goqueue.client.worker"):
            await asyncio.wait_for(worker.run(handle, concurrency=3), 20)
    assert failures == [(1, 0), (2, 1)]
    async with Admin(bootstrap=shared_server.native) as admin:
        (letter,) = (await admin.list_dead_letters(topic)).letters
    assert "ValueError: no stock" in str(letter)
    assert await committed(shared_server, topic) == [len(JOBS)]
    first, second = caplog.records
    assert f"{topic}/0 at offset 3 (delivery 1) failed, and it is tried again" in first.getMessage()
    assert "it is in the dead letters" in second.getMessage()
    assert first.exc_info[0] is ValueError


async def test_a_job_is_not_given_to_another_worker_while_its_handler_runs(shared_server, topic):
    async with Admin(bootstrap=shared_server.native) as admin:
        await admin.alter_topic(topic, TopicConfig(visibility_timeout_ms=LEASE_MS))
    async with worker_of(shared_server, topic) as worker, worker_of(shared_server, topic) as other:

        async def handle(job):
            if job.value == b"0":
                taken = await other.take(wait_ms=0)
                assert [one.value for one in taken] == JOBS[2:]
                await other.ack(*taken)
                # Far longer than a lease.
                assert await other.take(wait_ms=3 * LEASE_MS) == []
                worker.stop()

        await worker.run(handle, concurrency=2)
    assert await committed(shared_server, topic) == [len(JOBS)]


async def test_a_run_that_is_told_to_stop_finishes_what_it_began_and_gives_the_rest_back(shared_server, topic):
    done = []
    began, go_on = asyncio.Event(), asyncio.Event()
    async with worker_of(shared_server, topic) as worker:

        async def handle(job):
            if len(done) == 0:
                began.set()
            await go_on.wait()
            done.append(job.value)

        running = asyncio.create_task(worker.run(handle, concurrency=2))
        await began.wait()
        worker.stop()
        go_on.set()
        await asyncio.wait_for(running, 10)
        assert done == JOBS[:2]
        # The worker is still there: what it does not need is not held.
        assert await values_left(shared_server, topic) == JOBS[2:]


async def test_a_handler_may_settle_its_job_itself(shared_server, topic):
    async with worker_of(shared_server, topic) as worker:
        calls = Calls(worker, len(JOBS))

        async def handle(job):
            calls.began(job)
            if job.value == b"5":
                await worker.reject(job, reason="no address")
            if job.value == b"6":
                await worker.ack(job)
                raise ValueError("after it was settled")
            calls.ended()

        await asyncio.wait_for(worker.run(handle), 20)
    assert calls.values == JOBS
    async with Admin(bootstrap=shared_server.native) as admin:
        assert len((await admin.list_dead_letters(topic)).letters) == 1


async def test_a_run_that_is_cancelled_gives_its_jobs_back_at_once(shared_server, topic):
    began = asyncio.Event()

    async def handle(job):
        began.set()
        await asyncio.Event().wait()

    async with worker_of(shared_server, topic, visibility=timedelta(hours=1)) as worker:
        running = asyncio.create_task(worker.run(handle, concurrency=5))
        await began.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert await values_left(shared_server, topic) == JOBS


async def test_leaving_the_block_ends_a_run_and_gives_back_its_jobs(shared_server, topic):
    began, ended = asyncio.Event(), asyncio.Event()

    async def handle(job):
        began.set()
        await ended.wait()

    async with worker_of(shared_server, topic, visibility=timedelta(hours=1)) as worker:
        running = asyncio.create_task(worker.run(handle))
        await began.wait()
    assert await values_left(shared_server, topic) == JOBS
    ended.set()
    await asyncio.wait_for(running, 5)


async def test_what_cannot_be_run_is_refused(shared_server, topic):
    async def handle(job):
        pass

    async with worker_of(shared_server, topic) as worker:
        with pytest.raises(InvalidRequest, match="concurrency must be at least 1, got 0"):
            await worker.run(handle, concurrency=0)
        with pytest.raises(InvalidRequest, match="coroutine function"):
            await worker.run(lambda job: None)
        first = asyncio.create_task(worker.run(handle))
        await asyncio.sleep(0)
        with pytest.raises(InvalidRequest, match="runs a handler already"):
            await worker.run(handle)
        worker.stop()
        await first
    with pytest.raises(ClientClosed):
        await worker.run(handle)
    async with worker_of(shared_server, "there-is-none") as worker:
        with pytest.raises(UnknownTopic):
            await worker.run(handle)


def test_a_blocking_worker_runs_its_handler_in_threads(shared_server, topic):
    lock, first_four = threading.Lock(), threading.Barrier(4)
    with sync.Worker(topic, group=topic, bootstrap=shared_server.native) as worker:
        calls = Calls(worker, len(JOBS) + 1)

        def handle(job):
            with lock:
                calls.began(job)
            if job.message.offset < 4:
                first_four.wait(20)
            with lock:
                calls.ended()
            if job.value == b"7" and job.failures == 0:
                raise ValueError("not now")

        with pytest.raises(InvalidRequest, match="must be a function"):
            worker.run(_coroutine)
        worker.run(handle, concurrency=4)
    assert sorted(calls.values, key=int) == [*JOBS[:7], b"7", *JOBS[7:]]
    assert calls.most_running == 4
    assert asyncio.run(committed(shared_server, topic)) == [len(JOBS)]


async def _coroutine(job):
    pass


BLOCKING = """
import sys, threading
from goqueue import Worker

def handle(job):
    print(f"began {job.text}\\n", end="", flush=True)
    sys.stdin.readline()
    print(f"done {job.text}\\n", end="", flush=True)

with Worker(sys.argv[1], group=sys.argv[1], bootstrap=sys.argv[2]) as worker:
    worker.run(handle, concurrency=2)
    print("left", flush=True)
"""
ASYNCIO = """
import asyncio, sys
from goqueue.client import Worker

async def handle(job):
    print(f"began {job.text}\\n", end="", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    print(f"done {job.text}\\n", end="", flush=True)

async def main():
    async with Worker(sys.argv[1], group=sys.argv[1], bootstrap=sys.argv[2]) as worker:
        await worker.run(handle, concurrency=2)
        print("left", flush=True)

asyncio.run(main())
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("program", [BLOCKING, ASYNCIO], ids=["blocking", "asyncio"])
def test_a_signal_lets_a_run_finish_what_it_began_and_ends_it(shared_server, topic, program, number):
    command = [sys.executable, "-W", "error", "-c", program, topic, shared_server.native]
    with subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1, text=True) as running:
        assert sorted(running.stdout.readline() for _ in range(2)) == ["began 0\n", "began 1\n"]
        running.send_signal(number)
        said, complaints = running.communicate("\n\n", timeout=20)
    assert (running.returncode, complaints) == (0, "")
    assert sorted(said.splitlines()) == ["done 0", "done 1", "left"]
    assert asyncio.run(values_left(shared_server, topic)) == JOBS[2:]


@pytest.mark.parametrize("program", [BLOCKING, ASYNCIO], ids=["blocking", "asyncio"])
def test_a_second_signal_ends_a_program_whose_handlers_hang(shared_server, topic, program):
    command = [sys.executable, "-c", program, topic, shared_server.native]
    with subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1, text=True) as running:
        assert running.stdout.readline().startswith("began")
        running.send_signal(signal.SIGTERM)
        # The first one is handled when the second would end the process: each is sent until it has.
        while running.poll() is None:
            try:
                running.wait(0.2)
            except subprocess.TimeoutExpired:
                running.send_signal(signal.SIGTERM)
        assert running.returncode == -signal.SIGTERM
