"""Transactions: what they cost beside plain publishing, how long a commit takes, what open and aborted ones keep."""

import shutil
import tempfile
from pathlib import Path

from bench.report import Row, row, spread
from bench.server import BenchServer, create_topics, put_load, running_server

PRODUCERS = 8
SIZES = (1, 10, 100, 1000)


def run(*, quick: bool) -> list[Row]:
    rows = []
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as folder:
        for measure in (_throughput, _latency, _open, _aborted):
            with running_server(f"{folder}/data") as server:
                rows += measure(server, quick=quick)
            shutil.rmtree(f"{folder}/data")
    return rows


def _throughput(server: BenchServer, *, quick: bool) -> list[Row]:
    rounds, seconds = (1, 1) if quick else (5, 3)
    rows = []
    for size in SIZES:
        figures: dict[str, list[float]] = {"plain": [], "committed": []}
        for number in range(rounds):
            for load, into in figures.items():
                topic = f"{load}-{size}-{number}"
                create_topics(server, topic)
                answer = put_load(
                    "transactions_client",
                    load,
                    address=server.native,
                    topic=topic,
                    producers=PRODUCERS,
                    size=size,
                    seconds=seconds,
                )
                into.append(answer["per_s"])
        note = f"100 B, fsync, {PRODUCERS} producers that wait for each batch"
        rows.append(row(f"plain batches of {size}", figures["plain"], "records/s", note=note))
        rows.append(row(f"the same in transactions of {size}", figures["committed"], "records/s"))
        share = [100 * ratio for ratio in spread(figures["committed"], figures["plain"])]
        rows.append(row(f"transactions of {size} against plain", share, "%", at_least=70 if size == 1000 else None))
    return rows


def _latency(server: BenchServer, *, quick: bool) -> list[Row]:
    create_topics(server, "latency")
    answer = put_load(
        "transactions_client",
        "committed",
        address=server.native,
        topic="latency",
        producers=1,
        size=100,
        seconds=2 if quick else 10,
    )
    return [
        row(f"commit of 100 records, one producer, {key}", answer[f"{key}_ms"], "ms") for key in ("p50", "p99", "p999")
    ]


def _open(server: BenchServer, *, quick: bool) -> list[Row]:
    count = 1000 if quick else 10_000
    create_topics(server, "open")
    before = server.resident_mb()
    put_load("transactions_client", "leave_open", address=server.native, topic="open", count=count)
    used = server.resident_mb() - before
    return [row(f"{count} open transactions: memory for each", 1e6 * used / count, "bytes")]


def _aborted(server: BenchServer, *, quick: bool) -> list[Row]:
    count = 100_000 if quick else 1_000_000
    create_topics(server, "aborted")
    put_load("transactions_client", "abort_many", address=server.native, topic="aborted", count=10_000)
    before = server.resident_mb()
    put_load("transactions_client", "abort_many", address=server.native, topic="aborted", count=count)
    return [row(f"{count} aborted records: memory", server.resident_mb() - before, "MB")]
