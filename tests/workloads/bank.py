"""A bank whose transfers are transactions, while tellers crash and the broker is killed: no money is lost or made."""

import argparse
import asyncio
import random
import shutil
import tempfile
import time
from collections import Counter
from pathlib import Path

import msgspec

from goqueue.client import Admin, Consumer, LogId, Producer, TopicConfig
from goqueue.errors import BrokerUnreachable
from tests.behaviour.serving import Server
from tests.workloads.bank_desk import Desk
from tests.workloads.bank_teller import GROUP, LEDGER, PARTITIONS, REQUESTS, Request
from tests.workloads.committed_reader import CommittedReader, Entry, Picture, Place
from tests.workloads.nursery import nursery_server

__all__ = ["Bank"]

ACCOUNTS = 64
DESKS = 4
LONGEST_QUEUE = 200
QUEUES = 2
DONE_WITHIN_S = 180.0
FENCED_WITHIN_S = 40.0
TOTALS = ("transactions committed", "broker killed", "tellers crashed", "tellers fenced", "aborted")


class Bank:
    """A broker, tellers, a reader, and whoever kills them."""

    def __init__(self, server: Server, seed: int) -> None:
        self.server = server
        self.counts: Counter[str] = Counter()
        self.requests: dict[str, Request] = {}
        self._chance = random.Random(seed)
        self._told: set[str] = set()
        self._told_aborted: set[str] = set()
        self._desks: list[Desk] = []
        self._ever: list[Desk] = []
        self._staffing = asyncio.Lock()
        self._reader = CommittedReader(server.http, {LEDGER: PARTITIONS}, "", random.Random(seed + 1))

    def was_told(self, news: dict[str, object]) -> None:
        if "committed" in news:
            self._told.update(news["requests"], news["rejected"])  # type: ignore[arg-type]
            self.counts["transactions committed"] += 1
        elif "aborted" in news or "refused" in news:
            self._told_aborted.add(str(news.get("aborted") or news["refused"]))
            self.counts["aborted" if "aborted" in news else "refused"] += 1
        else:
            self.counts["tellers fenced" if "fenced" in news else "unknown"] += 1

    async def run(self, seconds: float) -> Counter[str]:
        config = TopicConfig(visibility_timeout_ms=3000, max_attempts=1000, retry_backoff_ms=1, retry_backoff_max_ms=50)
        async with Admin(self.server.native) as admin:
            await admin.create_topic(REQUESTS, QUEUES, config)
            await admin.create_topic(LEDGER, PARTITIONS)
        until = time.monotonic() + seconds
        done = asyncio.Event()
        try:
            self._desks = [await self._open(number) for number in range(DESKS)]
            async with asyncio.TaskGroup() as group:
                reading = group.create_task(self._reader.run(done))
                checking = group.create_task(self._check_again_and_again(done))
                for work in (self._ask, self._kill_brokers, self._crash_tellers, self._make_zombies, self._report):
                    group.create_task(work(until))
                group.create_task(self._finish(until, done))
            await asyncio.gather(reading, checking)
            await self._check_at_the_end()
        finally:
            for desk in self._ever:
                await desk.crash()
            await self._reader.close()
        return self.counts

    async def _open(self, number: int) -> Desk:
        self._ever.append(Desk(number, self.server.native, self.was_told))
        return await self._ever[-1].open(self._chance.getrandbits(32))

    # What goes on.

    async def _ask(self, until: float) -> None:
        chance = random.Random(self._chance.getrandbits(64))
        async with Producer(self.server.native) as producer:
            while time.monotonic() < until:
                carried_out = sum(len(plan.acks) + len(plan.dead) for plan in self._reader.picture.plans())
                if len(self.requests) - carried_out > LONGEST_QUEUE:
                    await asyncio.sleep(0.1)
                    continue
                some = [self._request(chance, len(self.requests) + number) for number in range(20)]
                await producer.send_many(REQUESTS, [msgspec.json.encode(one) for one in some])
                self.requests.update((one.name, one) for one in some)
                await asyncio.sleep(0.05)

    @staticmethod
    def _request(chance: random.Random, number: int) -> Request:
        source, target = chance.sample(range(1, ACCOUNTS), 2)
        return Request(f"r{number}", source, target, chance.randint(1, 1000) if chance.random() < 0.95 else 0)

    async def _kill_brokers(self, until: float) -> None:
        chance = random.Random(self._chance.getrandbits(64))
        while time.monotonic() < until:
            await asyncio.sleep(chance.uniform(1, 6))
            self.server.kill()
            self.server.check_log()
            self.counts["broker killed"] += 1
            await asyncio.to_thread(self.server.start)

    async def _crash_tellers(self, until: float) -> None:
        chance = random.Random(self._chance.getrandbits(64))
        while time.monotonic() < until:
            await asyncio.sleep(chance.uniform(3, 8))
            number = chance.randrange(DESKS)
            async with self._staffing:
                await self._desks[number].crash()
                self._desks[number] = await self._open(number)
            self.counts["tellers crashed"] += 1

    async def _make_zombies(self, until: float) -> None:
        """They sleep, others take over, and they wake up in the middle of what they were doing."""
        chance = random.Random(self._chance.getrandbits(64))
        while time.monotonic() < until:
            await asyncio.sleep(chance.uniform(3, 10))
            number = chance.randrange(DESKS)
            async with self._staffing:
                old = self._desks[number]
                old.freeze()
                self._desks[number] = await self._open(number)
            await asyncio.sleep(chance.uniform(1, 6))
            old.thaw()
            is_gone = await old.is_gone(within_s=min(FENCED_WITHIN_S, until - time.monotonic()))
            if not is_gone:
                # Whoever was to take over has not come to begin a transaction; the order in the ledger tells.
                await old.crash()
            self.counts["zombies"] += 1

    async def _report(self, until: float) -> None:
        began = time.monotonic()
        while time.monotonic() < until:
            await asyncio.sleep(5)
            parts = ", ".join(f"{self.counts[name]} {name}" for name in TOTALS)
            print(f"{time.monotonic() - began:6.0f} s  {len(self.requests)} requests, {parts}", flush=True)

    async def _finish(self, until: float, done: asyncio.Event) -> None:
        """Until every request was carried out or rejected."""
        await asyncio.sleep(until - time.monotonic())
        logs = [LogId(REQUESTS, number) for number in range(QUEUES)]
        deadline = time.monotonic() + DONE_WITHIN_S
        while not await self._are_carried_out(logs):
            assert time.monotonic() < deadline, "there are requests that nobody carries out"
            await asyncio.sleep(0.2)
        done.set()

    async def _are_carried_out(self, logs: list[LogId]) -> bool:
        try:
            async with Admin(self.server.native) as admin:
                return await admin.committed_offsets(GROUP) == await admin.offsets_at(logs, "latest")
        except BrokerUnreachable:
            # The last kill was a moment ago.
            return False

    # Whether the books are right.

    async def _check_again_and_again(self, done: asyncio.Event) -> None:
        while not done.is_set():
            self._check_books(self._reader.picture)
            self.counts["checks of the books"] += 1
            await asyncio.sleep(0.5)

    def _check_books(self, picture: Picture) -> None:
        partial = picture.incomplete()
        for name, entries in picture.entries.items():
            if name not in partial:
                assert sum(entry.amount for entry in entries.values()) == 0, f"{name} has made or lost money"
        assert not self._told_aborted & picture.entries.keys(), "what was aborted can be read"
        twice = [name for name, times in carried_out(picture.plans()).items() if times > 1]
        assert not twice, f"carried out twice: {twice}"

    async def _check_at_the_end(self) -> None:
        while await self._reader.look():
            pass
        picture = self._reader.picture
        assert not picture.incomplete()
        self._check_books(picture)
        fresh, letters = Picture(), []
        async with Consumer(LEDGER, bootstrap=self.server.native) as consumer:
            while some := await consumer.poll(wait_ms=0, limit=10_000):
                for one in some:
                    fresh.add((one.topic, one.partition), one.offset, one.value or b"", jobs="")
        assert fresh.places == picture.places
        async with Consumer(f"{REQUESTS}.dlq", bootstrap=self.server.native) as consumer:
            while some := await consumer.poll(wait_ms=0, limit=10_000):
                letters += [msgspec.json.decode(one.value or b"", type=Request).name for one in some]
        good = {name for name, one in self.requests.items() if one.amount > 0}
        done = Counter(name for plan in picture.plans() for name in plan.acks)
        assert done == Counter(good), f"not once: {(done - Counter(good)) + (Counter(good) - done)}"
        assert Counter(letters) == Counter(self.requests.keys() - good)
        assert self._told <= self.requests.keys()
        check_fencing(fresh)
        self._check_balances(fresh)
        self.counts["transfers"], self.counts["rejected"] = len(done), len(letters)
        self.counts["passes of the reader"] = self._reader.passes
        self.counts["longest wait of the reader in ms"] = round(1000 * self._reader.longest_wait_s)

    def _check_balances(self, picture: Picture) -> None:
        found: Counter[int] = Counter()
        for entries in picture.entries.values():
            for entry in entries.values():
                found[entry.account] += entry.amount
        expected: Counter[int] = Counter()
        for request in self.requests.values():
            for account, amount in request.legs():
                expected[account] += amount
        assert {one: found[one] for one in range(ACCOUNTS)} == {one: expected[one] for one in range(ACCOUNTS)}
        assert sum(found.values()) == 0


def carried_out(plans: list[Entry]) -> Counter[str]:
    return Counter(name for plan in plans for name in (*plan.acks, *plan.dead))


def check_fencing(picture: Picture) -> None:
    """Behind the first entry of a new instance of a teller there is none of an older one."""
    latest: dict[tuple[Place, str], str] = {}
    over: set[tuple[Place, str, str]] = set()
    for (place, offset), name in sorted(picture.places.items()):
        teller, process, _ = name.rsplit("-", 2)
        if latest.get((place, teller)) == process:
            continue
        assert (place, teller, process) not in over, f"{name} at {offset} of {place} is the work of a zombie"
        over.add((place, teller, process))
        latest[place, teller] = process


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=1)
    wish = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="goqueue-bank-"))
    with nursery_server(folder) as server:
        counts = asyncio.run(Bank(server, wish.seed).run(wish.seconds))
    shutil.rmtree(folder)
    print("\n".join(f"{name:>34}  {count}" for name, count in sorted(counts.items())))
    print(f"seed {wish.seed}: every request was carried out exactly once, or rejected; the books are right")


if __name__ == "__main__":
    main()
