"""Compaction on request: compact a topic now, without waiting for the background job."""

import msgspec

from goqueue.engine.broker import Broker
from goqueue.engine.maintenance import Maintenance
from goqueue.engine.shielded import shielded
from goqueue.errors import StateConflict
from goqueue.model.topic import Cleanup, TopicName

__all__ = ["CompactedPartition", "compact_topic"]


class CompactedPartition(msgspec.Struct, frozen=True):
    """What compaction did in one partition."""

    partition: int
    size_before: int
    size: int


async def compact_topic(broker: Broker, maintenance: Maintenance, name: TopicName) -> list[CompactedPartition]:
    topic = broker.catalog.topic(name)
    if topic.config.cleanup is Cleanup.DELETE:
        raise StateConflict(
            f"{topic.name} keeps every record until retention drops it: its cleanup is delete",
            hint="change its cleanup to compact or compact,delete first",
        )
    # Only data that a checkpoint made durable may be rewritten.
    await shielded(maintenance.checkpoint())
    done = []
    for partition in broker.partitions(topic.name):
        before = partition.log.size
        await shielded(maintenance.compact(partition, topic.config))
        done.append(CompactedPartition(partition.id.partition, before, partition.log.size))
    return done
