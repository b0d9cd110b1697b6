"""What is measured: which workloads there are, how large they are, and what their figures are called."""

from collections.abc import Sequence
from itertools import product

import msgspec

from bench.peers.targets import Kind

__all__ = ["FULL", "GROUPS", "QUICK", "TINY", "Plan", "Workload", "key_of_publishing", "workloads"]

GROUPS = ("one", "two", "three", "four")
SLOW_RATE = 1000


class Plan(msgspec.Struct, frozen=True):
    """How much of everything, so that the whole run stays within its time."""

    rounds: int
    within_s: float
    """No round is begun that would end later."""
    seconds: float
    """Of each measurement of publishing."""
    sizes: tuple[int, ...]
    batches: tuple[int, ...]
    processes: tuple[int, ...]
    """Over how many client processes 16 connections are spread in tries; the best is kept for each broker."""
    tries: int
    """Of each number of processes, in turns."""
    try_seconds: float
    queue_seconds: float
    """So long records are published at most, of those that are then taken."""
    cycle_records: int
    backlog_records: int
    fanout_records: int
    offer_seconds: float
    million: int
    restarts: int


FULL = Plan(
    rounds=3,
    within_s=930.0,
    seconds=0.6,
    sizes=(100, 1000),
    batches=(1, 10, 100, 1000),
    processes=(1, 2, 4),
    tries=3,
    try_seconds=0.3,
    queue_seconds=3.0,
    cycle_records=40_000,
    backlog_records=60_000,
    fanout_records=10_000,
    offer_seconds=2.0,
    million=1_000_000,
    restarts=5,
)
QUICK = Plan(
    rounds=2,
    within_s=185.0,
    seconds=0.3,
    sizes=(100,),
    batches=(1, 100, 1000),
    processes=(),
    tries=0,
    try_seconds=0.0,
    queue_seconds=0.8,
    cycle_records=10_000,
    backlog_records=20_000,
    fanout_records=3_000,
    offer_seconds=0.6,
    million=50_000,
    restarts=1,
)
TINY = Plan(
    rounds=1,
    within_s=60.0,
    seconds=0.05,
    sizes=(100,),
    batches=(1, 100),
    processes=(),
    tries=0,
    try_seconds=0.0,
    queue_seconds=5.0,
    cycle_records=800,
    backlog_records=800,
    fanout_records=200,
    offer_seconds=0.1,
    million=2000,
    restarts=1,
)
"""For tests: shows that everything works, and nothing else."""


class Workload(msgspec.Struct, frozen=True):
    """`key` is what the figure is called; `connections` are those of publishers and readers together."""

    key: str
    kind: Kind
    connections: int = 16
    batch: int = 100
    size: int = 100
    rate: float | None = None
    """None where it is half of what the slowest peer can do, which is known only later."""
    is_try: bool = False


def key_of_publishing(batch: int, connections: int, size: int) -> str:
    return f"batch{batch}_conn{connections}" + ("" if size == 100 else f"_{size}b")


def workloads(plan: Plan, kinds: Sequence[Kind]) -> tuple[Workload, ...]:
    """In the order in which a round goes through them; a million records come after all rounds."""
    publishing = tuple(
        Workload(key_of_publishing(batch, connections, size), Kind.PUBLISH, connections, batch, size)
        for size, connections, batch in product(plan.sizes, (1, 16), plan.batches)
    )
    others = (
        Workload("queue_cycle", Kind.QUEUE),
        Workload("backlog", Kind.QUEUE),
        Workload("fanout4", Kind.FANOUT, connections=8),
        Workload("latency_1k", Kind.LATENCY, connections=4, rate=SLOW_RATE),
        Workload("latency_half", Kind.LATENCY, connections=4),
    )
    return tuple(one for one in (*publishing, *others) if one.kind in kinds)
