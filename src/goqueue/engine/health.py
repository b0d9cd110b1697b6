"""How the broker fares: whether it takes traffic, and how much there is."""

import msgspec

from goqueue.engine.broker import Broker

__all__ = ["BrokerStats", "broker_stats", "readiness"]


class BrokerStats(msgspec.Struct, frozen=True):
    topics: int
    partitions: int
    records: int
    bytes: int
    journal_bytes: int
    disk_used_share: float


def readiness(broker: Broker) -> dict[str, str]:
    """What must hold for the broker to take traffic, each with what is wrong or "ok"."""
    failure = broker.storage.failure
    full = broker.guard.is_full
    return {
        "storage": failure.message if failure is not None else "ok",
        "disk": f"{broker.guard.used_share:.0%} used, writes are refused" if full else "ok",
    }


def broker_stats(broker: Broker) -> BrokerStats:
    logs = [broker.storage.log(log) for log in broker.storage.logs()]
    return BrokerStats(
        topics=len(broker.catalog),
        partitions=len(logs),
        records=sum(log.next_offset - log.start_offset for log in logs),
        bytes=sum(log.size for log in logs),
        journal_bytes=broker.storage.journal_bytes,
        disk_used_share=round(broker.guard.used_share, 4),
    )
