"""A broker that is killed all along under clients of three protocols, and the history that tells what it has broken.

Publishers, workers, consumers and transactions over the client library, HTTP and gRPC share topics and groups. Behind
the last kill everything is drained, the topics are read, and the whole history is checked.
"""

import argparse
import asyncio
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import grpc
import httpx
import msgspec

from goqueue.client import Admin, Consumer, LogId, TopicConfig
from goqueue.engine.queue.dead_letters import DEAD_LETTER_HEADER
from goqueue.errors import GoQueueError
from tests.behaviour.path import Got, Lent, Out, Refused
from tests.behaviour.path_clients import AsyncioPath
from tests.behaviour.path_grpc import GrpcPath
from tests.behaviour.path_http import HttpPath
from tests.behaviour.serving import Server, running_server
from tests.workloads.history import At, Delivery, History, Outcome, Transaction, violations

__all__ = ["Attack"]

PATHS: dict[str, Any] = {"client": AsyncioPath, "http": HttpPath, "grpc": GrpcPath}
FAILURES = (Refused, GoQueueError, httpx.HTTPError, grpc.aio.AioRpcError, grpc.aio.UsageError, OSError)
"""All that a client may see while the broker dies; whether the broker has done what it was asked is unknown then."""
TOPIC, OUTPUTS = "orders", "bills"
PARTITIONS = 3
SHARED, STREAM, TRANSFORM = "shared-workers", "readers", "billing"
OWN = {path: f"{path}-workers" for path in PATHS}
QUEUES = (SHARED, *OWN.values())
VISIBILITY_MS = 2000
SESSION_MS = 3000
AT_MOST = 60_000
"""Records; a longer run publishes no more, and goes on with what there is."""
DRAINED_WITHIN_S = 120.0
WORKED_WITHIN_S = 60.0
PAUSE_S = 0.02
AGAIN_AFTER_S = 0.1


