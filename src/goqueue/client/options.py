"""Keyword settings of the clients with their types, as type checkers and editors show them."""

from datetime import datetime, timedelta
from typing import Literal, TypedDict

from goqueue.client.partitioner import PartitionerName
from goqueue.client.values import HeaderItems, Text
from goqueue.codec.compression import CompressionName
from goqueue.wire.native.messages import DurabilityName, IsolationName

__all__ = [
    "AdminOptions",
    "ConsumerOptions",
    "GroupPolicyOptions",
    "NewScheduleOptions",
    "ProducerOptions",
    "PublisherOptions",
    "ScheduleOptions",
    "WorkerOptions",
]


class AdminOptions(TypedDict, total=False):
    """Settings of an `Admin`."""

    connect_timeout_ms: int
    connect_timeout: timedelta


class PublisherOptions(TypedDict, total=False):
    """Settings of a `Publisher`."""

    durability: DurabilityName | None
    partitioner: PartitionerName
    delivery_timeout_ms: int
    delivery_timeout: timedelta
    connect_timeout_ms: int
    connect_timeout: timedelta


class ProducerOptions(TypedDict, total=False):
    """Settings of a `Producer`."""

    batch_records: int
    batch_bytes: int
    linger_ms: float
    linger: timedelta
    buffer_records: int
    when_full: Literal["block", "error"]
    acks: Literal["none", "leader", "all"]
    durability: DurabilityName | None
    compression: CompressionName | None
    idempotent: bool
    partitioner: PartitionerName
    delivery_timeout_ms: int
    delivery_timeout: timedelta
    connect_timeout_ms: int
    connect_timeout: timedelta
    transactional_id: str | None
    transaction_timeout_ms: int
    transaction_timeout: timedelta


class ConsumerOptions(TypedDict, total=False):
    """Settings of a `Consumer`."""

    start: Literal["earliest", "latest"]
    auto_commit_ms: int | None
    auto_commit: timedelta | None
    max_bytes: int
    protocol: Literal["cooperative", "eager"]
    assignor: Literal["sticky", "range", "round_robin"] | None
    session_ms: int
    session: timedelta
    client_id: str
    instance_id: str | None
    isolation: IsolationName
    connect_timeout_ms: int
    connect_timeout: timedelta


class WorkerOptions(TypedDict, total=False):
    """Settings of a `Worker`."""

    client_id: str
    visibility_ms: int | None
    visibility: timedelta
    prefetch: int
    max_bytes: int
    key_order: bool
    start: Literal["earliest", "latest"]
    connect_timeout_ms: int
    connect_timeout: timedelta


class GroupPolicyOptions(TypedDict, total=False):
    """Settings of a group's leases and retries; None leaves one to the topics."""

    visibility_timeout_ms: int | None
    visibility_timeout: timedelta
    max_attempts: int | None
    retry_backoff_ms: int | None
    retry_backoff: timedelta
    retry_backoff_max_ms: int | None
    retry_backoff_max: timedelta
    retry_jitter: float | None
    offsets_retention_ms: int | None
    offsets_retention: timedelta


class NewScheduleOptions(TypedDict, total=False):
    """Settings of a new schedule. `start` and `end` are nanoseconds since 1970 when they are numbers."""

    value: Text
    json: object
    key: Text | None
    headers: HeaderItems
    priority: int
    cron: str | None
    every_s: int | None
    every: timedelta
    zone: str
    start: int | datetime | None
    end: int | datetime | None
    misfire: str
    misfire_after_ms: int
    misfire_after: timedelta
    catch_up_most: int
    dst_gap: str
    dst_overlap: str
    jitter_ms: int
    jitter: timedelta
    max_firings: int | None
    paused: bool
    description: str


class ScheduleOptions(NewScheduleOptions, total=False):
    """Settings of a schedule that can be changed: all that a new one has, and its topic."""

    topic: str
