"""A soak: topics, groups, members, producers and transactions come and go for minutes, and leave nothing behind.

Memory, descriptors, threads and disk of the broker at the end are compared with those after three tenths of the time.
"""

import argparse
import asyncio
import contextlib
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from goqueue.client import Admin, Consumer, Producer, TopicConfig, Worker
from tests.behaviour.path_grpc import GrpcPath
from tests.behaviour.path_http import HttpPath
from tests.behaviour.serving import Server, running_server

__all__ = ["Soak", "Use", "growth"]

SETTINGS = """
[storage]
segment_bytes = 4_194_304

[maintenance]
retention_every_ms = 1000
checkpoint_bytes = 8_388_608

[tracing]
ring = 1000

[tracing.files]
file_bytes = 524_288
keep_bytes = 2_097_152
"""
"""Small, so that what is full at some time is full before growth counts."""
BEGINS_AT, WINDOW = 0.3, 0.1
"""Parts of the whole time: from where on growth counts, and over how long a use is the median of its samples."""
STEADY, STEADY_BYTES = "steady", 16 * 1024 * 1024
LANES = 4
RECORDS = 200
TELLERS = 25
"""Transactional ids of a lane; the broker knows each for days after its last transaction."""
SAMPLE_EVERY_S = 0.5
WAIT_MS = 2000


class Use(NamedTuple):
    """What the broker holds at one moment."""

    rss: int
    descriptors: int
    threads: int
    disk: int


def use_of(pid: int, folder: Path) -> Use:
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    rss, threads = int(status["VmRSS"].split()[0]) * 1024, int(status["Threads"])
    return Use(rss, len(os.listdir(f"/proc/{pid}/fd")), threads, _disk(folder))


def growth(samples: Sequence[tuple[float, Use]], seconds: float) -> dict[str, float]:
    """Use at the end as a multiple of the use at three tenths, by name."""

    def median(begin: float, name: str) -> float:
        some = [getattr(use, name) for when, use in samples if begin <= when / seconds < begin + WINDOW]
        return statistics.median(some)

    return {name: median(1 - WINDOW, name) / median(BEGINS_AT, name) for name in Use._fields}


