"""Kill −9 a broker again and again while clients run transactions: all of each is there, or nothing."""

import argparse
import asyncio
import json
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.behaviour.serving import Server
from tests.integration.transaction_clients import Client, PartsClient
from tests.integration.transaction_story import Story, prepare_broker
from tests.workloads.nursery import nursery_server

__all__ = ["kill_again_and_again"]

ROOT = Path(__file__).resolve().parents[2]
CLIENTS, PARTS_CLIENTS = 3, 1
LONGEST_WORK_S = 5.0
RESOLVED_WITHIN_S = 300.0
THOROUGH_EVERY = 5


class Killing:
    """A broker, its clients and readers."""

    def __init__(self, server: Server, seed: int) -> None:
        self._server = server
        self._chance = random.Random(seed)
        self.story = Story(server, random.Random(seed + 1))
        self._clients = [
            *(Client(f"client{number}", self.story, self._other_chance()) for number in range(CLIENTS)),
            *(PartsClient(f"parts{number}", self.story, self._other_chance()) for number in range(PARTS_CLIENTS)),
        ]

    def _other_chance(self) -> random.Random:
        return random.Random(self._chance.getrandbits(64))

    async def run(self, kills: int) -> Counter[str]:
        done = asyncio.Event()
        reading = asyncio.create_task(self.story.reader.run(done))
        counts = self.story.counts
        try:
            while counts["kills"] < kills:
                await self._round(reading)
                thoroughly = counts["checks"] % THOROUGH_EVERY == THOROUGH_EVERY - 1 or counts["kills"] >= kills
                await self.story.check(thoroughly=thoroughly)
                print(json.dumps(counts), flush=True)
        finally:
            done.set()
            for client in self._clients:
                await client.close()
            await reading
            await self.story.reader.close()
        counts["records read"] = len(self.story.reader.picture.places)
        counts["passes of the reader"] = self.story.reader.passes
        counts["dead letters"] = len(self.story.reader.picture.letters)
        return counts

    async def _round(self, reading: asyncio.Task[None]) -> None:
        """Clients work, and the broker is killed once or more; then all that is under way is brought to its end."""
        stop = asyncio.Event()
        working = [asyncio.create_task(client.run(stop)) for client in self._clients]
        try:
            await self._kill()
            while self._chance.random() < 0.3:
                await self._kill()
            stop.set()
            async with asyncio.timeout(RESOLVED_WITHIN_S):
                await asyncio.gather(*working)
        finally:
            for task in working:
                task.cancel()
            await asyncio.wait(working)
        if reading.done():
            reading.result()

    async def _kill(self) -> None:
        await self._let_them_work()
        self._server.kill()
        self._server.check_log()
        self.story.counts["kills"] += 1
        if self._chance.random() < 0.1:
            # In the middle of recovery, or before it.
            self._server.launch()
            await asyncio.sleep(self._chance.uniform(0.3, 1.5))
            self._server.kill()
            self.story.counts["kills"] += 1
        await asyncio.to_thread(self._server.start)

    async def _let_them_work(self) -> None:
        """Until some transactions have ended, and a moment longer; now and then the broker has hardly started."""
        wanted = self._ended() + self._chance.randint(0, 8)
        deadline = time.monotonic() + LONGEST_WORK_S
        while self._ended() < wanted and time.monotonic() < deadline:
            await asyncio.sleep(0.005)
        await asyncio.sleep(self._chance.uniform(0, 0.1))

    def _ended(self) -> int:
        return sum(self.story.counts[name] for name in ("committed", "aborted", "unknown"))


async def kill_again_and_again(server: Server, kills: int, seed: int) -> Counter[str]:
    await prepare_broker(server)
    return await Killing(server, seed).run(kills)


def run_alone(kills: int, seed: int) -> None:
    """One broker; a line of JSON after each round. The folder is left there when something is wrong."""
    folder = Path(tempfile.mkdtemp(prefix=f"goqueue-kills-{seed}-"))
    with nursery_server(folder) as server:
        counts = asyncio.run(kill_again_and_again(server, kills, seed))
        print(json.dumps(counts), flush=True)
    shutil.rmtree(folder)


async def run_side_by_side(kills: int, seed: int, brokers: int) -> int:
    """Several, each in processes of its own; 0 when all of them went well."""
    latest: dict[int, Counter[str]] = {}
    began = time.monotonic()

    async def one(number: int) -> int:
        share = kills // brokers + (number < kills % brokers)
        command = ["-m", "tests.integration.transaction_kills", "--alone", f"--rounds={share}"]
        child = await asyncio.create_subprocess_exec(
            sys.executable, *command, f"--seed={seed + 1000 * number}", cwd=ROOT, stdout=asyncio.subprocess.PIPE
        )
        assert child.stdout is not None
        async for line in child.stdout:
            latest[number] = Counter(json.loads(line))
            report(sum(latest.values(), Counter()), time.monotonic() - began)
        return await child.wait()

    codes = await asyncio.gather(*(one(number) for number in range(brokers)))
    total = sum(latest.values(), Counter())
    print("\n".join(f"{name:>24}  {count}" for name, count in sorted(total.items())))
    verdict = "every transaction was there as a whole, or not at all" if not any(codes) else f"FAILED: {codes}"
    print(f"seed {seed}: {total['kills']} kills in {time.monotonic() - began:.0f} s: {verdict}")
    return int(any(codes))


def report(total: Counter[str], seconds: float) -> None:
    parts = ", ".join(f"{total[name]} {name}" for name in ("kills", "committed", "aborted", "fenced", "unknown"))
    print(f"{seconds:6.0f} s  {parts}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--brokers", type=int, default=3)
    parser.add_argument("--alone", action="store_true")
    wish = parser.parse_args()
    if wish.alone:
        run_alone(wish.rounds, wish.seed)
    else:
        sys.exit(asyncio.run(run_side_by_side(wish.rounds, wish.seed, wish.brokers)))


if __name__ == "__main__":
    main()
