"""The loops of the guide on transactions, as they stand there: exactly once, though workers and broker are killed."""

import asyncio
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from goqueue.client import Admin, Consumer, LogId, Producer, TopicConfig

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "transactions.md"
KILLS, MOST_KILLS = 9, 60
WORKERS = 3
ORDERS = [LogId("orders", number) for number in range(2)]
RUN = """
import asyncio, sys, time
from pathlib import Path
exec(Path(sys.argv[1]).read_text())
loop = {name}
while True:
    try:
        asyncio.run(loop(sys.argv[2], sys.argv[3]))
    except Exception as error:
        print(repr(error), file=sys.stderr, flush=True)
        time.sleep(0.1)
"""


def code_of(title):
    (found,) = re.findall(rf'```python title="{title}"\n(.*?)```', GUIDE.read_text(), re.DOTALL)
    return found


class Program:
    """A process that runs a loop of the guide, from the start again after an error."""

    def __init__(self, folder, function, title, broker, name):
        script = folder / f"{title}.py"
        script.write_text(code_of(title))
        self._command = [sys.executable, "-c", RUN.format(name=function), str(script), broker, name]
        self._log = (folder / f"{title}-{name}.log").open("ab")
        self.start()

    def start(self):
        self._process = subprocess.Popen(self._command, stdout=self._log, stderr=self._log)

    def kill(self):
        self._process.kill()
        self._process.wait()

    def end(self):
        self.kill()
        self._log.close()


async def orders_are_done(server, group):
    async with Admin(server.native) as admin:
        done = await admin.committed_offsets(group)
        ends = await admin.offsets_at(ORDERS, "latest")
        return all(done.get(log, 0) >= ends[log] for log in ORDERS)


async def values(server, topic):
    found = []
    async with Consumer(topic, bootstrap=server.native) as consumer:
        while some := await consumer.poll(wait_ms=0, limit=10_000):
            found += [one.value for one in some]
    return found


async def order(server, stop):
    """Without an end, so that there is always something to be interrupted; how many there were."""
    number = 0
    async with Producer(server.native) as producer:
        while not stop.is_set():
            await producer.send_many(
                "orders", [b"%d" % (number + step) for step in range(20)], partition=number % 40 // 20
            )
            number += 20
            await asyncio.sleep(0.01)
    return number


async def at_work(server, results, since):
    """Wait until there are more results than before."""
    async with asyncio.timeout(150):
        while (count := len(await values(server, results))) < since + 50:
            await asyncio.sleep(0.05)
    return count


async def kill_now_and_then(programs, server, results, chance):
    """At least `KILLS` times, and until somebody was in the middle of something."""
    seen = 0
    for turn in range(MOST_KILLS):
        if turn >= KILLS and await interrupted(server):
            return
        seen = await at_work(server, results, seen)
        await asyncio.sleep(chance.uniform(0, 0.05))
        await something_is_open(server)
        if turn % 3 == 2 and turn < KILLS:
            await asyncio.to_thread(server.crash_and_restart)
        for victim in chance.sample(programs, 2):
            victim.kill()
            victim.start()
    raise AssertionError("nobody was killed in the middle of something")


async def interrupted(server):
    async with Admin(server.native) as admin:
        return (await admin.transaction_stats()).aborted > 0


async def something_is_open(server):
    """Soon after a transaction was begun somebody is probably still at work on it."""
    async with asyncio.timeout(150), Admin(server.native) as admin:
        while not (await admin.transaction_stats()).open:
            await asyncio.sleep(0.001)


async def until_done(server, group):
    async with asyncio.timeout(150):
        while not await orders_are_done(server, group):
            await asyncio.sleep(0.1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("title", "function", "group", "results", "prefix"),
    [
        ("queue", "bill", "billing", "invoices", b"invoice for "),
        ("stream", "convert", "converter", "events", b"event of "),
    ],
)
async def test_every_order_has_one_result_though_everybody_is_killed(
    server, tmp_path, title, function, group, results, prefix
):
    async with Admin(server.native) as admin:
        await admin.create_topic("orders", 2, TopicConfig(visibility_timeout_ms=2000, retry_backoff_ms=1))
        await admin.create_topic(results, 2)
    stop = asyncio.Event()
    ordering = asyncio.create_task(order(server, stop))
    programs = [Program(tmp_path, function, title, server.native, str(number)) for number in range(WORKERS)]
    try:
        await kill_now_and_then(programs, server, results, random.Random(17))
        stop.set()
        ordered = await ordering
        await until_done(server, group)
    finally:
        for program in programs:
            program.end()
    found = await values(server, results)
    assert sorted(found) == sorted(prefix + b"%d" % number for number in range(ordered))
