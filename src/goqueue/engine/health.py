"""Health of the broker: readiness and totals."""

import msgspec

from goqueue.engine.broker import Broker
from goqueue.engine.slices import in_slices

__all__ = ["BrokerStats", "broker_stats", "readiness"]


class BrokerStats(msgspec.Struct, frozen=True):
    topics: int
    partitions: int
    records: int
    bytes: int
    journal_bytes: int
    disk_used_share: float


def readiness(broker: Broker) -> dict[str, str]:
    """The conditions for taking traffic, each with its problem or "ok"."""
    failure = broker.storage.failure
    full = broker.guard.is_full
    return {
        "storage": failure.message if failure is not None else "ok",
        "disk": f"{broker.guard.used_share:.0%} used, writes are refused" if full else "ok",
    }


async def broker_stats(broker: Broker) -> BrokerStats:
    partitions = records = size = 0
    async for partition in in_slices(list(broker.opened)):
        partitions += 1
        records += partition.log.next_offset - partition.log.start_offset
        size += partition.log.size
    return BrokerStats(
        topics=len(broker.catalog),
        partitions=partitions,
        records=records,
        bytes=size,
        journal_bytes=broker.storage.journal_bytes,
        disk_used_share=round(broker.guard.used_share, 4),
    )
