"""Topics: create, list, describe, alter, delete."""

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from goqueue.codec import MAX_VALUE
from goqueue.core.catalog.catalog import DEFAULT_PARTITIONS
from goqueue.engine import topics
from goqueue.engine.broker import Broker
from goqueue.engine.partition import Partition
from goqueue.gateways.http.api.params import NewTopicText, TopicParams
from goqueue.gateways.http.endpoint import Endpoint, Nothing, Reply
from goqueue.gateways.http.forms.times import instant_text
from goqueue.gateways.http.lists import json_list
from goqueue.gateways.http.rules import AtMostOne, Ruled
from goqueue.model.idle_retention import OffsetsRetention
from goqueue.model.topic import (
    HOUR_MS,
    LONGEST_DEDUP_WINDOW_MS,
    MOST_PARTITIONS,
    Backoff,
    BreakerLimit,
    Cleanup,
    DeadLetterTopic,
    Durability,
    Expired,
    Jitter,
    LaneMode,
    LaneWeights,
    MaxAttempts,
    SchemaSubject,
    SchemaValidation,
    Starvation,
    Topic,
    TopicConfig,
    TraceRate,
    Visibility,
    topic_name,
)

__all__ = ["ENDPOINTS"]

TAG = "Topics"

# Beyond this, clients that keep numbers as doubles would round.
LARGEST = (1 << 53) - 1
Milliseconds = Annotated[int, Meta(ge=1, le=LARGEST)]
Hours = Annotated[float, Meta(ge=0.001, le=1_000_000)]
Bytes = Annotated[int, Meta(ge=1, le=LARGEST)]


