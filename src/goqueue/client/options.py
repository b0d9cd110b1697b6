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
    """Duration of a lease."""
    visibility_timeout: timedelta
    max_attempts: int | None
    """Failures after which a record becomes a dead letter."""
    retry_backoff_ms: int | None
    """Back-off after the first failure; it doubles with each further one."""
    retry_backoff: timedelta
    retry_backoff_max_ms: int | None
    """Longest back-off."""
    retry_backoff_max: timedelta
    retry_jitter: float | None
    """Random share of the back-off, 0 to 1."""
    offsets_retention_ms: int | None
    """How long the group is kept while it is not used."""
    offsets_retention: timedelta


class NewScheduleOptions(TypedDict, total=False):
    """Settings of a new schedule. `start` and `end` are nanoseconds since 1970 when they are numbers."""

    value: Text
    """Value of the records that are published."""
    json: object
    """Value of the records, as JSON; instead of `value`."""
    key: Text | None
    """Their key."""
    headers: HeaderItems
    """Their headers."""
    priority: int
    """Their priority, 0 (the most urgent) to 4."""
    cron: str | None
    """Cron expression with five fields, or six with seconds first; or `every`."""
    every_s: int | None
    """Seconds between two occurrences; or `cron`."""
    every: timedelta
    zone: str
    """Time zone of the cron expression, such as "Europe/Berlin"."""
    start: int | datetime | None
    """First instant of an occurrence; None for now."""
    end: int | datetime | None
    """Last instant of an occurrence; None for no end."""
    misfire: str
    """What to do about missed occurrences: "skip" them, publish "once" for all, or publish "all"."""
    misfire_after_ms: int
    """An occurrence that is later than this is missed."""
    misfire_after: timedelta
    catch_up_most: int
    """Most occurrences that "all" publishes."""
    dst_gap: str
    """A local time that does not exist: "shift" it behind the gap, or "skip" it."""
    dst_overlap: str
    """A local time that exists twice: publish the "first" time, the "second", or "both"."""
    jitter_ms: int
    """Random delay of each occurrence, the same after a restart."""
    jitter: timedelta
    max_firings: int | None
    """Occurrences after which the schedule ends; None for no limit."""
    paused: bool
    """Whether the schedule is paused."""
    description: str
    """Text for people."""


class ScheduleOptions(NewScheduleOptions, total=False):
    """Settings of a schedule that can be changed: all that a new one has, and its topic."""

    topic: str
    """Topic of the records."""
