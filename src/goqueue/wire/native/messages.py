"""Heads of native frames: what is asked and what is answered.

Structs are arrays on the wire, in the order of their fields; new fields go to the end, with a default. Whoever does
not know a field at the end of an array, or a key of a map in a reply, passes over it.
"""

from typing import Any, Literal

import msgspec

from goqueue.model.topic import Topic, TopicName, WantedConfig

__all__ = [
    "AlterTopic",
    "Assigned",
    "CancelDelayed",
    "CancelDelayedReply",
    "CancelledPart",
    "ChangeDelay",
    "CommitOffsets",
    "CreateTopic",
    "DelayStats",
    "DelayStatsReply",
    "DelayedList",
    "DelayedRecord",
    "DeleteGroup",
    "DeleteSchedule",
    "DeleteTopic",
    "DescribeGroup",
    "Done",
    "ErrorReply",
    "Fetch",
    "FetchFrom",
    "FetchOffsets",
    "Fetched",
    "FetchedPart",
    "GroupDescription",
    "GroupList",
    "GroupMember",
    "GroupPolicyQuestion",
    "GroupPolicyReply",
    "GroupSummary",
    "Heartbeat",
    "Hello",
    "InitProducer",
    "JoinGroup",
    "Joined",
    "LeasedRecords",
    "LeaveGroup",
    "ListDelayed",
    "ListGroups",
    "ListOffsets",
    "ListSchedules",
    "MemberDescription",
    "Metadata",
    "MetadataReply",
    "NotCancelled",
    "OffsetAnswer",
    "OffsetQuestion",
    "Offsets",
    "OffsetsReply",
    "Original",
    "PartitionOffset",
    "PauseGroup",
    "PendingRecords",
    "Publish",
    "Published",
    "PutSchedule",
    "Redelivery",
    "ResetOffsets",
    "ResetReply",
    "Schedule",
    "ScheduleFiring",
    "ScheduleReply",
    "Settle",
    "SettleReply",
    "SettledPart",
    "Take",
    "TakeReply",
    "TakenPart",
    "TopicDelays",
    "TopicPartition",
    "TopicReply",
    "Welcome",
    "WorkerDescription",
]

DurabilityName = Literal["memory", "fsync"]
IsolationName = Literal["read_committed", "read_uncommitted"]


class ErrorReply(msgspec.Struct, frozen=True, array_like=True):
    code: str
    message: str
    hint: str | None = None


class Done(msgspec.Struct, frozen=True, array_like=True):
    """There is nothing more to say."""


# Connection.


class Hello(msgspec.Struct, frozen=True, array_like=True):
    versions: tuple[int, ...]
    client: str = ""


class Welcome(msgspec.Struct, frozen=True, array_like=True):
    version: int
    server: str
    max_frame_bytes: int


# Topics.


class Metadata(msgspec.Struct, frozen=True, array_like=True):
    """Which topics, all of them when none is named, and whether their sizes are wanted too."""

    topics: tuple[str, ...] | None = None
    sizes: bool = False


class MetadataReply(msgspec.Struct, frozen=True, array_like=True):
    """`sizes` are bytes on disk, in the order of the topics; older brokers and requests without sizes give none."""

    topics: tuple[Topic, ...]
    sizes: tuple[int, ...] = ()


class CreateTopic(msgspec.Struct, frozen=True, array_like=True):
    name: str
    partitions: int
    config: WantedConfig


class AlterTopic(msgspec.Struct, frozen=True, array_like=True):
    """Settings by name. Those left out stay as they are: an older client must not reset what it does not know of."""

    name: str
    config: dict[str, Any]


class DeleteTopic(msgspec.Struct, frozen=True, array_like=True):
    name: str


class TopicReply(msgspec.Struct, frozen=True, array_like=True):
    topic: Topic


# Records.


