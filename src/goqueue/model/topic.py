"""Topic: its name, its settings, and the key hash range of each partition."""

import itertools
import re
from enum import StrEnum
from typing import Annotated, NewType, Self

import msgspec

from goqueue.errors import InvalidRequest
from goqueue.model.idle_retention import OffsetsRetention

__all__ = [
    "Backoff",
    "BreakerLimit",
    "Cleanup",
    "DeadLetterTopic",
    "Durability",
    "Expired",
    "HashRange",
    "Jitter",
    "LaneMode",
    "LaneWeights",
    "MaxAttempts",
    "SchemaSubject",
    "SchemaValidation",
    "Starvation",
    "Topic",
    "TopicConfig",
    "TopicName",
    "TraceRate",
    "Visibility",
    "WantedConfig",
    "hash_ranges",
    "topic_name",
]

TopicName = NewType("TopicName", str)

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
LONGEST_DEDUP_WINDOW_MS = 30 * DAY_MS
LONGEST_VISIBILITY_MS = 12 * HOUR_MS
LONGEST_NAME = 249
MOST_PARTITIONS = 10_000
HASH_SPACE = 1 << 32
LARGEST = (1 << 53) - 1
"""Beyond this, clients that store numbers as doubles would round."""
MAX_VALUE = 16 * 1024 * 1024

NAME_PATTERN = r"^(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}$"
OWN_NAME_PATTERN = r"^(?!\.{1,2}$)(?!__)[A-Za-z0-9._-]{1,249}$"
"""Names of user topics; names that begin with two underscores belong to the broker."""

_NAME = re.compile(r"[A-Za-z0-9._-]{1,249}", re.ASCII)


def topic_name(text: str) -> TopicName:
    """Check a name at the edge: it becomes a folder name, so only harmless characters may pass."""
    if not _NAME.fullmatch(text) or text in (".", ".."):
        shown = text if len(text) <= 60 else text[:60] + "…"
        raise InvalidRequest(
            f"{shown!r} is not a topic name",
            hint=f"use 1 to {LONGEST_NAME} letters, digits, dots, underscores or hyphens, and not . or ..",
        )
    return TopicName(text)


class Durability(StrEnum):
    """When a publish is confirmed.

    Example:

        from goqueue import Admin, TopicConfig
        from goqueue.client import Durability

        with Admin() as admin:
            admin.create_topic("clicks", 3, TopicConfig(durability=Durability.MEMORY), if_not_exists=True)
    """

    MEMORY = "memory"
    """Written to the page cache; synced in the background."""
    FSYNC = "fsync"
    """Synced to the disk; one fsync serves all waiting requests."""


class Cleanup(StrEnum):
    """How a topic removes old records.

    Example:

        from goqueue import Admin, TopicConfig
        from goqueue.client import Cleanup

        with Admin() as admin:
            admin.create_topic("customers", 3, TopicConfig(cleanup=Cleanup.COMPACT), if_not_exists=True)
    """

    DELETE = "delete"
    COMPACT = "compact"
    COMPACT_DELETE = "compact,delete"


class Expired(StrEnum):
    """What the queue does with a record that expired before it was delivered."""

    SKIP = "skip"
    DEAD_LETTER = "dead_letter"


class LaneMode(StrEnum):
    """Which priority lane is served next."""

    WEIGHTED = "weighted"
    STRICT = "strict"
    """Always the highest priority that has records."""


class SchemaValidation(StrEnum):
    """Whether values must match a schema of the registry to be published."""

    AUTO = "auto"
    """Values are checked as soon as the topic's subject has a schema."""
    ON = "on"
    """Always: without a schema, every value is refused."""
    OFF = "off"


LaneWeight = Annotated[int, msgspec.Meta(ge=1, le=1000)]
LaneWeights = tuple[LaneWeight, LaneWeight, LaneWeight, LaneWeight, LaneWeight]
Starvation = Annotated[int, msgspec.Meta(ge=1, le=DAY_MS)]
Visibility = Annotated[int, msgspec.Meta(ge=1, le=LONGEST_VISIBILITY_MS)]
MaxAttempts = Annotated[int, msgspec.Meta(ge=1, le=1000)]
Backoff = Annotated[int, msgspec.Meta(ge=0, le=DAY_MS)]
Jitter = Annotated[float, msgspec.Meta(ge=0, le=1)]
DeadLetterTopic = Annotated[str, msgspec.Meta(pattern=OWN_NAME_PATTERN)]
BreakerLimit = Annotated[int, msgspec.Meta(ge=1, le=LARGEST)]
TraceRate = Annotated[float, msgspec.Meta(ge=0, le=1)]
SchemaSubject = Annotated[str, msgspec.Meta(min_length=1, max_length=249)]


