"""Child process of the benchmark of state: a broker with many items of one kind, watched while it works.

Only what older versions have, too, is used here, so that the same program measures another version beside this one:
put its sources first in PYTHONPATH.
"""

import asyncio
import contextlib
import ctypes
import gc
import json
import os
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import uvloop

from bench.workload import SilentObserver, batch_of, open_broker
from goqueue.app.build import running_broker
from goqueue.app.settings import ListenSettings, LogSettings, Settings
from goqueue.core.groups.decisions.committing import OffsetAndMetadata
from goqueue.core.schedules.schedule import ScheduleConfig
from goqueue.engine.broker import Broker
from goqueue.engine.groups import commit_offsets
from goqueue.engine.maintenance import Maintenance, MaintenanceSettings
from goqueue.engine.partition import ProducerBatch
from goqueue.engine.poll import Poll, poll
from goqueue.engine.producers import init_producer
from goqueue.engine.schedules import create_schedule
from goqueue.engine.topics import create_topic
from goqueue.engine.transactions.beginning import enlist
from goqueue.errors import InvalidRequest
from goqueue.model.log import LogId
from goqueue.model.topic import TopicConfig, TopicName

TOPIC = TopicName("t")
PARTITIONS = 6
AT_ONCE = 500
WATCH_EVERY_S = 0.001

Make = Callable[[Broker, int], Awaitable[object]]


async def _group(broker: Broker, number: int) -> None:
    offsets = {LogId(TOPIC, number % PARTITIONS): OffsetAndMetadata(number % 50)}
    await commit_offsets(broker, f"group-{number}", offsets, None, None)


async def _queue(broker: Broker, number: int) -> None:
    await poll(broker, Poll(f"queue-{number}", "worker", topics=[TOPIC], limit=1, wait_ms=0, visibility_ms=3_600_000))


async def _producer(broker: Broker, number: int) -> None:
    producer_id, epoch = await init_producer(broker, None, 0)
    outcome = asyncio.get_running_loop().create_future()
    broker.partition(TOPIC, number % PARTITIONS).append(
        bytearray(batch_of(1, 10)), outcome.set_result, durable=False, producer=ProducerBatch(producer_id, epoch, 0)
    )
    await outcome


async def _transactional(broker: Broker, number: int) -> None:
    await enlist(broker, f"transactional-{number}", 60_000)


async def _topic(broker: Broker, number: int) -> None:
    await create_topic(broker, TopicName(f"topic-{number}"), 1, TopicConfig())


async def _schedule(broker: Broker, number: int) -> None:
    await create_schedule(broker, ScheduleConfig(id=f"schedule-{number}", topic=TOPIC, every_s=86_400, value=b"x"))


MAKERS: dict[str, Make] = {
    "groups": _group,
    "queues": _queue,
    "producers": _producer,
    "transactional ids": _transactional,
    "topics": _topic,
    "schedules": _schedule,
}


def _resident_mb() -> float:
    """After what is free went back to the system."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


class Watch:
    """The longest time that the event loop had for nothing else, in processor time: other programs do not count."""

    def __init__(self) -> None:
        self.longest_ms = 0.0

    async def run(self) -> None:
        before = time.thread_time()
        while True:
            await asyncio.sleep(WATCH_EVERY_S)
            now = time.thread_time()
            self.longest_ms = max(self.longest_ms, 1000 * (now - before))
            before = now

    def take(self) -> float:
        longest, self.longest_ms = self.longest_ms, 0.0
        return longest


@contextlib.contextmanager
def watching() -> Iterator[Watch]:
    watch = Watch()
    task = asyncio.ensure_future(watch.run())
    yield watch
    task.cancel()


async def fill(folder: str, kind: str, count: int) -> dict[str, float]:
    """Make so many, or as many as there may be, and a checkpoint of them."""
    make, made = MAKERS[kind], 0
    async with open_broker(folder) as broker:
        await create_topic(broker, TOPIC, PARTITIONS, TopicConfig())
        for partition in broker.partitions(TOPIC):
            written = asyncio.get_running_loop().create_future()
            partition.append(bytearray(batch_of(100, 10)), written.set_result, durable=True)
            await written
        with contextlib.suppress(InvalidRequest):
            for first in range(0, count, AT_ONCE):
                numbers = range(first, min(count, first + AT_ONCE))
                done = await asyncio.gather(*(make(broker, one) for one in numbers), return_exceptions=True)
                refusals = [one for one in done if isinstance(one, BaseException)]
                made += len(done) - len(refusals)
                if refusals:
                    raise refusals[0]
        maintenance = Maintenance(broker, SilentObserver(), MaintenanceSettings())
        with watching() as watch:
            await asyncio.sleep(0.05)
            watch.take()
            began = time.perf_counter()
            await maintenance.checkpoint()
            took = time.perf_counter() - began
            await asyncio.sleep(0.05)
            return {"made": made, "checkpoint_s": took, "checkpoint_hold_ms": watch.take()}


async def serve(folder: str) -> None:
    """Serve the folder; for each line that comes, the longest hold of the loop since the one before."""
    gc.collect()
    before_mb = _resident_mb()
    began, began_cpu = time.perf_counter(), time.process_time()
    listen = ListenSettings("127.0.0.1:0", "127.0.0.1:0", "")
    async with running_broker(Settings(data=folder, listen=listen, log=LogSettings("error"))) as running:
        start_s, cpu_s = time.perf_counter() - began, time.process_time() - began_cpu
        print(
            json.dumps({"start_s": start_s, "cpu_s": cpu_s, "mb": _resident_mb() - before_mb, "http": running.http}),
            flush=True,
        )
        loop = asyncio.get_running_loop()
        with watching() as watch:
            while await loop.run_in_executor(None, sys.stdin.readline):
                print(json.dumps({"hold_ms": watch.take()}), flush=True)


if __name__ == "__main__":
    work, arguments = sys.argv[1], json.loads(sys.argv[2])
    if work == "fill":
        print(json.dumps(uvloop.run(fill(**arguments))))
    else:
        uvloop.run(serve(**arguments))