class InitProducer(msgspec.Struct, frozen=True, array_like=True):
    """A new identity, or for one that had an identity the next epoch of it, which fences its earlier self."""

    producer_id: int | None = None
    epoch: int = 0


class ProducerIdentity(msgspec.Struct, frozen=True, array_like=True):
    producer_id: int
    epoch: int


class Publish(msgspec.Struct, frozen=True, array_like=True):
    """The tail holds the records, all for one partition.

    With a producer id the batch is written once however often it is sent; `sequence` counts the producer's records
    in this partition. `ids` names records (one for each) that must be unique in the topic for a while. Where keys have
    decided on the partition, `partitions` says among how many: they belong elsewhere when the topic has another number.
    `deliver_at` has an instant in nanoseconds for each record, which is hidden until then; 0 means at once.
    `transaction` is the number of one that the producer has begun: the records count when it commits.
    """

    topic: TopicName
    partition: int
    durability: DurabilityName | None = None
    producer_id: int | None = None
    producer_epoch: int = 0
    sequence: int = 0
    ids: tuple[str | None, ...] | None = None
    partitions: int | None = None
    deliver_at: tuple[int, ...] | None = None
    transaction: int | None = None


class Original(msgspec.Struct, frozen=True, array_like=True):
    """A record that was not written again, by its number in the batch; the offset of its original is in `offsets`."""

    step: int
    partition: int
    timestamp_ns: int


class Published(msgspec.Struct, frozen=True, array_like=True):
    """Offsets run from `base_offset`; `offsets` is there when they do not run through, as some were known before.

    `duplicate` is about the batch as a whole, `originals` names the records that were known by their ids.
    """

    base_offset: int
    count: int
    timestamp_ns: int
    duplicate: bool = False
    offsets: tuple[int, ...] | None = None
    originals: tuple[Original, ...] = ()


class FetchFrom(msgspec.Struct, frozen=True, array_like=True):
    topic: str
    partition: int
    offset: int


class GroupMember(msgspec.Struct, frozen=True, array_like=True):
    """As whom a member of a group asks: refused when the group has gone on without it."""

    group: str
    member_id: str
    generation: int


class Fetch(msgspec.Struct, frozen=True, array_like=True):
    """Records of several partitions; waits up to `wait_ms` until there is at least one.

    A member of a group gets nothing of partitions that are, or while it waited became, another one's.
    """

    parts: tuple[FetchFrom, ...]
    max_bytes: int = 1024 * 1024
    wait_ms: int = 0
    member: GroupMember | None = None
    isolation: IsolationName = "read_committed"


class FetchedPart(msgspec.Struct, frozen=True, array_like=True):
    """`length` bytes of the tail. Records below the asked offset never come; `next_offset` is where to go on.

    Records in `skip` are hidden: the client passes over them. They are runs, the first offset of each and how many.
    """

    topic: str
    partition: int
    first_offset: int
    next_offset: int
    high_watermark: int
    start_offset: int
    length: int
    error: ErrorReply | None = None
    skip: tuple[tuple[int, int], ...] = ()
    stable_offset: int = 0
    """Up to here every transaction has ended."""


class Fetched(msgspec.Struct, frozen=True, array_like=True):
    parts: tuple[FetchedPart, ...]


class OffsetQuestion(msgspec.Struct, frozen=True, array_like=True):
    topic: str
    partition: int
    at: Literal["earliest", "latest"] | int
    """Or a time in nanoseconds: the first record that is not older."""


class ListOffsets(msgspec.Struct, frozen=True, array_like=True):
    questions: tuple[OffsetQuestion, ...]
    isolation: IsolationName = "read_committed"


class OffsetAnswer(msgspec.Struct, frozen=True, array_like=True):
    topic: str
    partition: int
    offset: int


class Offsets(msgspec.Struct, frozen=True, array_like=True):
    answers: tuple[OffsetAnswer, ...]


# Groups.


class TopicPartition(msgspec.Struct, frozen=True, array_like=True):
    topic: str
    partition: int


