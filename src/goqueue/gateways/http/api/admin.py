"""Work on topics that the broker also does by itself, started by hand."""

import asyncio

import msgspec

from goqueue.engine.broker import Broker
from goqueue.engine.maintenance import Maintenance
from goqueue.errors import InvalidRequest
from goqueue.gateways.http.api.params import TopicParams
from goqueue.gateways.http.endpoint import Endpoint, Nothing
from goqueue.model.topic import Cleanup, topic_name

__all__ = ["endpoints"]


class CompactedPartition(msgspec.Struct, frozen=True):
    partition: int
    size_before: int
    size: int


class Compacted(msgspec.Struct, frozen=True):
    """Sizes in bytes. The newest segment of a partition is never compacted."""

    topic: str
    partitions: list[CompactedPartition]


def endpoints(maintenance: Maintenance) -> tuple[Endpoint, ...]:
    async def compact(broker: Broker, params: TopicParams, _: Nothing, __: None) -> Compacted:
        topic = broker.catalog.topic(topic_name(params.topic))
        if topic.config.cleanup is Cleanup.DELETE:
            raise InvalidRequest(
                f"{topic.name} keeps every record until retention drops it: its cleanup is delete",
                hint="change its cleanup to compact or compact,delete first",
            )
        # Only what a checkpoint has made durable may be written anew.
        await asyncio.shield(maintenance.checkpoint())
        done = []
        for partition in broker.partitions(topic.name):
            before = partition.log.size
            await asyncio.shield(maintenance.compact(partition, topic.config))
            done.append(CompactedPartition(partition.id.partition, before, partition.log.size))
        return Compacted(topic.name, done)

    return (
        Endpoint(
            method="POST",
            path="/admin/topics/{topic}/compact",
            tag="Admin",
            summary="Compact a topic now: of each key only the newest record stays",
            handler=compact,
            params=TopicParams,
            response=Compacted,
            errors=(404,),
        ),
    )
