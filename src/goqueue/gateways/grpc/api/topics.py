"""What calls about topics do: create, list, describe, change, delete, compact; and browse their records."""

from typing import Any

import msgspec

from goqueue.core.catalog.catalog import DEFAULT_PARTITIONS
from goqueue.engine import topics
from goqueue.engine.broker import Broker
from goqueue.engine.browse import Selection, browse
from goqueue.engine.compacting import compact_topic
from goqueue.engine.cursors import cursor_of, place_of
from goqueue.engine.maintenance import Maintenance
from goqueue.engine.partition import Partition
from goqueue.engine.workbench.search import MOST_LISTED
from goqueue.errors import InvalidRequest
from goqueue.gateways.grpc.choices import isolation_of
from goqueue.gateways.grpc.forms.asking import convert, given, limited, optional, without
from goqueue.gateways.grpc.forms.showing import show, stored
from goqueue.gateways.grpc.service import Call, Handler, Service
from goqueue.model.topic import HashRange, Topic, TopicConfig, WantedConfig, topic_name
from goqueue.wire.grpc.v1 import topics_pb2 as wire

__all__ = ["topic_service"]

CLEARABLE = frozenset(
    {
        "retention_ms",
        "retention_bytes",
        "dead_letter_topic",
        "dead_letter_breaker_per_minute",
        "schema_subject",
        "trace_rate",
        "offsets_retention_ms",
    }
)
"""Settings that may have no value."""


def topic_service(broker: Broker, maintenance: Maintenance) -> Service:
    async def create(request: wire.CreateTopicRequest, _: Call) -> wire.CreateTopicResponse:
        name = topic_name(request.name)
        partitions = request.partitions if request.HasField("partitions") else DEFAULT_PARTITIONS
        topic = await topics.create_topic(broker, name, partitions, _changed(TopicConfig(), request.settings))
        return wire.CreateTopicResponse(topic=_topic(broker, topic))

    async def listing(_: wire.ListTopicsRequest, __: Call) -> wire.ListTopicsResponse:
        found = sorted(broker.catalog, key=lambda topic: topic.name)
        return wire.ListTopicsResponse(topics=[_topic(broker, topic) for topic in found])

    async def describe(request: wire.GetTopicRequest, _: Call) -> wire.GetTopicResponse:
        return wire.GetTopicResponse(topic=_topic(broker, broker.catalog.topic(topic_name(request.name))))

    async def update(request: wire.UpdateTopicRequest, _: Call) -> wire.UpdateTopicResponse:
        name = topic_name(request.name)
        topic = await topics.amend_topic(broker, name, lambda config: _changed(config, request.settings))
        return wire.UpdateTopicResponse(topic=_topic(broker, topic))

    async def delete(request: wire.DeleteTopicRequest, _: Call) -> wire.DeleteTopicResponse:
        await topics.delete_topic(broker, topic_name(request.name))
        return wire.DeleteTopicResponse()

    async def compact(request: wire.CompactTopicRequest, _: Call) -> wire.CompactTopicResponse:
        done = await compact_topic(broker, maintenance, topic_name(request.name))
        return wire.CompactTopicResponse(partitions=[show(wire.CompactedPartition, one) for one in done])

    async def records(request: wire.BrowseRecordsRequest, _: Call) -> wire.BrowseRecordsResponse:
        name, selection = topic_name(request.topic), _selection(request)
        after = place_of(request.cursor) if request.cursor else None
        page = await browse(broker, name, selection, limited(optional(request, "limit"), 100, MOST_LISTED), after)
        found = [stored(name, one) for one in page.found]
        return wire.BrowseRecordsResponse(records=found, next_cursor=cursor_of(page.last) or "")

    methods: dict[str, Handler] = {
        "CreateTopic": create,
        "ListTopics": listing,
        "GetTopic": describe,
        "UpdateTopic": update,
        "DeleteTopic": delete,
        "CompactTopic": compact,
        "BrowseRecords": records,
    }
    return Service(wire.DESCRIPTOR.services_by_name["TopicService"], methods)


def _changed(config: TopicConfig, settings: wire.TopicSettings) -> TopicConfig:
    changes = without(given(settings), CLEARABLE)
    return convert(msgspec.to_builtins(config) | changes, WantedConfig).config()


def _selection(request: wire.BrowseRecordsRequest) -> Selection:
    if request.offset < 0:
        raise InvalidRequest(f"an offset of {request.offset}", hint="offsets begin with 0")
    return Selection(
        partition=optional(request, "partition"),
        offset=request.offset,
        from_ns=optional(request, "from_ns"),
        to_ns=optional(request, "to_ns"),
        key=optional(request, "key"),
        priority=optional(request, "priority"),
        isolation=isolation_of(request.isolation),
    )


def _topic(broker: Broker, topic: Topic) -> wire.Topic:
    partitions = broker.partitions(topic.name)
    return show(
        wire.Topic,
        topic,
        settings=show(wire.TopicSettings, topic.config, cleared=()),
        created_ns=topic.created_ns or None,
        size=sum(partition.log.size for partition in partitions),
        partitions=list(map(_partition, partitions, topic.ranges)),
    )


def _partition(partition: Partition, keys: HashRange) -> wire.TopicPartitionInfo:
    failure = partition.log.failure
    found: dict[str, Any] = {
        "partition": partition.id.partition,
        "earliest": partition.log.start_offset,
        "latest": partition.high_watermark,
        "stable": partition.stable_offset,
        "size": partition.log.size,
    }
    return wire.TopicPartitionInfo(
        **found,
        range_start=keys.start,
        range_stop=keys.stop,
        segments=len(partition.log.segments),
        read_only="" if failure is None else failure.message,
    )
