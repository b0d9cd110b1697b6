"""What is asked and answered about consumer groups, as JSON."""

from typing import Annotated, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from goqueue.core.groups.assignment.assignors import Assignor
from goqueue.core.groups.state.members import (
    DEFAULT_SESSION_MS,
    LONGEST_NAME,
    LONGEST_SESSION_MS,
    SHORTEST_SESSION_MS,
    Protocol,
)
from goqueue.engine.fetch import LONGEST_WAIT_MS
from goqueue.engine.groups import HEARTBEAT_MS
from goqueue.engine.poll import MOST_RECORDS
from goqueue.gateways.http.api.params import OWN_NAME_PATTERN, TopicText
from goqueue.gateways.http.api.reading import MessageOut
from goqueue.gateways.http.forms.times import MILLISECONDS, InstantText, duration_schema
from goqueue.gateways.http.forms.values import Form
from goqueue.gateways.http.rules import AtLeastOne, Needs, Ruled, Together
from goqueue.model.topic import LONGEST_VISIBILITY_MS

__all__ = [
    "CooperativeJoinBody",
    "Done",
    "GroupList",
    "GroupOut",
    "GroupParams",
    "GroupSummary",
    "HeartbeatBody",
    "JoinBody",
    "Joined",
    "LagOut",
    "MemberBody",
    "MemberOut",
    "MemberQuery",
    "OffsetChange",
    "Offsets",
    "OffsetsBody",
    "Partitions",
    "PollQuery",
    "Polled",
    "PolledMessage",
    "RebalanceList",
    "RebalanceOut",
    "ResetBody",
    "ResetDone",
    "RevokeBody",
    "Told",
    "WorkerOut",
]

LARGEST = (1 << 63) - 1

GroupText = Annotated[
    str, Meta(description="name of the group", extra_json_schema={"pattern": OWN_NAME_PATTERN}, examples=["billing"])
]
MemberText = Annotated[
    str,
    Meta(min_length=1, max_length=LONGEST_NAME, description="id of the member", examples=["worker-9f86d081884c7d65"]),
]
ClientText = Annotated[str, Meta(max_length=200, description="who it is; member ids begin with it")]
InstanceText = Annotated[
    str, Meta(min_length=1, max_length=200, description="the same after a restart, so that nothing moves meanwhile")
]
PatternText = Annotated[
    str,
    Meta(
        max_length=1000,
        description="topics whose whole name fits, also those made later",
        extra_json_schema={"format": "topic-pattern"},
        examples=["orders.*"],
    ),
]
Session = (
    Annotated[str, Meta(extra_json_schema=duration_schema(SHORTEST_SESSION_MS, LONGEST_SESSION_MS))]
    | Annotated[int, Meta(ge=SHORTEST_SESSION_MS, le=LONGEST_SESSION_MS, description=MILLISECONDS)]
)
_TOPIC = r"(?!\.{1,2}(?:,|$))[A-Za-z0-9._-]{1,249}"
TOPICS_PATTERN = f"^(?:{_TOPIC})?(?:,(?:{_TOPIC})?)*$"
Generation = Annotated[int, Meta(ge=0, le=LARGEST)]
PartitionText = Annotated[str, Meta(extra_json_schema={"pattern": "^[0-9]{1,5}$"})]
OffsetNumber = Annotated[int, Meta(ge=0, le=LARGEST)]
OffsetsByTopic = dict[TopicText, dict[PartitionText, OffsetNumber]]
Partitions = dict[str, list[int]]
"""Partition numbers by topic."""


class GroupParams(msgspec.Struct, frozen=True):
    group: GroupText


