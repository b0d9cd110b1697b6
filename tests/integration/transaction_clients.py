"""Clients that run transactions of every kind, and write down what they are told of each."""

import asyncio
import random
from contextlib import AsyncExitStack, suppress

from goqueue.client import Admin, Producer, Worker
from goqueue.client.transaction import Transaction
from goqueue.client.worker import Job
from goqueue.errors import BrokerUnreachable, GoQueueError, ProducerFenced, RequestTimeout
from tests.integration.transaction_plan import Plan
from tests.integration.transaction_story import GROUP, JOBS, Story, encoded, name_of
from tests.workloads.committed_reader import Entry

__all__ = ["Client", "PartsClient"]

LOST = (BrokerUnreachable, RequestTimeout)
"""After these nobody knows whether it was done."""


class _Taking:
    """Takes jobs for one transaction after the other."""

    def __init__(self, name: str, story: Story, chance: random.Random) -> None:
        self.name = name
        self.story = story
        self.chance = chance
        self._number = 0
        self._stack = AsyncExitStack()
        self._worker = Worker(JOBS, group=GROUP, bootstrap=story.server.native)

    async def close(self) -> None:
        await self._worker.close()
        await self._stack.aclose()

    async def run(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            self._number += 1
            jobs = await self._jobs()
            await self.one(Plan.of(self.name, self._number, jobs, self.chance))
            with suppress(GoQueueError):
                # Of those that were settled this is refused.
                for job in jobs:
                    if name_of(job.value) not in self.story.settled:
                        await self._worker.release(job)

    async def _jobs(self) -> list[Job]:
        try:
            jobs = await self._worker.take(self.chance.randint(1, 4), wait_ms=0)
        except BrokerUnreachable:
            # On a machine that is busy a start may take longer than a worker is patient.
            return []
        for job in jobs:
            self.story.took(name_of(job.value))
        return jobs

    async def one(self, plan: Plan) -> None:
        raise NotImplementedError


class Client(_Taking):
    """Commits, aborts, is cut off in its commit, or is taken over by another instance in the middle."""

    def __init__(self, name: str, story: Story, chance: random.Random) -> None:
        super().__init__(name, story, chance)
        self._producer = self._new_producer()

    def _new_producer(self) -> Producer:
        linger_ms = self.chance.choice([0, 2])
        return Producer(self.story.server.native, transactional_id=self.name, linger_ms=linger_ms)

    async def close(self) -> None:
        await self._producer.close(flush=False)
        await super().close()

    async def one(self, plan: Plan) -> None:
        transaction = self._producer.transaction()
        name = plan.entry.transaction
        try:
            await transaction.__aenter__()
            rest_first = self.chance.random() < 0.3
            if rest_first:
                await plan.add_rest(transaction)
            for index, (topic, partition) in enumerate(plan.places):
                await self._producer.send(topic, plan.value(index), partition=partition)
            if self.chance.random() < 0.3:
                await self._producer.flush()
            if not rest_first:
                await plan.add_rest(transaction)
        except GoQueueError:
            self.story.counts["failed inside"] += 1
            with suppress(GoQueueError):
                await transaction.abort()
            self.story.was_aborted(name)
            return
        await self._end(transaction, plan)

    async def _end(self, transaction: Transaction, plan: Plan) -> None:
        name, fate = plan.entry.transaction, self.chance.random()
        if fate < 0.72:
            await self._commit(transaction, plan)
        elif fate < 0.85:
            with suppress(GoQueueError):
                await transaction.abort()
            self.story.was_aborted(name)
        elif fate < 0.93:
            await self._commit_and_leave(transaction)
        else:
            await self._be_taken_over(transaction, name)

    async def _commit(self, transaction: Transaction, plan: Plan) -> None:
        try:
            await transaction.commit()
        except LOST:
            self.story.counts["unknown"] += 1
        except GoQueueError:
            self.story.counts["commits refused"] += 1
            self.story.was_aborted(plan.entry.transaction)
        else:
            self.story.was_committed(plan.entry)

    async def _commit_and_leave(self, transaction: Transaction) -> None:
        """Nobody waits for the answer; the next transaction of the same producer makes an end of it."""
        committing = asyncio.create_task(transaction.commit())
        await asyncio.wait([committing], timeout=self.chance.uniform(0, 0.02))
        committing.cancel()
        with suppress(GoQueueError, asyncio.CancelledError):
            await committing
        self.story.counts["unknown"] += 1
        await self._begin_anew()

    async def _be_taken_over(self, transaction: Transaction, name: str) -> None:
        old, self._producer = self._producer, self._new_producer()
        await self._begin_anew()
        try:
            with suppress(GoQueueError):
                await old.send("ledger", b"{}", partition=0)
            await transaction.commit()
        except ProducerFenced:
            self.story.counts["fenced"] += 1
        except GoQueueError:
            self.story.counts["commits refused"] += 1
        else:
            raise AssertionError(f"{name} was committed by an instance that was fenced")
        finally:
            await old.close(flush=False)
        self.story.was_aborted(name)

    async def _begin_anew(self) -> None:
        """After this, whatever this id had under way has ended."""
        while True:
            try:
                async with self._producer.transaction():
                    return
            except ProducerFenced:
                raise
            except GoQueueError:
                # An empty one is nowhere written down, and unknown after a kill.
                await asyncio.sleep(0.02)


class PartsClient(_Taking):
    """Writes parts that are decided together, with one that is left out now and then."""

    async def one(self, plan: Plan) -> None:
        key = plan.entry.transaction
        async with AsyncExitStack() as stack:
            admin = Admin(self.story.server.native)
            stack.push_async_callback(admin.close)
            try:
                tokens = await self._written(admin, plan)
                if self.chance.random() < 0.25:
                    await self._left_out(admin, key)
                if self.chance.random() < 0.8:
                    await admin.decide(key, tokens)
                    self._decided(plan)
                    if self.chance.random() < 0.3:
                        again = await admin.decide(key, tokens)
                        assert set(again.committed) == set(tokens)
                    return
            except LOST:
                self.story.counts["unknown"] += 1
            except GoQueueError:
                self.story.counts["failed inside"] += 1
            await self._decide_against(admin, plan)

    async def _written(self, admin: Admin, plan: Plan) -> list[int]:
        parts = self.chance.randint(1, 3)
        return await asyncio.gather(*(self._part(admin, plan, number, parts) for number in range(parts)))

    async def _part(self, admin: Admin, plan: Plan, number: int, parts: int) -> int:
        async with admin.part(plan.entry.transaction) as part:
            for index, (topic, partition) in enumerate(plan.places):
                if index % parts == number:
                    await part.send(topic, plan.value(index), partition=partition)
            if number == 0:
                await plan.add_rest(part)
            return await part.prepare()

    async def _left_out(self, admin: Admin, key: str) -> None:
        """Prepared, and not among those that are chosen."""
        entry = Entry(f"{key}-out", 1, 0)
        self.story.aborted.add(entry.transaction)
        async with admin.part(key) as part:
            await part.send("ledger", encoded(entry), partition=0)
            await part.prepare()

    def _decided(self, plan: Plan) -> None:
        self.story.was_committed(plan.entry)
        self.story.counts["decided"] += 1

    async def _decide_against(self, admin: Admin, plan: Plan) -> None:
        """Until somebody answers; refused when it was decided, though nobody was told."""
        key = plan.entry.transaction
        while True:
            try:
                await admin.decide(key, [])
            except LOST:
                continue
            except GoQueueError:
                self.story.counts["decided before"] += 1
                return
            self.story.was_aborted(key)
            return