class JoinGroup(msgspec.Struct, frozen=True, array_like=True):
    group: str
    client_id: str
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    protocol: Literal["cooperative", "eager"] = "cooperative"
    assignor: Literal["sticky", "range", "round_robin"] | None = None
    session_ms: int = 30_000
    instance_id: str | None = None
    member_id: str | None = None
    """Of a member that joins again, as the eager protocol asks for at every rebalance."""


class Joined(msgspec.Struct, frozen=True, array_like=True):
    member_id: str
    generation: int
    assigned: tuple[TopicPartition, ...]
    heartbeat_ms: int
    paused: bool = False


class Heartbeat(msgspec.Struct, frozen=True, array_like=True):
    """`owned` is what the member works on now: leaving out what it was asked to revoke confirms the revocation.

    Without news for the member the answer may be held back for `wait_ms`, and comes at once when there is some.
    """

    group: str
    member_id: str
    generation: int
    owned: tuple[TopicPartition, ...] | None = None
    wait_ms: int = 0


class Assigned(msgspec.Struct, frozen=True, array_like=True):
    """What the member is to work on from now, and what of its work it has to give up first."""

    generation: int
    assigned: tuple[TopicPartition, ...]
    revoke: tuple[TopicPartition, ...]
    paused: bool = False


class LeaveGroup(msgspec.Struct, frozen=True, array_like=True):
    group: str
    member_id: str


class PartitionOffset(msgspec.Struct, frozen=True, array_like=True):
    topic: str
    partition: int
    offset: int
    metadata: str = ""


class CommitOffsets(msgspec.Struct, frozen=True, array_like=True):
    group: str
    offsets: tuple[PartitionOffset, ...]
    member_id: str | None = None
    generation: int | None = None


class FetchOffsets(msgspec.Struct, frozen=True, array_like=True):
    group: str
    topics: tuple[str, ...] | None = None


class OffsetsReply(msgspec.Struct, frozen=True, array_like=True):
    offsets: tuple[PartitionOffset, ...]


class ResetOffsets(msgspec.Struct, frozen=True, array_like=True):
    """Where to: earliest, latest, an offset, or a time in nanoseconds; with `dry_run` nothing changes."""

    group: str
    to: Literal["earliest", "latest", "offset", "timestamp"]
    value: int | None = None
    topics: tuple[str, ...] | None = None
    dry_run: bool = False


class ResetReply(msgspec.Struct, frozen=True, array_like=True):
    changes: tuple["OffsetChange", ...]
    dry_run: bool


class OffsetChange(msgspec.Struct, frozen=True, array_like=True):
    topic: str
    partition: int
    before: int | None
    after: int


class ListGroups(msgspec.Struct, frozen=True, array_like=True):
    pass


class GroupSummary(msgspec.Struct, frozen=True, array_like=True):
    """`delayed` records of queues are no part of the lag; `workers` take from queues and are no members."""

    group: str
    state: str
    protocol: str
    members: int
    lag: int
    delayed: int = 0
    workers: int = 0


class GroupList(msgspec.Struct, frozen=True, array_like=True):
    groups: tuple[GroupSummary, ...]


class DescribeGroup(msgspec.Struct, frozen=True, array_like=True):
    group: str


class MemberDescription(msgspec.Struct, frozen=True, array_like=True):
    member_id: str
    client_id: str
    instance_id: str | None
    partitions: tuple[TopicPartition, ...]


class PartitionLag(msgspec.Struct, frozen=True, array_like=True):
    topic: str
    partition: int
    committed: int | None
    end: int
    lag: int
    member_id: str | None
    delayed: int = 0


class WorkerDescription(msgspec.Struct, frozen=True, array_like=True):
    """`protocol` and `address` are empty of one that only holds leases; `in_flight` is None where it is not known."""

    consumer: str
    protocol: str = ""
    address: str = ""
    since_ns: int | None = None
    in_flight: int | None = None


