"""Work on topics that the broker also does by itself, started by hand."""

import msgspec

from goqueue.engine.broker import Broker
from goqueue.engine.compacting import CompactedPartition, compact_topic
from goqueue.engine.maintenance import Maintenance
from goqueue.gateways.http.api.params import TopicParams
from goqueue.gateways.http.endpoint import Endpoint, Nothing
from goqueue.model.topic import topic_name

__all__ = ["endpoints"]


class Compacted(msgspec.Struct, frozen=True):
    """Sizes in bytes. The newest segment of a partition is never compacted."""

    topic: str
    partitions: list[CompactedPartition]


def endpoints(maintenance: Maintenance) -> tuple[Endpoint, ...]:
    async def compact(broker: Broker, params: TopicParams, _: Nothing, __: None) -> Compacted:
        name = topic_name(params.topic)
        return Compacted(name, await compact_topic(broker, maintenance, name))

    return (
        Endpoint(
            method="POST",
            path="/admin/topics/{topic}/compact",
            tag="Admin",
            summary="Compact a topic now: of each key only the newest record stays",
            handler=compact,
            params=TopicParams,
            response=Compacted,
            errors=(404, 409),
        ),
    )