class Attack:
    """A broker, its clients, and the history of what they were told."""

    def __init__(self, server: Server, seed: int) -> None:
        self.server = server
        self.history = History()
        self.counts: Counter[str] = Counter()
        self._chance = random.Random(seed)
        self._publishing_until = 0.0
        self._is_drained = asyncio.Event()

    async def run(self, seconds: float, kills: int = 0) -> list[str]:
        """For so many seconds, and longer until the broker was killed that often; what it broke of its promises."""
        config = TopicConfig(
            visibility_timeout_ms=VISIBILITY_MS, max_attempts=1000, retry_backoff_ms=1, retry_backoff_max_ms=50
        )
        async with Admin(self.server.native) as admin:
            await admin.create_topic(TOPIC, PARTITIONS, config)
            await admin.create_topic(OUTPUTS, PARTITIONS)
        clients: list[tuple[str, Callable[[Any, random.Random], Awaitable[None]]]] = []
        for path in PATHS:
            clients += [(path, self._publish_as(f"{path}-{number}")) for number in range(2)]
            clients += [(path, self._work_in(SHARED)), (path, self._work_in(OWN[path]))]
            clients += [(path, self._read), (path, self._transact_as(f"{path}-biller"))]
        async with asyncio.TaskGroup() as group:
            running = [group.create_task(self._keep(PATHS[path], work)) for path, work in clients]
            reporting = group.create_task(self._report())
            await self._kill(seconds, kills)
            await self._drain()
            self._is_drained.set()
            for task in (*running, reporting):
                task.cancel()
        return await self._check()

    # The broker.

    async def _kill(self, seconds: float, kills: int) -> None:
        self._publishing_until = time.monotonic() + max(seconds, 3600.0 if kills else 0.0)
        until = time.monotonic() + seconds
        while time.monotonic() < until or self.counts["kills"] < kills:
            await self._have_worked(self._chance.randint(20, 500))
            self.server.kill()
            self.server.check_log()
            self.counts["kills"] += 1
            await asyncio.to_thread(self.server.start)
        self._publishing_until = 0.0

    async def _have_worked(self, records: int) -> None:
        """Until so many more were published or delivered: a broker without work proves nothing by its death."""
        enough = self.counts["published"] + self.counts["delivered"] + records
        deadline = time.monotonic() + WORKED_WITHIN_S
        while self.counts["published"] + self.counts["delivered"] < enough:
            assert time.monotonic() < deadline, f"clients get nothing done: {self.counts}"
            await asyncio.sleep(PAUSE_S)

    async def _drain(self) -> None:
        """Until each group has done with each record."""
        deadline = time.monotonic() + DRAINED_WITHIN_S
        async with Admin(self.server.native) as admin:
            while waiting := await self._waiting(admin):
                assert time.monotonic() < deadline, f"still to be done: {waiting}"
                await asyncio.sleep(0.2)

    async def _waiting(self, admin: Admin) -> dict[str, int]:
        logs = [LogId(TOPIC, number) for number in range(PARTITIONS)]
        latest = await admin.offsets_at(logs, "latest")
        found = {}
        for group in (*QUEUES, STREAM, TRANSFORM):
            committed = await admin.committed_offsets(group)
            behind = sum(latest[log] - committed.get(log, 0) for log in logs)
            if behind:
                found[group] = behind
        return found

    async def _report(self) -> None:
        began = time.monotonic()
        while True:
            await asyncio.sleep(5)
            said = ", ".join(f"{count} {name}" for name, count in sorted(self.counts.items()))
            print(f"{time.monotonic() - began:6.0f} s  {said}", flush=True)

    # The clients.

    async def _keep(self, kind: Any, work: Callable[[Any, random.Random], Awaitable[None]]) -> None:
        """Connected anew after each failure, so that none waits longer because others failed before it."""
        chance = random.Random(self._chance.getrandbits(64))
        while True:
            path = kind(self.server)
            try:
                await work(path, chance)
                return
            except FAILURES:
                self.counts["failures seen"] += 1
                await asyncio.sleep(AGAIN_AFTER_S)
            finally:
                await _close(path)

    def _publish_as(self, name: str) -> Callable[[Any, random.Random], Awaitable[None]]:
        number = 0

        async def publish(path: Any, chance: random.Random) -> None:
            nonlocal number
            while not self._is_drained.is_set():
                if time.monotonic() > self._publishing_until or len(self.history.attempted) > AT_MOST:
                    await asyncio.sleep(0.1)
                    continue
                values = [f"{name}/{number + step}".encode() for step in range(chance.randint(1, 8))]
                number += len(values)
                self.history.attempted.update(values)
                records = [Out(value, key=name.encode(), priority=2) for value in values]
                places = await path.publish(TOPIC, records)
                for value, place in zip(values, places, strict=True):
                    self.history.published[value] = At(TOPIC, *place)
                self.counts["published"] += len(values)
                await asyncio.sleep(PAUSE_S)

        return publish

    def _work_in(self, group: str) -> Callable[[Any, random.Random], Awaitable[None]]:
        async def work(path: Any, chance: random.Random) -> None:
            async with path.worker(group, TOPIC) as worker:
                while True:
                    asked = self.history.now()
                    lent = await worker.take(chance.choice((1, 10, 100)), wait_ms=200)
                    self._note(group, asked, [one.record for one in lent])
                    await self._settle(group, worker, lent, chance)

        return work

    async def _settle(self, group: str, worker: Any, lent: list[Lent], chance: random.Random) -> None:
        draws = [(chance.random(), one) for one in lent]
        acked = [one for draw, one in draws if draw < 0.9]
        nacked = [one for draw, one in draws if 0.9 <= draw < 0.96]
        # Only in one group, so that a dead letter belongs to one record; the rest is left until its lease is over.
        rejected = [one for draw, one in draws if draw >= 0.98 and group == SHARED]
        self.history.rejecting[group].update(_at(one.record) for one in rejected)
        if acked:
            await worker.ack(*acked)
            self._end(group, acked)
        if nacked:
            await worker.nack(*nacked)
        if rejected:
            await worker.reject(*rejected)
            self._end(group, rejected)
            self.history.rejected.update((group, _at(one.record)) for one in rejected)

    async def _read(self, path: Any, chance: random.Random) -> None:
        async with path.consumer(STREAM, TOPIC, session_ms=SESSION_MS) as consumer:
            highest: dict[LogId, int] = {}
            while True:
                asked = self.history.now()
                found = await consumer.poll(wait_ms=200, limit=100)
                self._note(STREAM, asked, found)
                for one in found:
                    highest[LogId(one.topic, one.partition)] = one.offset + 1
                if highest and chance.random() < 0.7:
                    await consumer.commit()
                    when = self.history.now()
                    self.history.committed += [(when, STREAM, log, offset) for log, offset in highest.items()]
                    highest = {}

    def _transact_as(self, name: str) -> Callable[[Any, random.Random], Awaitable[None]]:
        number = 0

        async def transact(path: Any, chance: random.Random) -> None:
            nonlocal number
            async with path.worker(TRANSFORM, TOPIC) as worker:
                while True:
                    asked = self.history.now()
                    lent = await worker.take(20, wait_ms=200)
                    self._note(TRANSFORM, asked, [one.record for one in lent])
                    if lent:
                        number += 1
                        await self._bill(path, f"{name}-{number}", name, lent, chance)

        return transact

    async def _bill(self, path: Any, run: str, transactional_id: str, lent: list[Lent], chance: random.Random) -> None:
        """Each job is written to two partitions, and acknowledged, in one transaction."""
        begun = {f"{run}-{step}": one for step, one in enumerate(lent)}
        for name, one in begun.items():
            self.history.transactions[name] = Transaction(one.record.value or b"")
        handle = await path.begin_transaction(transactional_id)
        for part, partition in ((b"a", 0), (b"b", 1)):
            values = [b"|".join((name.encode(), one.record.value or b"", part)) for name, one in begun.items()]
            await path.publish_in(handle, OUTPUTS, partition, values)
        for one in lent:
            await path.ack_in(handle, one)
        commits = chance.random() < 0.8
        if commits:
            self._mark(begun, "unknown")
        await (path.commit_transaction if commits else path.abort_transaction)(handle)
        self._mark(begun, "committed" if commits else "aborted")
        if commits:
            self._end(TRANSFORM, lent)
        self.counts["transactions ended"] += 1

    # What they note.

    def _mark(self, names: dict[str, Lent], outcome: str) -> None:
        for name in names:
            self.history.transactions[name].outcome = outcome

    def _note(self, group: str, asked: int, found: list[Got]) -> None:
        self.history.deliveries += [Delivery(group, _at(one), one.value or b"", asked) for one in found]
        self.counts["delivered"] += len(found)

    def _end(self, group: str, lent: list[Lent]) -> None:
        when = self.history.now()
        for one in lent:
            self.history.done.setdefault((group, _at(one.record)), when)
        self.counts["settled"] += len(lent)

    # The end.

    async def _check(self) -> list[str]:
        records = {_at(one): one.value or b"" for one in await self._all(TOPIC)}
        letters = await self._all(f"{TOPIC}.dlq") if self.history.rejecting[SHARED] else []
        outputs = [one.value or b"" for one in await self._all(OUTPUTS)]
        self.counts |= {"records": len(records), "dead letters": len(letters), "outputs": len(outputs)}
        outcome = Outcome(records, {_origin(one): one.value or b"" for one in letters}, len(letters), outputs)
        return violations(self.history, outcome, QUEUES, [STREAM], [TRANSFORM])

    async def _all(self, topic: str) -> list[Any]:
        found: list[Any] = []
        async with Consumer(topic, bootstrap=self.server.native) as consumer:
            while some := await consumer.poll(wait_ms=0, limit=10_000):
                found += some
        return found


async def _close(path: Any) -> None:
    async with AsyncExitStack() as stack:
        stack.push_async_callback(path.close)
        stack.push(lambda kind, *_: kind is not None and issubclass(kind, FAILURES))


def _origin(letter: Any) -> At:
    origin = msgspec.json.decode(dict(letter.headers)[DEAD_LETTER_HEADER])
    return At(origin["topic"], origin["partition"], origin["offset"])


def _at(record: Any) -> At:
    return At(record.topic, record.partition, record.offset)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--kills", type=int, default=50, help="go on until the broker was killed that often")
    parser.add_argument("--seed", type=int, default=1)
    wish = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="goqueue-attack-"))
    with running_server(folder / "broker") as server:
        attack = Attack(server, wish.seed)
        broken = asyncio.run(attack.run(wish.seconds, wish.kills))
    print("\n".join(f"{name:>20}  {count}" for name, count in sorted(attack.counts.items())))
    if broken:
        print("\n".join(broken[:50]))
        print(f"seed {wish.seed}: {len(broken)} promises were broken; the data folder is left at {folder}")
        return 1
    shutil.rmtree(folder)
    print(
        f"seed {wish.seed}: nothing lost, duplicated, reordered, unexpected, or delivered after its end was confirmed"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
