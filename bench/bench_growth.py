"""How cost grows: one thing at a time is made larger, and the rate and the server's processor time are noted."""

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.report import Row, row
from bench.server import BenchServer, create_topics, put_load, running_server

USUAL = {"size": 100, "batch": 100, "connections": 8, "partitions": 3}
PUBLISHING = {
    "size": (100, 1024, 10_240, 102_400),
    "batch": (1, 10, 100, 1000, 10_000),
    "connections": (1, 4, 16, 64),
    "partitions": (1, 3, 30, 300),
}
WORKING_OFF = {
    "partitions": (1, 3, 30, 300),
    "groups": (1, 2, 4, 8),
    "backlog": (60_000, 300_000, 1_000_000),
}
FEWEST = 60_000
"""Records that a group works off, however many more there are."""


def run(*, quick: bool) -> list[Row]:
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as folder:
        for grown, measure in ((PUBLISHING, _publish), (WORKING_OFF, _work_off)):
            for what, values in grown.items():
                with running_server(f"{folder}/data") as server:
                    for value in values[:2] if quick else values:
                        rows += measure(server, what, value, quick=quick)
                shutil.rmtree(f"{folder}/data")
    return rows


def _publish(server: BenchServer, what: str, value: int, *, quick: bool) -> list[Row]:
    load = {**USUAL, what: value}
    topic = f"publish-{what}-{value}"
    create_topics(server, topic, partitions=load["partitions"])
    seconds = 0.5 if quick else 2.0
    return _rows(
        server,
        f"publish, {what} {value}",
        lambda: put_load("growth_client", "publish", address=server.native, topic=topic, seconds=seconds, **load),
    )


def _work_off(server: BenchServer, what: str, value: int, *, quick: bool) -> list[Row]:
    load = {"partitions": 3, "groups": 1, "backlog": FEWEST, what: value}
    if quick:
        load["backlog"] //= 10
    topic = f"queue-{what}-{value}"
    create_topics(server, topic, partitions=load["partitions"])
    where: dict[str, Any] = {"address": server.native, "topic": topic}
    put_load("growth_client", "fill", count=load["backlog"], partitions=load["partitions"], **where)
    count = min(FEWEST, load["backlog"]) - 2000
    return _rows(
        server,
        f"take and acknowledge, {what} {value}",
        lambda: put_load("growth_client", "work_off", count=count, groups=load["groups"], workers=4, **where),
    )


def _rows(server: BenchServer, name: str, measure: Callable[[], dict[str, Any]]) -> list[Row]:
    before = server.cpu_seconds()
    answer = measure()
    spent = server.cpu_seconds() - before
    return [
        row(name, answer["per_s"], "records/s"),
        row(f"{name}: processor time", 1e6 * spent / answer["count"], "µs a record"),
    ]
