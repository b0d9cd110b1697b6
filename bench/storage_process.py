"""Child process of the storage benchmark: fill a folder until killed, or open one and report what it cost."""

import argparse
import asyncio
import json
import random
import resource
import sys
import time

import uvloop

from bench.workload import SilentObserver, batch_of, open_broker, open_store, publish
from goqueue.engine.maintenance import Maintenance, MaintenanceSettings
from goqueue.engine.topics import create_topic
from goqueue.model.log import LogId
from goqueue.model.topic import TopicConfig, topic_name

TOPIC = topic_name("filled")


async def fill(folder: str, records: int) -> None:
    """Publish, checkpointing as a broker does; say so and wait to be killed."""
    async with open_broker(folder) as broker:
        await create_topic(broker, TOPIC, 1, TopicConfig())
        maintenance = Maintenance(broker, SilentObserver(), MaintenanceSettings())  # type: ignore[arg-type]
        (partition,) = broker.partitions(TOPIC)
        batch = batch_of(1000, 100)
        for done in range(0, records, 16_000):
            await asyncio.gather(*(publish(partition, batch, durable=False) for _ in range(16)))
            if done % 160_000 == 0:
                await maintenance.checkpoint_if_due()
        await broker.commit.write(())
        print("full", flush=True)
        await asyncio.Event().wait()


def reopen(folder: str) -> None:
    before = time.perf_counter()
    store = open_store(folder)
    took = time.perf_counter() - before
    log = store.log(LogId(TOPIC, 0))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": took, "records": log.next_offset, "peak_mb": peak}))
    store.close()


def read(folder: str, lookups: int) -> None:
    """Sequential speed, and how long one look-up by offset and by time takes."""
    store = open_store(folder)
    log = store.log(LogId(TOPIC, 0))
    end = log.next_offset
    offset = size = 0
    before = time.perf_counter()
    while offset < end:
        chunk = log.read(offset, 256 * 1024, end)
        size += len(chunk.records)
        offset = chunk.next_offset
    rate = size / (time.perf_counter() - before) / 1e6
    chance = random.Random(1)
    newest = max(segment.max_timestamp_ns for segment in log.segments)
    oldest = int.from_bytes(log.read(0, 1, 1).records[16:24], "big")
    by_offset = [_timed(lambda: log.read(chance.randrange(end), 4096, end)) for _ in range(lookups)]
    by_time = [_timed(lambda: log.offset_at(chance.randrange(oldest, newest), end)) for _ in range(lookups)]
    print(json.dumps({"mb_per_s": rate, "by_offset_us": by_offset, "by_time_us": by_time}))
    store.close()


def _timed(action: object) -> float:
    before = time.perf_counter()
    action()  # type: ignore[operator]
    return (time.perf_counter() - before) * 1e6


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mode", choices=("fill", "reopen", "read"))
    parser.add_argument("folder")
    parser.add_argument("--records", type=int, default=3_000_000)
    parser.add_argument("--lookups", type=int, default=5000)
    arguments = parser.parse_args()
    if arguments.mode == "fill":
        uvloop.run(fill(arguments.folder, arguments.records))
    elif arguments.mode == "reopen":
        reopen(arguments.folder)
    else:
        read(arguments.folder, arguments.lookups)
    sys.exit(0)
