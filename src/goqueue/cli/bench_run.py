"""The work of `goqueue bench`: topics are made, loads run one after the other, topics are deleted."""

import contextlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import msgspec

from goqueue.adapters.entropy import SystemEntropy
from goqueue.cli.load.crew import Measured, run_crew
from goqueue.cli.load.kinds import fill
from goqueue.cli.load.live import Show, live_view
from goqueue.cli.load.plan import Kind, Plan
from goqueue.cli.waiting import until_interrupted
from goqueue.client import Admin
from goqueue.errors import GoQueueError
from goqueue.wire.native.messages import DurabilityName

__all__ = ["Result", "Wish", "run_loads"]

MB = 1e6
TO_READ_BYTES = 64 << 20
MOST_TO_READ = 500_000


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What the command was asked for."""

    server: str
    topic: str | None
    partitions: int
    size: int
    batch: int
    workers: int
    connections: int
    per_second: float | None
    seconds: float
    records: int | None
    durability: DurabilityName | None
    keep: bool


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """Of one load; latencies are None where there was nothing to measure."""

    load: Kind
    topic: str
    records: int
    bytes: int
    seconds: float
    per_second: float
    mb_per_second: float
    p50_ms: float | None
    p99_ms: float | None
    p999_ms: float | None
    max_ms: float | None
    errors: int
    failures: dict[str, int]


async def run_loads(wish: Wish, kinds: Sequence[Kind]) -> tuple[list[Result], bool]:
    """What was measured, and whether somebody interrupted it; then of the loads that were done."""
    results: list[Result] = []

    async def work() -> None:
        with live_view(wish.seconds) as show:
            for kind in kinds:
                results.append(await _one(wish, kind, show))

    interrupted = await until_interrupted(work())
    return results, interrupted


async def _one(wish: Wish, kind: Kind, show: Show) -> Result:
    async with Admin(wish.server) as admin, _topic(admin, wish, kind) as (topic, partitions):
        plans = _plans(wish, kind, topic, partitions)
        if kind is Kind.CONSUME and wish.topic is None:
            await fill(plans[0], wish.records or min(MOST_TO_READ, TO_READ_BYTES // wish.size))
        measured = await run_crew(plans, lambda progress: show(kind, progress))
        if kind is Kind.QUEUE and not wish.keep:
            with contextlib.suppress(GoQueueError):
                await admin.delete_group(plans[0].group)
    return _result(kind, topic, measured)


@asynccontextmanager
async def _topic(admin: Admin, wish: Wish, kind: Kind) -> AsyncIterator[tuple[str, int]]:
    if wish.topic is not None:
        yield wish.topic, (await admin.topic(wish.topic)).partitions
        return
    name = f"bench-{kind.value}-{SystemEntropy().token_bytes(4).hex()}"
    await admin.create_topic(name, wish.partitions)
    try:
        yield name, wish.partitions
    finally:
        if not wish.keep:
            with contextlib.suppress(GoQueueError):
                await admin.delete_topic(name)


def _plans(wish: Wish, kind: Kind, topic: str, partitions: int) -> list[Plan]:
    """The records and the rate are shared out; readers read everything, each for itself."""
    shares = [None] * wish.workers if wish.records is None else _shares(wish.records, wish.workers)
    plan = Plan(
        kind,
        wish.server,
        topic,
        partitions,
        size=wish.size,
        batch=wish.batch,
        connections=wish.connections,
        seconds=wish.seconds,
        per_second=None if wish.per_second is None else wish.per_second / wish.workers,
        durability=wish.durability,
        group=f"bench-{SystemEntropy().token_bytes(4).hex()}",
    )
    marks = (int.from_bytes(SystemEntropy().token_bytes(8), "big") for _ in range(wish.workers))
    return [msgspec.structs.replace(plan, records=share, mark=mark) for share, mark in zip(shares, marks, strict=True)]


def _shares(total: int, parts: int) -> list[int | None]:
    return [total // parts + (number < total % parts) for number in range(parts)]


def _result(kind: Kind, topic: str, measured: Measured) -> Result:
    seconds = measured.seconds or 1e-9
    return Result(
        load=kind,
        topic=topic,
        records=measured.records,
        bytes=measured.bytes,
        seconds=round(measured.seconds, 3),
        per_second=round(measured.records / seconds, 1),
        mb_per_second=round(measured.bytes / seconds / MB, 3),
        p50_ms=_rounded(measured.latencies.at_ms(0.5)),
        p99_ms=_rounded(measured.latencies.at_ms(0.99)),
        p999_ms=_rounded(measured.latencies.at_ms(0.999)),
        max_ms=_rounded(measured.latencies.at_ms(1.0)),
        errors=sum(measured.failures.values()),
        failures=measured.failures,
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)