class GroupDescription(msgspec.Struct, frozen=True, array_like=True):
    group: str
    state: str
    protocol: str
    assignor: str
    generation: int
    paused: bool
    members: tuple[MemberDescription, ...]
    partitions: tuple[PartitionLag, ...]
    pause_reason: str = ""
    """Why the broker paused it; empty when a request paused it."""
    expires_at_ns: int | None = None
    """When the empty group is forgotten, with its offsets and what it acknowledged; None while it is used."""
    workers: tuple[WorkerDescription, ...] = ()
    """The first of them."""
    worker_count: int = 0


class DeleteGroup(msgspec.Struct, frozen=True, array_like=True):
    group: str


class PauseGroup(msgspec.Struct, frozen=True, array_like=True):
    group: str
    paused: bool


class Take(msgspec.Struct, frozen=True, array_like=True):
    """Records from the queue, leased to the consumer: to a member, which says its generation, or to a worker."""

    group: str
    consumer: str
    topics: tuple[str, ...] = ()
    limit: int = 100
    max_bytes: int = 4 * 1024 * 1024
    wait_ms: int = 0
    visibility_ms: int | None = None
    generation: int | None = None
    key_order: bool = False
    start: Literal["earliest", "latest"] = "earliest"


class Redelivery(msgspec.Struct, frozen=True, array_like=True):
    """A record that was delivered before, this time included."""

    offset: int
    deliveries: int
    failures: int


class TakenPart(msgspec.Struct, frozen=True, array_like=True):
    """Records of one partition; their bytes are the next `length` of the tail."""

    topic: str
    partition: int
    grant: int
    token: str
    deadline_ns: int
    length: int
    redelivered: tuple[Redelivery, ...] = ()


class TakeReply(msgspec.Struct, frozen=True, array_like=True):
    parts: tuple[TakenPart, ...]
    knows_packed: bool = False
    """Whether the broker knows `LeasedRecords.packed`."""


class LeasedRecords(msgspec.Struct, frozen=True, array_like=True):
    """Records of one grant, as runs of offsets, the first of each and how many; or those that lie apart, packed."""

    topic: str
    partition: int
    grant: int
    token: str
    runs: tuple[tuple[int, int], ...]
    packed: bytes = b""
    """Offsets in any order, see `goqueue.wire.native.packed_offsets`."""


class Settle(msgspec.Struct, frozen=True, array_like=True):
    """What becomes of leased records; `delay_ms` is the pause of a nack or the new length of an extension."""

    group: str
    action: Literal["ack", "nack", "reject", "extend", "release"]
    leases: tuple[LeasedRecords, ...]
    reason: str = ""
    delay_ms: int | None = None


class SettledPart(msgspec.Struct, frozen=True, array_like=True):
    """Of one lease: why nothing happened, or what did."""

    error: ErrorReply | None
    committed_offset: int = 0
    in_flight: int = 0
    dead: int = 0
    """So many went to the dead letters."""
    deadline_ns: int = 0


class SettleReply(msgspec.Struct, frozen=True, array_like=True):
    """One for each lease."""

    parts: tuple[SettledPart, ...]


# Delays.


class ListDelayed(msgspec.Struct, frozen=True, array_like=True):
    """Pending records of a topic, the next one to be due first.

    With a partition and an offset it is that one record, whatever became of it; the tail of the answer has the record.
    """

    topic: str
    skip: int = 0
    limit: int = 100
    partition: int | None = None
    offset: int | None = None


class DelayedRecord(msgspec.Struct, frozen=True, array_like=True):
    """The instant is known as long as the record is pending."""

    topic: str
    partition: int
    offset: int
    state: str
    deliver_at_ns: int | None = None


class DelayedList(msgspec.Struct, frozen=True, array_like=True):
    """Some of `pending` records."""

    records: tuple[DelayedRecord, ...]
    pending: int


