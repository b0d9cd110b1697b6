"""Kill −9 at every single write and sync of a transaction, one after the other: all of it is there, or nothing."""

import asyncio
import random
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Literal, get_args

from goqueue.client import Producer, Worker
from goqueue.client.worker import Job
from tests.integration.transaction_clients import Client, PartsClient
from tests.integration.transaction_plan import PLACES, Plan
from tests.integration.transaction_story import GROUP, JOBS, Story, encoded, name_of, prepare_broker
from tests.workloads.committed_reader import Entry
from tests.workloads.nursery import Death, NurseryServer, nursery_server

__all__ = ["HOW", "KINDS", "Kind", "deaths"]

How = Literal["before", "torn"]
HOW: tuple[How, ...] = get_args(How)
Kind = Literal["commit", "abort", "parts", "parts with one left out"]
KINDS: dict[Kind, tuple[type[Client | PartsClient], float]] = {
    "commit": (Client, 0.5),
    "abort": (Client, 0.8),
    "parts": (PartsClient, 0.5),
    "parts with one left out": (PartsClient, 0.1),
}
"""Who does it, and the number that makes all its choices."""

LOOK_EVERY_S = 0.01
TAKEN_WITHIN_MS = 10_000
MOST_STEPS = 500


class Steady(random.Random):
    """Chance that always has the same answer."""

    def __init__(self, answer: float) -> None:
        super().__init__()
        self._answer = answer

    def random(self) -> float:
        return self._answer


class Steps:
    """One broker that dies at each step of one transaction after the other."""

    def __init__(self, server: NurseryServer) -> None:
        self._server = server
        self._armed = server.folder / "armed"
        self.story = Story(server, random.Random(1))
        self._number = 0

    async def prepare(self) -> None:
        await prepare_broker(self._server)

    async def close(self) -> None:
        await self.story.reader.close()

    async def walk(self, kind: Kind, how: How, *, first: int = 1, stride: int = 1) -> int:
        """Until a transaction comes to its end before the broker dies; how often it died."""
        self._server.kill()
        await self._start(first, how)
        for deaths, at in enumerate(range(first, MOST_STEPS, stride)):
            try:
                if not await self._run_once(kind, partial(self._start, at + stride, how)):
                    return deaths
            except BaseException as error:
                error.add_note(f"{kind}, {how} write {at}")
                raise
        raise AssertionError(f"{kind} writes more than {MOST_STEPS} times")

    async def _start(self, at: int, how: How) -> None:
        """A broker that dies at this write, once it is armed."""
        self._server.death = Death(str(self._armed), at, how)
        await asyncio.to_thread(self._server.start)

    async def _run_once(self, kind: Kind, start_next: Callable[[], Awaitable[None]]) -> bool:
        """One transaction, and whether the broker died of it."""
        self._number += 1
        made, answer = KINDS[kind]
        client = made(f"step{self._number}", self.story, Steady(answer))
        async with Worker(JOBS, group=GROUP, bootstrap=self._server.native, visibility_ms=60_000) as worker:
            plan = self._plan(client.name, await self._jobs(worker))
            self._armed.touch()
            try:
                has_died = await self._watched(client.one(plan), start_next)
            finally:
                self._armed.unlink(missing_ok=True)
                await client.close()
        await self.story.check(thoroughly=False)
        return has_died

    async def _watched(self, work: Coroutine[None, None, None], start_next: Callable[[], Awaitable[None]]) -> bool:
        """Another one is started when it dies; whether it did."""
        has_died = is_done = False
        working = asyncio.ensure_future(work)
        while not is_done:
            is_done = bool((await asyncio.wait([working], timeout=LOOK_EVERY_S))[0])
            if is_done:
                self._armed.unlink(missing_ok=True)
            if not self._server.is_running:
                has_died = True
                self._armed.unlink(missing_ok=True)
                self._server.check_log()
                await start_next()
        await working
        return has_died

    async def _jobs(self, worker: Worker) -> list[Job]:
        """Three new ones. Older ones that come along are for others."""
        feed = [Entry(f"feed{self._number}", 3, index) for index in range(3)]
        async with Producer(self._server.native) as producer:
            await producer.send_many(JOBS, [encoded(entry) for entry in feed])
        self.story.committed.add(feed[0].transaction)
        wanted = {entry.name for entry in feed}
        found: list[Job] = []
        while len(found) < len(wanted):
            taken = await worker.take(wait_ms=TAKEN_WITHIN_MS)
            assert taken, "nobody gets what was published"
            for job in taken:
                self.story.took(name_of(job.value))
            found += [job for job in taken if name_of(job.value) in wanted]
        return found

    def _plan(self, name: str, jobs: list[Job]) -> Plan:
        done, dead, failed = jobs
        entry = Entry(
            f"{name}-1",
            len(PLACES),
            0,
            (name_of(done.value),),
            (name_of(dead.value),),
            f"group-{name}",
            self._number,
        )
        return Plan(entry, PLACES, [done], [dead], [failed])


async def deaths(folder: Path, kind: Kind, how: How, *, first: int = 1, stride: int = 1) -> int:
    """How often a broker of its own died before such a transaction got through."""
    with nursery_server(folder) as server:
        steps = Steps(server)
        try:
            await steps.prepare()
            return await steps.walk(kind, how, first=first, stride=stride)
        finally:
            await steps.close()


def main() -> None:
    for kind in KINDS:
        for how in HOW:
            folder = Path(tempfile.mkdtemp(prefix="goqueue-steps-"))
            count = asyncio.run(deaths(folder, kind, how))
            shutil.rmtree(folder)
            print(f"{kind}: killed at each of its {count} writes and syncs ({how}), all of it was there or nothing")


if __name__ == "__main__":
    main()
