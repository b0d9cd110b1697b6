"""The broker over real sockets: server and clients are separate processes on loopback."""

import json
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import urllib.request
from pathlib import Path

import uvloop

from bench.report import Row, row
from bench.server import BenchServer, create_topics, put_load, running_server
from goqueue.client import Admin, Cleanup, LogId, TopicConfig

TOPIC = "bench"
COMPACTED = "compacted"
RETAINED = "retained"


def run(*, quick: bool) -> list[Row]:
    _allow_many_files()
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as folder:
        rows = []
        for measure in (_throughput, _steady, _housekeeping, _single, _memory):
            with running_server(f"{folder}/data") as server:
                create_topics(server, TOPIC)
                rows += measure(server, quick=quick)
            shutil.rmtree(f"{folder}/data")
        return rows


def _throughput(server: BenchServer, *, quick: bool) -> list[Row]:
    rounds, scale = (2, 5) if quick else (5, 1)
    figures: dict[str, list[float]] = {}
    for _ in range(rounds):
        for name, count in (("send", 400_000), ("send_many", 1_000_000), ("send_batch", 3_000_000)):
            answer = put_load("broker_client", name, address=server.native, topic=TOPIC, count=count // scale)
            figures.setdefault(name, []).append(answer["per_s"])
        for form in ("raw", "arrow", "objects"):
            count = (1_000_000 if form == "objects" else 3_000_000) // scale
            answer = put_load("broker_client", "fetch", address=server.native, topic=TOPIC, count=count, form=form)
            figures.setdefault(form, []).append(answer["per_s"])
    unit = "records/s"
    return [
        row("publish, accumulator, fsync", figures["send"], unit, at_least=200e3, note="100 B, a result for each"),
        row("publish, send_many, fsync", figures["send_many"], unit, at_least=500e3, note="lists of 50,000"),
        row("publish, send_batch of 1000, fsync", figures["send_batch"], unit, at_least=1e6),
        row("fetch as raw batches", figures["raw"], unit, at_least=1e6, note="every CRC checked by the client too"),
        row("fetch as Arrow", figures["arrow"], unit, at_least=1e6),
        row("fetch as Python objects", figures["objects"], unit, at_least=300e3),
    ]


def _steady(server: BenchServer, *, quick: bool) -> list[Row]:
    rows = []
    for rate in (10_000, 100_000):
        answer = put_load(
            "broker_client", "offered", address=server.native, topic=TOPIC, rate=rate, seconds=5 if quick else 60
        )
        name = f"publish at {rate // 1000} K/s, fsync"
        rows.append(row(f"{name}, reached", answer["per_s"], "records/s"))
        limit = 10 if rate == 100_000 else None
        for key in ("p50", "p99", "p999"):
            at_most = limit if key == "p99" else None
            rows.append(row(f"{name}, {key}", answer[f"{key}_ms"], "ms", at_most=at_most))
    return rows


def _housekeeping(server: BenchServer, *, quick: bool) -> list[Row]:
    """The same steady load without and with a large compaction beside it."""
    seconds, records = (3, 300_000) if quick else (15, 3_000_000)
    create_topics(server, COMPACTED, partitions=1, config=TopicConfig(cleanup=Cleanup.COMPACT))
    put_load("broker_client", "send_keyed", address=server.native, topic=COMPACTED, count=records)
    rows = _beside_retention(server, quick=quick)
    for what in ("alone", "beside a compaction"):
        compaction = threading.Thread(target=_compact, args=(server,)) if what != "alone" else None
        if compaction is not None:
            compaction.start()
        answer = put_load("broker_client", "offered", address=server.native, topic=TOPIC, rate=10_000, seconds=seconds)
        if compaction is not None:
            compaction.join()
        for key in ("p50", "p99"):
            rows.append(row(f"publish at 10 K/s {what}, {key}", answer[f"{key}_ms"], "ms"))
    return rows


def _beside_retention(server: BenchServer, *, quick: bool) -> list[Row]:
    """Long enough for a round of retention, which drops a log of several segments."""
    seconds, records = (3, 300_000) if quick else (40, 3_000_000)
    create_topics(server, RETAINED, partitions=1)
    put_load("broker_client", "send_keyed", address=server.native, topic=RETAINED, count=records)

    async def keep_little() -> None:
        async with Admin(server.native) as admin:
            await admin.alter_topic(RETAINED, TopicConfig(retention_bytes=1))

    async def size() -> int:
        async with Admin(server.native) as admin:
            log = LogId(RETAINED, 0)
            return (await admin.offsets_at([log], "latest"))[log] - (await admin.offsets_at([log], "earliest"))[log]

    before = uvloop.run(size())
    uvloop.run(keep_little())
    answer = put_load("broker_client", "offered", address=server.native, topic=TOPIC, rate=10_000, seconds=seconds)
    dropped = before - uvloop.run(size())
    assert quick or dropped > records // 2, "retention has not run"
    note = f"{dropped} records dropped meanwhile"
    return [
        row(f"publish at 10 K/s beside retention, {key}", answer[f"{key}_ms"], "ms", note=note)
        for key in ("p50", "p99")
    ]


def _compact(server: BenchServer) -> None:
    request = urllib.request.Request(f"http://{server.http}/admin/topics/{COMPACTED}/compact", method="POST")
    with urllib.request.urlopen(request, timeout=600) as answer:
        assert answer.status == 200


def _single(server: BenchServer, *, quick: bool) -> list[Row]:
    rows = []
    for connections in (1, 16, 64):
        for kind, name, address in (("native", "single", server.native), ("HTTP", "single_http", server.http)):
            seconds = 1 if quick else 5
            answer = put_load(
                "broker_client", name, address=address, topic=TOPIC, connections=connections, seconds=seconds
            )
            what = f"one record per request, {kind}, {connections} connections"
            rows.append(row(what, answer["per_s"], "requests/s"))
            rows.append(row(f"{what}, p99", answer["p99_ms"], "ms"))
    return rows


def _memory(server: BenchServer, *, quick: bool) -> list[Row]:
    """Resident memory over millions of records, and with idle connections held open."""
    turns = 2 if quick else 6
    samples = []
    for turn in range(turns):
        put_load(
            "broker_client", "send_batch", address=server.native, topic=TOPIC, count=200_000 if quick else 1_000_000
        )
        put_load("broker_client", "fetch", address=server.native, topic=TOPIC, count=200_000 * (turn + 1), form="raw")
        samples.append(server.resident_mb())
    growth = max(samples[1:]) - samples[0]
    rows = [row("memory growth over 5 M records published and read", growth, "MB", at_most=50)]
    count = 1000 if quick else 10_000
    command = [sys.executable, "-m", "bench.broker_client", "idle"]
    command.append(json.dumps({"address": server.native, "count": count}))
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        before = samples[-1]
        held = json.loads(holder.stdout.readline())["held"]
        cost = (server.resident_mb() - before) * 1000 / held
        answered = json.loads(holder.communicate("\n")[0].splitlines()[-1])["answered"]
    rows.append(row("idle connections held, all answer", answered, "connections", at_least=count))
    rows.append(row("memory for each idle connection", cost, "KB"))
    return rows


def _allow_many_files() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