class Soak:
    """One broker under churn."""

    def __init__(self, server: Server, seed: int) -> None:
        self.server = server
        self.counts: Counter[str] = Counter()
        self.samples: list[tuple[float, Use]] = []
        self._chance = random.Random(seed)

    async def run(self, seconds: float) -> dict[str, float]:
        async with Admin(self.server.native) as admin:
            await admin.create_topic(STEADY, 2, TopicConfig(retention_bytes=STEADY_BYTES))
        began = time.monotonic()
        async with asyncio.TaskGroup() as group:
            for lane in range(LANES):
                group.create_task(self._churn(lane, began + seconds))
            group.create_task(self._flow(began + seconds))
            group.create_task(self._sample(began, seconds))
        return growth(self.samples, seconds)

    async def _sample(self, began: float, seconds: float) -> None:
        folder = self.server.folder / "data"
        shown = 0.0
        while (now := time.monotonic() - began) < seconds:
            use = await asyncio.to_thread(use_of, self.server.pid, folder)
            self.samples.append((now, use))
            if now >= shown:
                shown += max(5.0, seconds / 20)
                done = ", ".join(f"{count} {name}" for name, count in sorted(self.counts.items()))
                print(
                    f"{now:6.0f} s  {use.rss / 1e6:.1f} MB, {use.descriptors} descriptors, {use.threads} threads, "
                    f"{use.disk / 1e6:.0f} MB on disk; {done}",
                    flush=True,
                )
            await asyncio.sleep(SAMPLE_EVERY_S)

    async def _flow(self, until: float) -> None:
        """Records that come and age out all the time."""
        async with Producer(self.server.native) as producer:
            while time.monotonic() < until:
                await producer.send_many(STEADY, [self._chance.randbytes(1000) for _ in range(500)])
                await asyncio.sleep(0.1)

    async def _churn(self, lane: int, until: float) -> None:
        number = 0
        steps: tuple[Callable[[str], Awaitable[None]], ...]
        steps = (self._work, self._stream, self._transact, self._over_http, self._over_grpc)
        while time.monotonic() < until:
            name = f"churn-{lane}-{number}"
            number += 1
            async with Admin(self.server.native) as admin:
                await admin.create_topic(name, 2, TopicConfig(retry_backoff_ms=1))
                for step in steps:
                    await step(name)
                for group in await admin.list_groups():
                    if group.group.startswith(f"{name}-"):
                        await admin.delete_group(group.group)
                await admin.delete_topic(name)
            self.counts["topics"] += 1

    async def _work(self, name: str) -> None:
        async with Producer(self.server.native) as producer:
            await producer.send_many(name, [b"%d" % number for number in range(RECORDS)])
        self.counts["producers"] += 1
        async with Worker(name, group=f"{name}-workers", bootstrap=self.server.native) as worker:
            left = RECORDS
            while left:
                jobs = await worker.take(100, wait_ms=WAIT_MS)
                failed = [job for job in jobs if job.deliveries == 1 and self._chance.random() < 0.1]
                await worker.ack(*(job for job in jobs if job not in failed))
                if failed:
                    await worker.nack(*failed)
                left -= len(jobs) - len(failed)
        self.counts["groups"] += 1

    async def _stream(self, name: str) -> None:
        members = [Consumer(name, group=f"{name}-readers", bootstrap=self.server.native) for _ in range(2)]
        async with members[0] as one, members[1] as other:
            left = RECORDS
            while left > 0:
                for member in (one, other):
                    left -= len(await member.poll(wait_ms=100))
                    await member.commit()
        self.counts["members"] += 2
        self.counts["groups"] += 1

    async def _transact(self, name: str) -> None:
        lane = name.rpartition("-")[0]
        teller = f"{lane}-teller-{self._chance.randrange(TELLERS)}"
        async with Producer(self.server.native, transactional_id=teller) as producer:
            for ends_well in (True, False):
                transaction = await producer.transaction().__aenter__()
                await producer.send_many(name, [b"in a transaction"] * 10, partition=0)
                await (transaction.commit if ends_well else transaction.abort)()
        self.counts["transactions"] += 2

    async def _over_http(self, name: str) -> None:
        await self._take_and_leave(name, HttpPath(self.server))

    async def _over_grpc(self, name: str) -> None:
        await self._take_and_leave(name, GrpcPath(self.server))

    async def _take_and_leave(self, name: str, path: HttpPath | GrpcPath) -> None:
        """A few acknowledged, a few left to their leases, in a group of its own."""
        try:
            async with path.worker(f"{name}-{type(path).__name__}", name) as worker:
                lent = await worker.take(20, wait_ms=WAIT_MS)
                await worker.ack(*lent[:10])
        finally:
            await path.close()
        self.counts["groups"] += 1


def _disk(folder: Path) -> int:
    """Blocks of all files; those that go meanwhile count nothing."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(FileNotFoundError):
                total += os.stat(os.path.join(place, name)).st_blocks * 512
    return total


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--most", type=float, default=1.1, help="how much of the use at three tenths is allowed at the end"
    )
    wish = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="goqueue-soak-"))
    with running_server(folder / "broker", SETTINGS) as server:
        soak = Soak(server, wish.seed)
        grown = asyncio.run(soak.run(wish.seconds))
    shutil.rmtree(folder)
    print("\n".join(f"{name:>12}  {count}" for name, count in sorted(soak.counts.items())))
    print("\n".join(f"{name:>12}  {times:.3f} of what it was" for name, times in grown.items()))
    return int(any(times > wish.most for times in grown.values()))


if __name__ == "__main__":
    sys.exit(main())
