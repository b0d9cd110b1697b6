"""One message at a time through a queue: publish, into the hands of a waiting worker, acknowledged; beside Redis.

At low rates nothing is shared between messages, so this is what one costs. Both brokers sync before they confirm.
"""

import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from bench.peers.installing import install_clients, install_servers
from bench.peers.servers.redis import RedisSafe
from bench.peers.targets import named
from bench.report import Row, row, spread
from bench.server import create_topics, put_load, running_server

RATES = (200, 1000)
WARM_S = 1


class _Broker(NamedTuple):
    name: str
    address: str
    pid: int


def run(*, quick: bool) -> list[Row]:
    install_clients(print)
    install_servers(named(["redis"]), print)
    rounds, seconds = (1, 3) if quick else (5, 8)
    samples: dict[tuple[str, int, str], list[float]] = {}
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as folder, _brokers(Path(folder)) as brokers:
        for number in range(rounds):
            for rate in RATES:
                for broker in brokers if number % 2 else reversed(brokers):
                    for key, value in _measure(broker, f"single{number}-{rate}", rate, seconds).items():
                        samples.setdefault((broker.name, rate, key), []).append(value)
    return [one for rate in RATES for one in _rows(samples, rate)]


def _rows(samples: dict[tuple[str, int, str], list[float]], rate: int) -> Iterator[Row]:
    for key, unit, what in (
        ("cpu_ms", "ms", "broker's processor time for each"),
        ("p50_ms", "ms", "to the worker, p50"),
        ("p99_ms", "ms", "to the worker, p99"),
    ):
        ours, theirs = samples["goqueue", rate, key], samples["redis", rate, key]
        yield row(f"{what}, {rate}/s", ours, unit, at_most=1.2 if (key, rate) == ("cpu_ms", 200) else None)
        yield row(f"{what}, {rate}/s, Redis", theirs, unit)
        yield row(f"{what}, {rate}/s, ours / Redis", spread(ours, theirs), "×", at_most=2 if key == "p50_ms" else None)


@contextmanager
def _brokers(folder: Path) -> Iterator[list[_Broker]]:
    redis = RedisSafe(folder / "redis")
    redis.start()
    try:
        with running_server(f"{folder}/goqueue") as server:
            for number in range(5):
                create_topics(server, *[f"single{number}-{rate}" for rate in RATES])
            yield [_Broker("goqueue", server.native, server.pid), _Broker("redis", redis.address, redis.tree.pids()[0])]
    finally:
        redis.end()


def _measure(broker: _Broker, topic: str, rate: int, seconds: int) -> dict[str, float]:
    where = {"broker": broker.name, "address": broker.address, "topic": topic}
    with ThreadPoolExecutor() as pool:
        working = pool.submit(put_load, "single_client", "work", **where, count=rate * seconds, skipped=rate * WARM_S)
        time.sleep(1)  # the worker connects and waits
        offered = put_load("single_client", "publish", **where, pid=broker.pid, rate=rate, seconds=seconds)
        return offered | working.result(60)
