"""One message at a time through a queue: publish, into the hands of a waiting worker, acknowledged; beside Redis.

At low rates nothing is shared between messages, so this is what one costs. Both brokers sync before they confirm.
"""

import json
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from bench.peers.installing import install_clients, install_servers
from bench.peers.servers.redis import RedisSafe
from bench.peers.targets import named
from bench.report import Row, row, spread
from bench.server import BenchServer, put_load, running_server

RATES = (200, 1000)
WARM_S = 1
ROUNDS = 5


class _Broker(NamedTuple):
    name: str
    address: str
    pid: int


def run(*, quick: bool, against: str | None = None) -> list[Row]:
    """With the sources of another version in `against`, that one takes turns with the others."""
    install_clients(print)
    install_servers(named(["redis"]), print)
    rounds, seconds = (1, 3) if quick else (ROUNDS, 8)
    samples: dict[tuple[str, int, str], list[float]] = {}
    with (
        tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as folder,
        _brokers(Path(folder), against) as brokers,
    ):
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
        ours, theirs, before = (samples.get((name, rate, key), []) for name in ("goqueue", "redis", "before"))
        yield row(f"{what}, {rate}/s", ours, unit, at_most=1.2 if (key, rate) == ("cpu_ms", 200) else None)
        yield row(f"{what}, {rate}/s, Redis", theirs, unit)
        yield row(f"{what}, {rate}/s, ours / Redis", spread(ours, theirs), "×", at_most=2 if key == "p50_ms" else None)
        if before:
            yield row(f"{what}, {rate}/s, the other version", before, unit)
            yield row(f"{what}, {rate}/s, ours / the other version", spread(ours, before), "×")


@contextmanager
def _brokers(folder: Path, against: str | None) -> Iterator[list[_Broker]]:
    redis = RedisSafe(folder / "redis")
    redis.start()
    versions = {"goqueue": None} if against is None else {"before": against, "goqueue": None}
    try:
        with ExitStack() as stack:
            brokers = [_Broker("redis", redis.address, redis.tree.pids()[0])]
            for name, sources in versions.items():
                server = stack.enter_context(running_server(f"{folder}/{name}", sources=sources))
                for number in range(ROUNDS):
                    for rate in RATES:
                        _create_topic(server, f"single{number}-{rate}")
                brokers.append(_Broker(name, server.native, server.pid))
            yield brokers
    finally:
        redis.end()


def _create_topic(server: BenchServer, name: str) -> None:
    """Over HTTP, which an older version understands, too."""
    body = json.dumps({"name": name}).encode()
    request = urllib.request.Request(f"http://{server.http}/topics", body, {"content-type": "application/json"})
    urllib.request.urlopen(request, timeout=10).close()


def _measure(broker: _Broker, topic: str, rate: int, seconds: int) -> dict[str, float]:
    kind = "redis" if broker.name == "redis" else "goqueue"
    where = {"broker": kind, "address": broker.address, "topic": topic}
    with ThreadPoolExecutor() as pool:
        working = pool.submit(put_load, "single_client", "work", **where, count=rate * seconds, skipped=rate * WARM_S)
        time.sleep(1)  # the worker connects and waits
        offered = put_load("single_client", "publish", **where, pid=broker.pid, rate=rate, seconds=seconds)
        return offered | working.result(60)
