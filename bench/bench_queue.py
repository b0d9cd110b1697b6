"""The log as a queue: take, acknowledge, priorities, and what a million leases cost."""

import os
import shutil
import tempfile
import time
from pathlib import Path

import msgspec

from bench.broker_client import percentiles
from bench.report import Row, row
from bench.server import BenchServer, create_topics, put_load, running_server
from goqueue.core.delivery.delivery import Delivery, Looked, Returns
from goqueue.core.delivery.policy import RetryPolicy
from goqueue.core.priority.lane_index import LaneIndex
from goqueue.model.ids import InstantNs
from goqueue.model.priority import NORMAL

WORKERS = 4
WEIGHTS = (0.50, 0.25, 0.15, 0.07, 0.03)
LEASES = 1_000_000
PASSING = 10_000_000


def run(*, quick: bool) -> list[Row]:
    rows = []
    with tempfile.TemporaryDirectory(dir=Path.cwd(), prefix=".bench-") as folder:
        for measure in (_cycle, _latency, _single, _lanes):
            with running_server(f"{folder}/data") as server:
                rows += measure(server, quick=quick)
            shutil.rmtree(f"{folder}/data")
    return rows + _held() + _leases()


def _cycle(server: BenchServer, *, quick: bool) -> list[Row]:
    rounds, count = (1, 50_000) if quick else (5, 300_000)
    figures = []
    for number in range(rounds):
        create_topics(server, f"cycle{number}")
        answer = put_load(
            "queue_client", "cycle", address=server.native, topic=f"cycle{number}", count=count, workers=WORKERS
        )
        figures.append(answer["per_s"])
    note = f"100 B, fsync, {WORKERS} workers that take 100 and acknowledge them together, 3 such requests under way"
    return [row("publish, take, acknowledge", figures, "records/s", at_least=100e3, note=note)]


def _latency(server: BenchServer, *, quick: bool) -> list[Row]:
    create_topics(server, "latency")
    before = _bare_syncs(seconds=1 if quick else 5)
    answer = put_load(
        "queue_client", "latency", address=server.native, topic="latency", rate=5000, seconds=3 if quick else 20
    )
    after = _bare_syncs(seconds=1 if quick else 5)
    note = "fsync; one worker that polls again while up to 3 of its acknowledgements are under way"
    return [
        row(f"from publish to the worker at 5 K/s, {key}", answer[f"{key}_ms"], "ms", at_most=most, note=note)
        for key, most in (("p50", None), ("p99", 10), ("p999", None))
    ] + [
        row("a bare fdatasync of as much, p99", [before["p99_ms"], after["p99_ms"]], "ms", note="before and after that")
    ]


def _bare_syncs(seconds: int) -> dict[str, float]:
    """What the disk takes by itself for ten records of 100 bytes every two milliseconds."""
    took: list[float] = []
    with tempfile.TemporaryFile(dir=Path.cwd()) as file:
        due = time.perf_counter()
        for _ in range(500 * seconds):
            due = max(due + 0.002, time.perf_counter())
            time.sleep(max(0.0, due - time.perf_counter()))
            began = time.perf_counter()
            file.write(bytes(1400))
            file.flush()
            os.fdatasync(file.fileno())
            took.append(time.perf_counter() - began)
    return percentiles(took)


def _single(server: BenchServer, *, quick: bool) -> list[Row]:
    create_topics(server, "single")
    put_load("queue_client", "fill", address=server.native, topic="single", count=100_000)
    rows = []
    for workers in (1, 16):
        answer = put_load(
            "queue_client",
            "single_ack",
            address=server.native,
            topic="single",
            seconds=1 if quick else 5,
            workers=workers,
        )
        rows.append(row(f"one record acknowledged per request, {workers} workers", answer["per_s"], "records/s"))
    return rows


def _lanes(server: BenchServer, *, quick: bool) -> list[Row]:
    """The same backlog with one priority and with five, in turns; what was written to fill it is on the disk before."""
    rounds, count = (1, 100_000) if quick else (5, 1_000_000)
    plain, mixed, ratios = [], [], []
    worst, longest = 0.0, 0.0
    for number in range(rounds):
        kinds = (("plain", plain), ("mixed", mixed))
        for kind, figures in kinds if number % 2 else reversed(kinds):
            topic = f"{kind}{number}"
            create_topics(server, topic)
            put_load(
                "queue_client", "fill", address=server.native, topic=topic, count=count, priorities=kind == "mixed"
            )
            os.sync()
            answer = put_load("queue_client", "drain", address=server.native, topic=topic, count=count, workers=WORKERS)
            figures.append(answer["per_s"])
            if kind == "mixed":
                off = max(abs(share - weight) for share, weight in zip(answer["shares"], WEIGHTS, strict=True))
                worst, longest = max(worst, off), max(longest, answer["longest_wait_s"])
        ratios.append(1 - mixed[-1] / plain[-1])
    return [
        row("drain a backlog, one priority", plain, "records/s", note=f"{count} records"),
        row("drain a backlog, five priorities", mixed, "records/s"),
        row("what lanes cost of it", [100 * ratio for ratio in ratios], "%", at_most=20),
        row("share of a lane, furthest from its weight", 100 * worst, "points", at_most=2),
        row("longest wait of the background lane", longest, "s", at_most=30),
    ]


def _held() -> list[Row]:
    """In process: one record is held, and ten million others are taken and done behind it."""
    delivery = Delivery(LaneIndex())
    delivery.apply(delivery.open(0, in_key_order=False))
    now, deadline = InstantNs(1), InstantNs(2)
    held = delivery.lease(Looked([0], {NORMAL: 1}), "slow", deadline=deadline, now=now)
    assert held is not None
    delivery.apply(held)
    for first in range(1, PASSING, 1000):
        offsets = list(range(first, first + 1000))
        event = delivery.lease(Looked(offsets, {NORMAL: first + 1000}), "quick", deadline=deadline, now=now)
        assert event is not None
        delivery.apply(event)
        delivery.apply(delivery.settle({event.grant: offsets}))
    assert (delivery.floor, delivery.leased_count) == (0, 1)
    kept = len(msgspec.msgpack.encode(delivery.snapshot()))
    return [row("one record held while ten million pass: all that is kept", kept / 1e3, "KB")]


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _leases() -> list[Row]:
    """In process: a million records in flight, a hundred to a grant, then all of them overdue at once."""
    delivery = Delivery(LaneIndex())
    delivery.apply(delivery.open(0, in_key_order=False))
    before = _resident()
    now, deadline = InstantNs(1), InstantNs(2)
    begun = time.perf_counter()
    for first in range(0, LEASES, 100):
        looked = Looked(range(first, first + 100), {NORMAL: first + 100})
        event = delivery.lease(looked, f"worker{first % 1000}", deadline=deadline, now=now)
        assert event is not None
        delivery.apply(event)
    leased = time.perf_counter() - begun
    used = _resident() - before
    begun = time.perf_counter()
    policy = RetryPolicy()
    for grant, offsets in delivery.overdue(now=deadline, most=LEASES):
        retries = delivery.fail(Returns(grant.number, offsets, "late"), policy, pause_ms=0, now=deadline)
        assert retries.event is not None
        delivery.apply(retries.event)
    swept = time.perf_counter() - begun
    assert (delivery.leased_count, delivery.resting_count) == (0, LEASES)
    return [
        row("a million records in flight: memory for each", used / LEASES, "bytes", note="a hundred to a grant"),
        row("lease a record, in process", leased / LEASES * 1e9, "ns"),
        row("take back an overdue record, in process", swept / LEASES * 1e9, "ns"),
    ]
