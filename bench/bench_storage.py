"""The storage engine in process: appends, group commit, reopening after a kill, reads."""

import asyncio
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import uvloop

from bench.report import Row, row, spread
from bench.workload import SilentObserver, batch_of, open_broker, publish
from goqueue.engine.maintenance import Maintenance, MaintenanceSettings
from goqueue.engine.partition import Partition
from goqueue.engine.topics import create_topic
from goqueue.model.topic import TopicConfig, topic_name

BATCH = 100
VALUE_BYTES = 100
WRITERS = 64


def run(*, quick: bool) -> list[Row]:
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as folder:
        rows = uvloop.run(_appends(f"{folder}/appends", rounds=3 if quick else 7, batches=4_000 if quick else 20_000))
        shutil.rmtree(f"{folder}/appends")
        return rows + _reopening(folder, quick=quick)


async def _appends(folder: str, *, rounds: int, batches: int) -> list[Row]:
    memory_one, memory_many, fsync_one, fsync_many, fsync_spread = ([] for _ in range(5))  # type: ignore[var-annotated]
    async with open_broker(folder) as broker:
        maintenance = Maintenance(broker, SilentObserver(), MaintenanceSettings())  # type: ignore[arg-type]
        for name, partitions in (("one", 1), ("hundred", 100)):
            await create_topic(broker, topic_name(name), partitions, TopicConfig())
        one, hundred = (broker.partitions(topic_name(name)) for name in ("one", "hundred"))
        for _ in range(rounds):
            memory_one.append(await _rate(one, 1, batches, durable=False))
            memory_many.append(await _rate(one, WRITERS, batches, durable=False))
            await maintenance.checkpoint()
            fsync_one.append(await _rate(one, 1, max(200, batches // 40), durable=True))
            fsync_many.append(await _rate(one, WRITERS, batches, durable=True))
            fsync_spread.append(await _rate(hundred, WRITERS, batches, durable=True))
            await maintenance.checkpoint()
    what = f"batches of {BATCH} × {VALUE_BYTES} B"
    return [
        row(f"append, memory, {WRITERS} writers", memory_many, "records/s", at_least=1e6, note=what),
        row("append, memory, one writer that awaits each", memory_one, "records/s", note=what),
        row("append, fsync, one writer", fsync_one, "records/s", note=what),
        row(f"append, fsync, {WRITERS} writers", fsync_many, "records/s", note=what),
        row(f"fsync: {WRITERS} writers against one", spread(fsync_many, fsync_one), "×", at_least=10),
        row("fsync: 100 partitions against one", spread(fsync_spread, fsync_many), "×", at_least=0.6),
    ]


async def _rate(partitions: Sequence[Partition], writers: int, batches: int, *, durable: bool) -> float:
    batch = batch_of(BATCH, VALUE_BYTES)

    async def write(number: int) -> None:
        for turn in range(batches // writers):
            await publish(partitions[(number + turn * writers) % len(partitions)], batch, durable=durable)

    before = time.perf_counter()
    await asyncio.gather(*(write(number) for number in range(writers)))
    return batches // writers * writers * BATCH / (time.perf_counter() - before)


def _reopening(folder: str, *, quick: bool) -> list[Row]:
    small, large = (300_000, 3_000_000) if quick else (3_000_000, 30_000_000)
    turns = 3 if quick else 5
    filled = {count: _fill(f"{folder}/{count}", count) for count in (small, large)}
    opened: dict[int, list[dict[str, float]]] = {small: [], large: []}
    for _ in range(turns):
        for count in (small, large):
            opened[count].append(_child("reopen", filled[count]))
            assert opened[count][-1]["records"] >= count
    seconds = {count: [one["seconds"] for one in results] for count, results in opened.items()}
    peaks = {count: [one["peak_mb"] for one in results] for count, results in opened.items()}
    reads = _child("read", filled[small])
    rows = [
        row(f"reopen after kill −9, {_millions(small)}", seconds[small], "s", at_most=3),
        row(f"reopen after kill −9, {_millions(large)}", seconds[large], "s"),
        row(
            f"reopen: {_millions(large)} against {_millions(small)}",
            spread(seconds[large], seconds[small]),
            "×",
            at_most=10,
            note="the journal behind the last checkpoint is read, whatever the size of the log",
        ),
        row(f"memory at the peak of reopening, {_millions(small)}", peaks[small], "MB", at_most=200),
        row(f"memory at the peak of reopening, {_millions(large)}", peaks[large], "MB", at_most=200),
        row(f"sequential read, {_millions(small)}", reads["mb_per_s"], "MB/s", note="every CRC checked"),
    ]
    for name, key in (("offset", "by_offset_us"), ("time", "by_time_us")):
        samples = sorted(reads[key])  # type: ignore[call-overload]
        rows.append(row(f"random read by {name}, p50", statistics.median(samples), "µs"))
        rows.append(row(f"random read by {name}, p99", samples[int(len(samples) * 0.99)], "µs"))
    return rows


def _millions(count: int) -> str:
    return f"{count / 1e6:g} M records"


def _command(mode: str, folder: str, *more: str) -> list[str]:
    return [sys.executable, "-m", "bench.storage_process", mode, folder, *more]


def _fill(folder: str, records: int) -> str:
    with subprocess.Popen(
        _command("fill", folder, "--records", str(records)), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "full\n"
        process.kill()
    return folder


def _child(mode: str, folder: str) -> dict[str, float]:
    done = subprocess.run(_command(mode, folder), check=True, capture_output=True, text=True)
    answer: dict[str, float] = json.loads(done.stdout)
    return answer