class TopicConfig(msgspec.Struct, frozen=True):
    """Settings of one topic; None means no limit.

    A client ignores unknown settings of a newer broker. Settings in a request are read as `WantedConfig`.

    Example:

        from goqueue import Admin, TopicConfig

        with Admin() as admin:
            admin.create_topic("invoices", 3, TopicConfig(max_attempts=5, retention_ms=None), if_not_exists=True)
    """

    durability: Durability = Durability.FSYNC
    cleanup: Cleanup = Cleanup.DELETE
    retention_ms: Annotated[int, msgspec.Meta(ge=1, le=LARGEST)] | None = 168 * HOUR_MS
    retention_bytes: Annotated[int, msgspec.Meta(ge=1, le=LARGEST)] | None = None
    delete_retention_ms: Annotated[int, msgspec.Meta(ge=0, le=LARGEST)] = DAY_MS
    max_value_bytes: Annotated[int, msgspec.Meta(ge=1, le=MAX_VALUE)] = MAX_VALUE
    dedup_window_ms: Annotated[int, msgspec.Meta(ge=0, le=LONGEST_DEDUP_WINDOW_MS)] = 10 * MINUTE_MS
    """How long record ids are remembered for deduplication; 0 turns it off."""
    visibility_timeout_ms: Visibility = 30_000
    """How long a lease of a record lasts."""
    max_attempts: MaxAttempts = 3
    """Failed attempts after which a record becomes a dead letter."""
    retry_backoff_ms: Backoff = 1000
    """The pause after the first failure; it doubles with each further one."""
    retry_backoff_max_ms: Backoff = MINUTE_MS
    retry_jitter: Jitter = 0.0
    """The share of the pause that is random."""
    dead_letter_topic: DeadLetterTopic | None = None
    """None for the topic's own name with `.dlq`."""
    expired: Expired = Expired.SKIP
    lane_weights: LaneWeights = (50, 25, 15, 7, 3)
    """How the five priorities share deliveries while all have records; critical first."""
    lane_mode: LaneMode = LaneMode.WEIGHTED
    lane_starvation_ms: Starvation = 30_000
    """A priority that was not served for this long is served next."""
    dead_letter_breaker_per_minute: BreakerLimit | None = None
    """A group with more dead letters than this within a minute is paused; None for never."""
    schema_validation: SchemaValidation = SchemaValidation.AUTO
    schema_subject: SchemaSubject | None = None
    """Subject of the schemas that values must match; None for the subject of the topic's own name."""
    trace_rate: TraceRate | None = None
    """The share of records that are traced, 0 to 1; None for the broker's setting."""
    offsets_retention_ms: OffsetsRetention | None = None
    """How long an empty consumer group that has read the topic is kept; None for the broker's setting.

    For a group that has read several topics, the longest applies.
    """


class WantedConfig(TopicConfig, frozen=True, forbid_unknown_fields=True):
    """Settings in a request: an unknown one is an error."""

    @classmethod
    def of(cls, config: TopicConfig) -> Self:
        return cls(**msgspec.structs.asdict(config))

    def config(self) -> TopicConfig:
        return TopicConfig(**msgspec.structs.asdict(self))


class HashRange(msgspec.Struct, frozen=True, array_like=True):
    """Key hashes from `start` up to, but not including, `stop`."""

    start: int
    stop: int


def hash_ranges(partitions: int) -> tuple[HashRange, ...]:
    """Equal parts of the 32-bit hash space, so that a part can later be split without moving other keys."""
    bounds = [HASH_SPACE * i // partitions for i in range(partitions + 1)]
    return tuple(HashRange(start, stop) for start, stop in itertools.pairwise(bounds))


class Topic(msgspec.Struct, frozen=True):
    """A topic with its settings; `epoch` grows with every change.

    Example:

        from goqueue import Admin

        with Admin() as admin:
            topic = admin.describe_topic("orders")
            print(topic.name, topic.partitions, topic.config.retention_ms)
    """

    name: TopicName
    config: TopicConfig
    ranges: tuple[HashRange, ...]
    epoch: int = 1
    created_ns: int = 0
    """Creation time; 0 for a topic created before this field existed.

    It distinguishes a topic from a deleted one of the same name.
    """

    @property
    def partitions(self) -> int:
        """The number of partitions.

        Example:

            from goqueue import Admin

            with Admin() as admin:
                print(admin.describe_topic("orders").partitions)
        """
        return len(self.ranges)
