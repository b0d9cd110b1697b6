"""Tellers of the bank, in a process of their own: each request is carried out, and acknowledged, in one transaction."""

import argparse
import asyncio
import json
import os
import random
import sys
from contextlib import suppress

import msgspec

from goqueue.client import Producer, Worker
from goqueue.client.worker import Job
from goqueue.errors import BrokerUnreachable, GoQueueError, ProducerFenced, RequestTimeout
from tests.workloads.committed_reader import Entry

__all__ = ["BANK", "FENCED", "GROUP", "LEDGER", "LEGS", "PARTITIONS", "REQUESTS", "Request"]

REQUESTS, LEDGER, GROUP = "requests", "ledger", "tellers"
PARTITIONS = 6
BANK = 0
"""The account that gets the fees."""

LEGS = 3
FENCED = 3
"""With this the process ends when another one has its transactional ids."""


class Request(msgspec.Struct, frozen=True):
    """From one account to another; those without an amount are rejected."""

    name: str
    source: int
    target: int
    amount: int

    def legs(self) -> tuple[tuple[int, int], ...]:
        fee = self.amount // 100
        return (self.source, -self.amount), (self.target, self.amount - fee), (BANK, fee)


class Teller:
    """Works off requests until somebody ends it, or has taken over its transactional id."""

    def __init__(self, number: int, broker: str, chance: random.Random) -> None:
        self._name = f"teller-{number}"
        self._chance = chance
        self._broker = broker
        self._count = 0

    async def run(self) -> None:
        # One for as long as it lives: a second one would take the id from whoever has it by then.
        async with Producer(self._broker, transactional_id=self._name, linger_ms=1) as producer:
            # Before it is said to be there: who comes to take over its id has to come later.
            async with producer.transaction():
                pass
            say(ready=self._name)
            while True:
                with suppress(BrokerUnreachable):
                    await self._work(producer)
                await asyncio.sleep(0.1)

    async def _work(self, producer: Producer) -> None:
        async with Worker(REQUESTS, group=GROUP, bootstrap=self._broker) as worker:
            while True:
                jobs = await worker.take(self._chance.randint(1, 4), wait_ms=1000)
                if jobs and not await self._carry_out(producer, jobs):
                    with suppress(GoQueueError):
                        await worker.release(*jobs)

    async def _carry_out(self, producer: Producer, jobs: list[Job]) -> bool:
        requests = [msgspec.json.decode(job.value or b"", type=Request) for job in jobs]
        good = [one for one in requests if one.amount > 0]
        self._count += 1
        plan = Entry(
            f"{self._name}-{os.getpid()}-{self._count}",
            LEGS * len(good),
            0,
            tuple(one.name for one in good),
            tuple(one.name for one in requests if one.amount == 0),
        )
        try:
            async with producer.transaction() as transaction:
                for number, one in enumerate(good):
                    for leg, (account, amount) in enumerate(one.legs()):
                        index = LEGS * number + leg
                        entry = msgspec.structs.replace(plan, index=index, amount=amount, account=account)
                        await producer.send(LEDGER, msgspec.json.encode(entry), partition=account % PARTITIONS)
                for job, one in zip(jobs, requests, strict=True):
                    await (transaction.ack(job) if one.amount > 0 else transaction.reject(job, reason="no amount"))
                if self._chance.random() < 0.1:
                    await transaction.abort()
                    say(aborted=plan.transaction)
                    return False
        except ProducerFenced:
            say(fenced=self._name)
            raise
        except (BrokerUnreachable, RequestTimeout):
            say(unknown=plan.transaction)
            return True
        except GoQueueError as error:
            say(refused=plan.transaction, code=error.code)
            return False
        say(committed=plan.transaction, requests=plan.acks, rejected=plan.dead)
        return True


def say(**what: object) -> None:
    print(json.dumps(what), flush=True)


async def work(broker: str, numbers: list[int], seed: int) -> None:
    async with asyncio.TaskGroup() as group:
        for number in numbers:
            group.create_task(Teller(number, broker, random.Random(seed + number)).run())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--broker", required=True)
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("numbers", type=int, nargs="+")
    wish = parser.parse_args()
    try:
        asyncio.run(work(wish.broker, wish.numbers, wish.seed))
    except* ProducerFenced:
        sys.exit(FENCED)


if __name__ == "__main__":
    main()