class JoinBody(Ruled, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Topics by name, or by a pattern that also takes in topics made later."""

    client_id: ClientText = "client"
    topics: Annotated[list[TopicText], Meta(max_length=1000)] = msgspec.field(default_factory=list)
    pattern: PatternText | None = None
    protocol: Protocol = Protocol.COOPERATIVE
    assignor: Assignor | None = None
    session: Session = DEFAULT_SESSION_MS
    instance_id: InstanceText | None = None
    member_id: MemberText | None = None

    RULES = (AtLeastOne("topics", "pattern"),)


class CooperativeJoinBody(Ruled, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Topics by name, or by a pattern that also takes in topics made later."""

    client_id: ClientText = "client"
    topics: Annotated[list[TopicText], Meta(max_length=1000)] = msgspec.field(default_factory=list)
    pattern: PatternText | None = None
    assignor: Assignor | None = None
    session: Session = DEFAULT_SESSION_MS
    instance_id: InstanceText | None = None

    RULES = (AtLeastOne("topics", "pattern"),)


class Joined(msgspec.Struct, frozen=True):
    """`members` are all there are now; the leader is the oldest and has no duties."""

    member_id: str
    generation: int
    leader_id: str | None
    partitions: Partitions
    members: list[str]
    heartbeat_ms: int


class HeartbeatBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`owned` is what the member works on: leaving out what it was asked to revoke confirms the revocation.

    Without news for the member the answer is held back for up to `wait_ms`, and comes at once when there is some.
    """

    member_id: MemberText
    generation: Generation
    owned: dict[TopicText, list[Annotated[int, Meta(ge=0, le=100_000)]]] | None = None
    wait_ms: Annotated[int, Meta(ge=0, le=HEARTBEAT_MS)] = 0


class RevokeBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Partitions that the member has given up."""

    member_id: MemberText
    generation: Generation
    partitions: dict[TopicText, list[Annotated[int, Meta(ge=0, le=100_000)]]]


class MemberBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A member of the group."""

    member_id: MemberText


class MemberQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    member_id: MemberText


class Told(msgspec.Struct, frozen=True):
    """Read `partitions`; stop reading `revoke`, commit, and say so with the next heartbeat."""

    member_id: str
    generation: int
    state: str
    partitions: Partitions
    revoke: Partitions
    paused: bool


class Done(msgspec.Struct, frozen=True):
    """It is done."""

    success: Literal[True] = True


class PollQuery(Ruled, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """As a member, with the generation it was told last; or, without a member id, as a worker that takes from `topics`.

    `limit` is the total; `from` is where partitions without a committed offset begin. `visibility` is how long the
    records are this consumer's, the topic's own without it. `order=key` keeps the order of records with one key.
    """

    member_id: MemberText | UnsetType = UNSET
    generation: Generation | UnsetType = UNSET
    topics: Annotated[
        str,
        Meta(
            max_length=7000,
            description="names with commas between them",
            extra_json_schema={"pattern": TOPICS_PATTERN},
        ),
    ] = ""
    consumer: Annotated[str, Meta(min_length=1, max_length=200, description="who works, for the limit in flight")] = (
        "anonymous"
    )
    timeout: Annotated[str, Meta(extra_json_schema=duration_schema(0, LONGEST_WAIT_MS))] = "30s"
    limit: Annotated[int, Meta(ge=1, le=MOST_RECORDS)] = 100
    visibility: Annotated[str, Meta(extra_json_schema=duration_schema(1, LONGEST_VISIBILITY_MS))] | UnsetType = UNSET
    order: Literal["none", "key"] = "none"
    from_: Literal["earliest", "latest"] = msgspec.field(name="from", default="earliest")
    format: Form | UnsetType = UNSET

    RULES = (Together("member_id", "generation"),)


class PolledMessage(MessageOut, frozen=True, kw_only=True):
    """`failure_count` of its deliveries did not succeed."""

    topic: str
    delivery_count: int
    failure_count: int
    receipt_handle: str
    visible_until: str


class Polled(msgspec.Struct, frozen=True):
    """Acknowledge each by its receipt; or commit `next_offset`, by topic and partition, when all so far are done."""

    messages: list[PolledMessage]
    next_offset: dict[str, dict[str, int]]


class OffsetsBody(Ruled, frozen=True, forbid_unknown_fields=True):
    """Next offsets to read, by topic and partition number; without a member only when the group has none."""

    offsets: OffsetsByTopic
    member_id: MemberText | None = None
    generation: Generation | None = None

    RULES = (Needs("member_id", "generation"),)


class Offsets(msgspec.Struct, frozen=True):
    """The next offsets that the group reads, by topic and partition."""

    group: str
    offsets: dict[str, dict[str, int]]


class ResetBody(Ruled, frozen=True, forbid_unknown_fields=True):
    """`earliest`, `latest`, a number, or a time; without topics, those with committed offsets."""

    to: Literal["earliest", "latest", "offset", "timestamp"]
    offset: OffsetNumber | None = None
    timestamp: InstantText | None = None
    topics: Annotated[list[TopicText], Meta(max_length=1000)] | None = None
    dry_run: bool = False

    RULES = (Needs("to", "offset", "offset"), Needs("to", "timestamp", "timestamp"))


class OffsetChange(msgspec.Struct, frozen=True):
    """The committed offset of one partition, before and after."""

    topic: str
    partition: int
    before: int | None
    after: int


class ResetDone(msgspec.Struct, frozen=True):
    """What the reset changed, or would change."""

    dry_run: bool
    changes: list[OffsetChange]


class GroupSummary(msgspec.Struct, frozen=True):
    """A group at a glance."""

    group: str
    state: str
    protocol: str | None
    members: int
    lag: int
    delayed: int
    """Records of queues that are not due yet; they are no part of the lag."""
    workers: int
    """Consumers that take from queues and are no members."""


class GroupList(msgspec.Struct, frozen=True):
    """All groups."""

    groups: list[GroupSummary]


class MemberOut(msgspec.Struct, frozen=True):
    """A member of a group, and its partitions."""

    member_id: str
    client_id: str
    instance_id: str | None
    generation: int
    partitions: Partitions
    revoking: Partitions


class LagOut(msgspec.Struct, frozen=True):
    """What a group has before it in one partition."""

    topic: str
    partition: int
    committed: int | None
    end: int
    lag: int
    member_id: str | None
    delayed: int


class WorkerOut(msgspec.Struct, frozen=True):
    """A consumer that takes from queues and is no member; without an address it only holds leases."""

    consumer: str
    protocol: Literal["native", "http", "grpc"] | None
    address: str | None
    since: str | None
    """When it was first heard of on its connection."""
    in_flight: int | None
    """Records that it has leased; null when several connections use the same consumer id."""


class GroupOut(msgspec.Struct, frozen=True):
    """A group with its members and its lag."""

    group: str
    state: str
    protocol: str | None
    assignor: str | None
    generation: int
    paused: bool
    pause_reason: str | None
    """Why the broker paused it; null when it is not paused, or somebody asked for it."""
    leader_id: str | None
    members: list[MemberOut]
    lag: int
    partitions: list[LagOut]
    expires_at: str | None
    """When the empty group is forgotten, with its offsets and what it acknowledged; null while it is used."""
    delayed: int
    """Records of queues that are not due yet; they are no part of the lag."""
    workers: list[WorkerOut]
    """At most 100 of them."""
    worker_count: int


class RebalanceOut(msgspec.Struct, frozen=True):
    """How often partitions of a group were shared out, and why."""

    group: str
    count: int
    last_reason: str | None
    last_duration_ms: float | None
    last_moved: int
    total_moved: int
    awaited: list[str]


class RebalanceList(msgspec.Struct, frozen=True):
    """The rebalances of all groups."""

    groups: list[RebalanceOut]
