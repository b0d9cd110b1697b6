"""What a load generator is told, and what it tells while it runs and when it is done."""

from enum import StrEnum

import msgspec

from goqueue.wire.native.messages import DurabilityName

__all__ = ["Kind", "Plan", "Progress", "Summary"]


class Kind(StrEnum):
    PUBLISH = "publish"
    CONSUME = "consume"
    QUEUE = "queue"
    LATENCY = "latency"


class Plan(msgspec.Struct, frozen=True):
    """The share of one process; `records` None is as many as there is time for."""

    kind: Kind
    server: str
    topic: str
    partitions: int
    size: int = 100
    batch: int = 1000
    connections: int = 1
    seconds: float = 10.0
    records: int | None = None
    per_second: float | None = None
    durability: DurabilityName | None = None
    group: str = "bench"
    mark: int = 0
    """Stands in the records of this process, to tell them from others."""


class Progress(msgspec.Struct, frozen=True):
    """So far, of one process."""

    records: int = 0
    bytes: int = 0
    errors: int = 0


class Summary(msgspec.Struct, frozen=True):
    """At the end, of one process; `latencies` are counts by bucket, `failures` by code."""

    records: int
    bytes: int
    seconds: float
    latencies: dict[int, int]
    failures: dict[str, int]
