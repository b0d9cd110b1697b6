"""What clients of transactions were told, and whether the broker's records, queue and offsets agree with it."""

import random
import time
from collections import Counter

import msgspec

from goqueue.client import Admin, Consumer, LogId, Producer, TopicConfig, Worker
from tests.behaviour.serving import Server
from tests.workloads.committed_reader import CommittedReader, Entry, Picture

__all__ = ["GROUP", "JOBS", "LEASE_MS", "RULER", "TOPICS", "Story", "encoded", "name_of", "prepare_broker"]

JOBS, RULER, GROUP = "jobs", "ruler", "workers"
TOPICS = {"ledger": 3, "notes": 2, JOBS: 2}
READ = {**TOPICS, f"{JOBS}.dlq": 1}
MARKS = 20_000
"""So many records has the topic in which groups commit their offsets: the number of a transaction is one of them."""

LEASE_MS = 2000
AGREES_WITHIN_S = 30.0


def encoded(entry: Entry) -> bytes:
    return msgspec.json.encode(entry)


async def prepare_broker(server: Server) -> None:
    settings = TopicConfig(
        visibility_timeout_ms=LEASE_MS, max_attempts=1000, retry_backoff_ms=1, retry_backoff_max_ms=20
    )
    async with Admin(server.native) as admin, Producer(server.native) as producer:
        for topic, partitions in TOPICS.items():
            await admin.create_topic(topic, partitions, settings)
        await admin.create_topic(f"{JOBS}.dlq", 1)
        await admin.create_topic(RULER, 1)
        await producer.send_many(RULER, [b""] * MARKS, partition=0)


class Story:
    """Everything that clients of one broker did, and readers saw."""

    def __init__(self, server: Server, chance: random.Random) -> None:
        self.server = server
        self.committed: set[str] = set()
        self.aborted: set[str] = set()
        self.settled: set[str] = set()
        """Jobs that are done, or dead letters: nobody may get them again."""

        self.counts: Counter[str] = Counter()
        self.reader = CommittedReader(server.http, READ, JOBS, chance)

    # What clients are told.

    def took(self, name: str) -> None:
        assert name not in self.settled, f"{name} was given out after the commit of its acknowledgement"

    def was_committed(self, plan: Entry) -> None:
        self.committed.add(plan.transaction)
        self.settled.update(plan.acks, plan.dead)
        self.counts["committed"] += 1

    def was_aborted(self, name: str) -> None:
        self.aborted.add(name)
        self.counts["aborted"] += 1

    # Whether it is so.

    async def check(self, *, thoroughly: bool) -> None:
        """When nothing is under way."""
        picture = self.reader.picture
        deadline = time.monotonic() + AGREES_WITHIN_S
        while await self.reader.look() or picture.incomplete() or self.committed - picture.entries.keys():
            # What an earlier run of the broker has left open is aborted a moment after its start.
            missing = sorted(self.committed - picture.entries.keys())
            assert time.monotonic() < deadline, f"in part: {picture.incomplete()}, missing: {missing}"
        assert not self.aborted & picture.entries.keys(), "what was aborted can be read"
        done = Counter(name for plan in picture.plans() for name in (*plan.acks, *plan.dead))
        assert not [name for name, times in done.items() if times > 1], "a job was done twice"
        assert sorted(name for plan in picture.plans() for name in plan.dead) == sorted(picture.letters)
        self.settled.update(done)
        await self._check_offsets(picture)
        await self._check_queue(picture.jobs, set(done), thoroughly=thoroughly)
        if thoroughly:
            await self._check_native(picture)
        self.counts["checks"] += 1

    async def _check_offsets(self, picture: Picture) -> None:
        expected: dict[str, int] = {}
        for plan in picture.plans():
            if plan.group:
                expected[plan.group] = max(plan.offset, expected.get(plan.group, 0))
        async with Admin(self.server.native) as admin:
            for group, offset in expected.items():
                found = await admin.committed_offsets(group)
                assert found == {LogId(RULER, 0): offset}, f"{group} is at {found}, not at {offset}"

    async def _check_queue(self, jobs: set[str], done: set[str], *, thoroughly: bool) -> None:
        found: set[str] = set()
        deadline = time.monotonic() + AGREES_WITHIN_S
        async with Worker(JOBS, group=GROUP, bootstrap=self.server.native, visibility_ms=60_000) as worker:
            held = []
            while True:
                taken = await worker.take(1000, wait_ms=200 if thoroughly else 0)
                held += taken
                found.update(name_of(job.value) for job in taken)
                assert found <= jobs - done, f"given out, and not to be done: {found - (jobs - done)}"
                if not taken and (not thoroughly or found == jobs - done):
                    break
                assert time.monotonic() < deadline, f"nobody gets {sorted(jobs - done - found)}"
            await worker.release(*held)

    async def _check_native(self, picture: Picture) -> None:
        """The whole of it, by a reader that begins anew."""
        fresh = Picture()
        async with Consumer(*READ, bootstrap=self.server.native) as consumer:
            while some := await consumer.poll(wait_ms=0, limit=10_000):
                for one in some:
                    fresh.add((one.topic, one.partition), one.offset, one.value or b"", jobs=JOBS)
        assert fresh.places == picture.places


def name_of(value: bytes | None) -> str:
    return msgspec.json.decode(value or b"", type=Entry).name
