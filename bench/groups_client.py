"""Child process of the group benchmark: a hundred members read a thousand partitions while one joins and one dies."""

import argparse
import asyncio
import itertools
import json
import sys
import time
from collections import defaultdict

import uvloop

from goqueue.client import Admin, Consumer, LogId, Producer

TOPIC = "rebalance"
GROUP = "bench"
SESSION_MS = 6000
STRETCH_S = 4
"""How long deliveries are watched before and after a change."""


class Fleet:
    """Members in one process, and when which partition delivered to whom."""

    def __init__(self, address: str) -> None:
        self._address = address
        self.consumers: dict[int, Consumer] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self.deliveries: dict[int, list[tuple[float, int]]] = defaultdict(list)
        self.offsets: dict[int, list[int]] = defaultdict(list)

    async def add(self, number: int) -> None:
        consumer = Consumer(
            TOPIC, bootstrap=self._address, group=GROUP, session_ms=SESSION_MS, client_id=f"member{number}"
        )
        await consumer.__aenter__()
        self.consumers[number] = consumer
        self._tasks[number] = asyncio.create_task(self._read(number, consumer))

    async def _read(self, number: int, consumer: Consumer) -> None:
        while True:
            for message in await consumer.poll(wait_ms=500, limit=10_000):
                self.deliveries[message.partition].append((time.perf_counter(), number))
                self.offsets[message.partition].append(message.offset)

    def owners(self) -> dict[LogId, int]:
        return {log: number for number, consumer in self.consumers.items() for log in consumer.assigned}

    async def until_owned(self, partitions: int) -> None:
        """Until the members here have so many partitions between them."""
        while len(self.owners()) < partitions:
            await asyncio.sleep(0.005)

    async def close(self) -> None:
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*(consumer.close() for consumer in self.consumers.values()))


async def produce(address: str, partitions: int) -> None:
    """One record for each partition, again and again."""
    async with Producer(address, durability="memory", linger_ms=1) as producer:
        while True:
            started = time.perf_counter()
            for partition in range(partitions):
                await producer.send(TOPIC, b"x", partition=partition)
            await producer.flush()
            await asyncio.sleep(max(0.0, 0.5 - (time.perf_counter() - started)))


async def lone_member(address: str) -> None:
    """A member in a process of its own, to be killed."""
    fleet = Fleet(address)
    await fleet.add(-1)
    await asyncio.Event().wait()


async def run(address: str, members: int, partitions: int) -> dict[str, float]:
    fleet = Fleet(address)
    victim = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.groups_client", json.dumps({"address": address, "alone": True})
    )
    for number in range(members - 1):
        await fleet.add(number)
    share = partitions // members
    await fleet.until_owned(partitions - share - 1)
    await asyncio.sleep(5)
    producing = asyncio.create_task(produce(address, partitions))
    await asyncio.sleep(2 + STRETCH_S)
    before = fleet.owners()
    started = time.perf_counter()
    await fleet.add(members)
    while len(fleet.consumers[members].assigned) < partitions // (members + 1):
        await asyncio.sleep(0.005)
    joined = time.perf_counter() - started
    await asyncio.sleep(STRETCH_S)
    after = fleet.owners()
    unmoved = [log for log in before if after.get(log) == before[log]]
    gaps = [longest_gap(fleet, unmoved, at, at + STRETCH_S) for at in (started - STRETCH_S, started)]
    died = time.perf_counter()
    victim.kill()
    await victim.wait()
    decision = asyncio.create_task(until_members(address, members))
    await fleet.until_owned(partitions)
    owned = time.perf_counter()
    decided = await decision
    await asyncio.sleep(2)
    producing.cancel()
    await asyncio.gather(producing, return_exceptions=True)
    await fleet.close()
    return {
        "join_s": joined,
        "moved": sum(after.get(log) != owner for log, owner in before.items()),
        "decided_s": decided - died,
        "takeover_s": max(0.0, owned - decided),
        "gap_before_s": gaps[0],
        "gap_s": gaps[1],
        "missed_or_doubled": sum(not is_whole(fleet.offsets[log.partition]) for log in unmoved),
        "delivered": sum(map(len, fleet.offsets.values())),
    }


async def until_members(address: str, count: int) -> float:
    """When the broker has decided that only so many are left."""
    async with Admin(address) as admin:
        while len((await admin.describe_group(GROUP)).members) > count:
            await asyncio.sleep(0.02)
    return time.perf_counter()


def is_whole(offsets: list[int]) -> bool:
    """Every record once and in order."""
    return offsets == list(range(offsets[0], offsets[0] + len(offsets)))


def longest_gap(fleet: Fleet, logs: list[LogId], since: float, until: float) -> float:
    """The longest time without a delivery in any of these partitions."""
    gaps = []
    for log in logs:
        times = [at for at, _ in fleet.deliveries[log.partition] if since <= at <= until]
        gaps += [later - earlier for earlier, later in itertools.pairwise(times)]
    return max(gaps, default=0.0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("arguments", help="JSON object: address, members, partitions")
    given = json.loads(parser.parse_args().arguments)
    if given.pop("alone", False):
        uvloop.run(lone_member(**given))
    else:
        print(json.dumps(uvloop.run(run(**given))))
