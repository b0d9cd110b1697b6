"""Delayed records: scheduling, cancelling, firing, and a restart with a million of them pending."""

import os
import random
import signal
import tempfile
import time
from pathlib import Path

from bench.report import Row, row
from bench.server import create_topics, put_load, running_server
from goqueue.client import TopicConfig
from goqueue.core.delay.delays import Delays
from goqueue.model.ids import InstantNs

TOPIC = "delays"
WEEK_NS = 7 * 24 * 3600 * 10**9
BATCH = 100


def run(*, quick: bool) -> list[Row]:
    count = 100_000 if quick else 1_000_000
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as folder:
        data = f"{folder}/data"
        with running_server(data) as server:
            create_topics(server, TOPIC, "firing", config=TopicConfig(retention_ms=None))
            before = server.resident_mb()
            scheduled = put_load("delays_client", "schedule", address=server.native, topic=TOPIC, count=count)["per_s"]
            memory = (server.resident_mb() - before) * 1e6 / count
            late = put_load(
                "delays_client",
                "firing",
                address=server.native,
                topic="firing",
                rate=10_000,
                seconds=2 if quick else 10,
            )
            os.kill(server.pid, signal.SIGKILL)
        begun = time.perf_counter()
        with running_server(data) as server:
            restart = time.perf_counter() - begun
            cancelled = put_load("delays_client", "cancel", address=server.native, topic=TOPIC, count=count)["per_s"]
    what = f"{count} over seven days"
    return [
        row("schedule, over sockets, fsync", scheduled, "records/s", at_least=100e3, note=f"{what}, 1000 in a request"),
        row("memory of the broker for each", memory, "bytes", note="buffers of the load included"),
        row("restart after kill -9 with all of them pending", restart, "s", at_most=5),
        row("cancel, over sockets, fsync", cancelled, "records/s", at_least=100e3, note="1000 in a request"),
        row("lateness at 10 K due per second, p50", late["p50_ms"], "ms", note="until a waiting worker has them"),
        row("lateness at 10 K due per second, p99", late["p99_ms"], "ms", at_most=20),
        row("of those, early", late["early"], "records", at_most=0),
        *_in_process(count),
    ]


def _in_process(count: int) -> list[Row]:
    """The state machine alone: a hundred records in each event."""
    chance = random.Random(1)
    dues = [chance.randrange(1, WEEK_NS) for _ in range(count)]
    resident = _resident()
    delays, now = Delays(), InstantNs(0)
    begun = time.perf_counter()
    for first in range(0, count, BATCH):
        event = delays.schedule(range(first, first + BATCH), dues[first : first + BATCH], now=now)
        assert event is not None
        delays.apply(event)
    scheduled = count / (time.perf_counter() - begun)
    memory = (_resident() - resident) / count
    begun = time.perf_counter()
    for first in range(0, count, BATCH):
        delays.apply(delays.cancel(*range(first, first + BATCH)))
    cancelled = count / (time.perf_counter() - begun)
    return [
        row("schedule, in process", scheduled, "records/s", at_least=100e3, note="a hundred in each event"),
        row("cancel, in process", cancelled, "records/s", at_least=100e3),
        row("memory for each pending delay, in process", memory, "bytes", at_most=150),
    ]


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