class TopicChanges(Ruled, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is left out stays as it is; null means without limit. Retention is given in hours or in milliseconds."""

    retention_hours: Hours | UnsetType | None = UNSET
    retention_ms: Milliseconds | UnsetType | None = UNSET
    retention_bytes: Bytes | UnsetType | None = UNSET
    cleanup: Cleanup | UnsetType = UNSET
    durability: Durability | UnsetType = UNSET
    delete_retention_ms: Annotated[int, Meta(ge=0, le=LARGEST)] | UnsetType = UNSET
    max_value_bytes: Annotated[int, Meta(ge=1, le=MAX_VALUE)] | UnsetType = UNSET
    dedup_window_ms: Annotated[int, Meta(ge=0, le=LONGEST_DEDUP_WINDOW_MS)] | UnsetType = UNSET
    visibility_timeout_ms: Visibility | UnsetType = UNSET
    max_attempts: MaxAttempts | UnsetType = UNSET
    retry_backoff_ms: Backoff | UnsetType = UNSET
    retry_backoff_max_ms: Backoff | UnsetType = UNSET
    retry_jitter: Jitter | UnsetType = UNSET
    dead_letter_topic: DeadLetterTopic | UnsetType | None = UNSET
    expired: Expired | UnsetType = UNSET
    lane_weights: LaneWeights | UnsetType = UNSET
    lane_mode: LaneMode | UnsetType = UNSET
    lane_starvation_ms: Starvation | UnsetType = UNSET
    dead_letter_breaker_per_minute: BreakerLimit | UnsetType | None = UNSET
    schema_validation: SchemaValidation | UnsetType = UNSET
    schema_subject: SchemaSubject | UnsetType | None = UNSET
    trace_rate: TraceRate | UnsetType | None = UNSET
    offsets_retention_ms: OffsetsRetention | UnsetType | None = UNSET

    RULES = (AtMostOne("retention_hours", "retention_ms"),)


class CreateTopic(TopicChanges, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A topic to be; what is left out has its default."""

    name: NewTopicText
    num_partitions: Annotated[int, Meta(ge=1, le=MOST_PARTITIONS)] = DEFAULT_PARTITIONS


class TopicSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A topic and its settings; `size` is in bytes, `epoch` grows with every change."""

    name: str
    num_partitions: int
    retention_hours: int | float | None
    retention_ms: int | None
    retention_bytes: int | None
    cleanup: Cleanup
    durability: Durability
    delete_retention_ms: int
    max_value_bytes: int
    dedup_window_ms: int
    visibility_timeout_ms: int
    max_attempts: int
    retry_backoff_ms: int
    retry_backoff_max_ms: int
    retry_jitter: float
    dead_letter_topic: str | None
    expired: Expired
    lane_weights: LaneWeights
    lane_mode: LaneMode
    lane_starvation_ms: int
    dead_letter_breaker_per_minute: int | None
    schema_validation: SchemaValidation
    schema_subject: str | None
    trace_rate: float | None
    offsets_retention_ms: int | None
    created: str | None
    """When it was made; null when that was before this was kept."""
    epoch: int
    size: int


class PartitionSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Offsets from `earliest` up to, but not including, `latest` are there; those before `stable` are certain.

    Readers of committed records stop at `stable`: the first record whose transaction has not ended.
    """

    partition: int
    earliest: int
    latest: int
    stable: int
    size: int


class KeyRange(msgspec.Struct, frozen=True):
    """Keys whose hash is at least `start` and below `stop` go to the partition."""

    partition: int
    start: int
    stop: int


class TopicDetail(TopicSummary, frozen=True, kw_only=True):
    """A topic with where its records and its keys are."""

    ranges: tuple[KeyRange, ...]
    partitions: tuple[PartitionSummary, ...]


class PartitionDetail(PartitionSummary, frozen=True, kw_only=True):
    """With the range of key hashes, and why the partition refuses writes, if it does."""

    range_start: int
    range_stop: int
    segments: int
    read_only: str | None


class Topics(msgspec.Struct, frozen=True):
    """All topics."""

    topics: tuple[TopicSummary, ...]


class Partitions(msgspec.Struct, frozen=True):
    """The partitions of a topic."""

    topic: str
    partitions: tuple[PartitionDetail, ...]


class Deleted(msgspec.Struct, frozen=True):
    """It is deleted."""

    name: str
    deleted: bool = True


async def create(broker: Broker, _: Nothing, __: Nothing, body: CreateTopic) -> Reply:
    name = topic_name(body.name)
    topic = await topics.create_topic(broker, name, body.num_partitions, changed(TopicConfig(), body))
    return Reply(detail_of(broker, topic), 201, ((b"location", f"/topics/{name}".encode()),))


async def list_all(broker: Broker, _: Nothing, __: Nothing, ___: None) -> msgspec.Raw:
    def shown(topic: Topic) -> TopicSummary | None:
        return TopicSummary(**_summary(broker, topic)) if topic.name in broker.catalog else None

    return await json_list("topics", sorted(broker.catalog, key=lambda topic: topic.name), shown)


async def describe(broker: Broker, params: TopicParams, _: Nothing, __: None) -> TopicDetail:
    return detail_of(broker, broker.catalog.topic(topic_name(params.topic)))


async def alter(broker: Broker, params: TopicParams, _: Nothing, body: TopicChanges) -> TopicDetail:
    topic = await topics.amend_topic(broker, topic_name(params.topic), lambda config: changed(config, body))
    return detail_of(broker, topic)


async def delete(broker: Broker, params: TopicParams, _: Nothing, __: None) -> Deleted:
    name = topic_name(params.topic)
    await topics.delete_topic(broker, name)
    return Deleted(name)


async def partitions(broker: Broker, params: TopicParams, _: Nothing, __: None) -> Partitions:
    topic = broker.catalog.topic(topic_name(params.topic))
    return Partitions(
        topic.name,
        tuple(
            PartitionDetail(
                **_offsets(partition),
                range_start=keys.start,
                range_stop=keys.stop,
                segments=len(partition.log.segments),
                read_only=partition.log.failure.message if partition.log.failure is not None else None,
            )
            for partition, keys in zip(broker.partitions(topic.name), topic.ranges, strict=True)
        ),
    )


def changed(config: TopicConfig, changes: TopicChanges) -> TopicConfig:
    given = {name: value for name in TopicConfig.__struct_fields__ if (value := getattr(changes, name)) is not UNSET}
    hours = changes.retention_hours
    if hours is not UNSET:
        given["retention_ms"] = None if hours is None else round(hours * HOUR_MS)
    return msgspec.structs.replace(config, **given)


def detail_of(broker: Broker, topic: Topic) -> TopicDetail:
    return TopicDetail(
        **_summary(broker, topic),
        ranges=tuple(KeyRange(number, keys.start, keys.stop) for number, keys in enumerate(topic.ranges)),
        partitions=tuple(PartitionSummary(**_offsets(one)) for one in broker.partitions(topic.name)),
    )


def _summary(broker: Broker, topic: Topic) -> dict[str, Any]:
    return {
        "name": topic.name,
        "num_partitions": topic.partitions,
        "retention_hours": _hours(topic.config.retention_ms),
        "created": instant_text(topic.created_ns) if topic.created_ns else None,
        "epoch": topic.epoch,
        "size": topics.topic_size(broker, topic.name),
        **msgspec.structs.asdict(topic.config),
    }


def _hours(retention_ms: int | None) -> int | float | None:
    if retention_ms is None:
        return None
    whole, rest = divmod(retention_ms, HOUR_MS)
    return retention_ms / HOUR_MS if rest else whole


def _offsets(partition: Partition) -> dict[str, int]:
    return {
        "partition": partition.id.partition,
        "earliest": partition.log.start_offset,
        "latest": partition.high_watermark,
        "stable": partition.stable_offset,
        "size": partition.log.size,
    }


ENDPOINTS = (
    Endpoint(
        method="GET",
        path="/topics",
        tag=TAG,
        summary="All topics",
        handler=list_all,
        response=Topics,
    ),
    Endpoint(
        method="POST",
        path="/topics",
        tag=TAG,
        summary="Create a topic",
        handler=create,
        body=CreateTopic,
        response=TopicDetail,
        status=201,
        errors=(409,),
    ),
    Endpoint(
        method="GET",
        path="/topics/{topic}",
        tag=TAG,
        summary="One topic: its settings, offsets and key ranges",
        handler=describe,
        params=TopicParams,
        response=TopicDetail,
        errors=(404,),
    ),
    Endpoint(
        method="PATCH",
        path="/topics/{topic}",
        tag=TAG,
        summary="Change settings of a topic",
        handler=alter,
        params=TopicParams,
        body=TopicChanges,
        response=TopicDetail,
        errors=(404, 409),
    ),
    Endpoint(
        method="DELETE",
        path="/topics/{topic}",
        tag=TAG,
        summary="Delete a topic and its records",
        handler=delete,
        params=TopicParams,
        response=Deleted,
        errors=(404,),
    ),
    Endpoint(
        method="GET",
        path="/topics/{topic}/partitions",
        tag=TAG,
        summary="The partitions of a topic",
        handler=partitions,
        params=TopicParams,
        response=Partitions,
        errors=(404,),
    ),
)