class ChangeDelay(msgspec.Struct, frozen=True, array_like=True):
    """Another instant for a pending record; without one it is never delivered. Answered with a DelayedRecord."""

    topic: str
    partition: int
    offset: int
    deliver_at_ns: int | None = None


class PendingRecords(msgspec.Struct, frozen=True, array_like=True):
    """Records of one partition, as runs of offsets: the first of each and how many."""

    partition: int
    runs: tuple[tuple[int, int], ...]


class CancelDelayed(msgspec.Struct, frozen=True, array_like=True):
    """None of these is ever delivered."""

    topic: str
    records: tuple[PendingRecords, ...]


class NotCancelled(msgspec.Struct, frozen=True, array_like=True):
    """Records that stay what they are, and why."""

    error: ErrorReply
    runs: tuple[tuple[int, int], ...]


class CancelledPart(msgspec.Struct, frozen=True, array_like=True):
    partition: int
    cancelled: tuple[tuple[int, int], ...]
    refused: tuple[NotCancelled, ...] = ()


class CancelDelayedReply(msgspec.Struct, frozen=True, array_like=True):
    """One part for each partition."""

    parts: tuple[CancelledPart, ...]


class DelayStats(msgspec.Struct, frozen=True, array_like=True):
    """About all topics in which something is or was delayed."""


class TopicDelays(msgspec.Struct, frozen=True, array_like=True):
    """How many records are in each state, of those that are in the log."""

    topic: str
    pending: int
    delivered: int
    cancelled: int
    expired: int
    next_due_ns: int | None = None


class DelayStatsReply(msgspec.Struct, frozen=True, array_like=True):
    topics: tuple[TopicDelays, ...]


class ListSchedules(msgspec.Struct, frozen=True, array_like=True):
    """All of them, or one."""

    schedule: str | None = None


class PutSchedule(msgspec.Struct, frozen=True, array_like=True):
    """Make a schedule, or change the named settings of one that is there."""

    settings: dict[str, Any]
    is_new: bool


class DeleteSchedule(msgspec.Struct, frozen=True, array_like=True):
    schedule: str


class ScheduleFiring(msgspec.Struct, frozen=True):
    """What became of an occurrence, or of `count` of them."""

    occurrence_ns: int
    at_ns: int
    outcome: str
    count: int = 1
    partition: int | None = None
    offset: int | None = None
    reason: str = ""


class Schedule(msgspec.Struct, frozen=True, kw_only=True):
    """A schedule with what it publishes, when, and its last firings, the newest first."""

    id: str
    status: str
    topic: str
    value: bytes = b""
    key: bytes | None = None
    headers: tuple[tuple[str, bytes], ...] = ()
    priority: int = 2
    cron: str | None = None
    every_s: int | None = None
    zone: str = "UTC"
    start: int | None = None
    end: int | None = None
    misfire: str = "once"
    misfire_after_ms: int = 0
    catch_up_most: int = 0
    dst_gap: str = "shift"
    dst_overlap: str = "first"
    jitter_ms: int = 0
    max_firings: int | None = None
    paused: bool = False
    description: str = ""
    next_due_ns: int | None = None
    fired: int = 0
    history: tuple[ScheduleFiring, ...] = ()


class ScheduleReply(msgspec.Struct, frozen=True, array_like=True):
    schedules: tuple[Schedule, ...]


class GroupPolicyQuestion(msgspec.Struct, frozen=True, array_like=True):
    """With settings they are changed, those that are not named go back to what the topic says; without, only shown."""

    group: str
    settings: dict[str, Any] | None = None


class GroupPolicyReply(msgspec.Struct, frozen=True, array_like=True):
    """What the group has of its own; None leaves it to the topic."""

    visibility_timeout_ms: int | None = None
    max_attempts: int | None = None
    retry_backoff_ms: int | None = None
    retry_backoff_max_ms: int | None = None
    retry_jitter: float | None = None
    offsets_retention_ms: int | None = None
