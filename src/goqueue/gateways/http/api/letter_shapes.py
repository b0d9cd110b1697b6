"""What is asked and answered about dead letters, as JSON."""

from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from goqueue.engine.cursors import CURSOR_PATTERN
from goqueue.gateways.http.api.params import TopicText
from goqueue.gateways.http.api.reading import Limit, MessageOut, OffsetNumber
from goqueue.gateways.http.forms.times import InstantText
from goqueue.gateways.http.forms.values import Base64Text, Form, Headers
from goqueue.gateways.http.rules import AtMostOne, ExactlyOne, Ruled
from goqueue.model.topic import MOST_PARTITIONS

__all__ = [
    "DeadLetterOut",
    "EditBody",
    "Failure",
    "GroupReliability",
    "LetterList",
    "LetterParams",
    "LetterQuery",
    "LetterStatsOut",
    "Moved",
    "NotMoved",
    "Origin",
    "PlaceBody",
    "PurgeBody",
    "Purged",
    "RedriveBody",
    "Redriven",
    "ReliabilityOut",
    "SelectBody",
    "ShowQuery",
]

MOST_PLACES = 10_000
MOST_AT_ONCE = 100_000
FASTEST = 1_000_000

PartitionNumber = Annotated[int, Meta(ge=0, lt=MOST_PARTITIONS)]
ReasonText = Annotated[str, Meta(max_length=1000, description="part of the reason, in upper or lower case")]
CauseText = Annotated[
    str, Meta(max_length=200, description="rejected, failed too often, or expired", examples=["rejected"])
]
GroupName = Annotated[str, Meta(max_length=249, description="the group that could not process them")]
Cursor = Annotated[
    str, Meta(description="next_cursor of the answer before", extra_json_schema={"pattern": CURSOR_PATTERN})
]


ONE_KEY = AtMostOne("key", "key_base64")


class LetterParams(msgspec.Struct, frozen=True):
    topic: TopicText
    partition: PartitionNumber
    offset: OffsetNumber


class LetterQuery(Ruled, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The times are those at which they died: `from` is included, `to` is not."""

    reason: ReasonText | UnsetType = UNSET
    cause: CauseText | UnsetType = UNSET
    key: str | UnsetType = UNSET
    key_base64: Annotated[Base64Text, Meta(description="a key that is not text")] | UnsetType = UNSET
    group: GroupName | UnsetType = UNSET
    from_: InstantText | UnsetType = msgspec.field(name="from", default=UNSET)
    to: InstantText | UnsetType = UNSET
    limit: Limit = 100
    cursor: Cursor | UnsetType = UNSET
    format: Form | UnsetType = UNSET

    RULES = (ONE_KEY,)


class ShowQuery(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    format: Form | UnsetType = UNSET


class Origin(msgspec.Struct, frozen=True):
    """Where the record was, and when it was published."""

    topic: str
    partition: int
    offset: int
    timestamp: str
    group: str


class Failure(msgspec.Struct, frozen=True):
    """One failure of a record."""

    at: str
    reason: str


class DeadLetterOut(MessageOut, frozen=True, kw_only=True):
    """A dead letter: its own place and time, the record as it was, and why it is here.

    What is null is not known: somebody else has put the record there.
    """

    origin: Origin | None
    cause: str | None
    reason: str | None
    delivery_count: int | None
    failure_count: int | None
    history: list[Failure]


class LetterList(msgspec.Struct, frozen=True):
    """The end is where there is no cursor; a page before it may be empty, when what was looked at did not match."""

    dlq_topic: str
    messages: list[DeadLetterOut]
    next_cursor: str | None


class LetterStatsOut(msgspec.Struct, frozen=True):
    """Of those that were not sent back or purged."""

    dlq_topic: str
    count: int
    by_cause: dict[str, int]
    by_reason: dict[str, int]
    by_group: dict[str, int]
    oldest: str | None
    newest: str | None


class PlaceBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A dead letter by partition and offset."""

    partition: PartitionNumber
    offset: OffsetNumber


class SelectBody(Ruled, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Everything, or what fits all that is said."""

    all: bool = False
    offsets: Annotated[list[PlaceBody], Meta(min_length=1, max_length=MOST_PLACES)] | UnsetType = UNSET
    reason: ReasonText | UnsetType = UNSET
    cause: CauseText | UnsetType = UNSET
    key: str | UnsetType = UNSET
    key_base64: Base64Text | UnsetType = UNSET
    group: GroupName | UnsetType = UNSET
    from_: InstantText | UnsetType = msgspec.field(name="from", default=UNSET)
    to: InstantText | UnsetType = UNSET

    RULES = (
        ExactlyOne("all", ("offsets", "reason", "cause", "key", "key_base64", "group", "from", "to")),
        ONE_KEY,
    )


class EditBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is left out stays as it was. `headers` are all that there will be; `topic` is where they go instead."""

    value: msgspec.Raw | UnsetType = UNSET
    key: msgspec.Raw | UnsetType = UNSET
    headers: Headers | UnsetType = UNSET
    topic: TopicText | UnsetType = UNSET


class RedriveBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """`rate` is in records per second. With `dry_run` nothing changes."""

    select: SelectBody
    edit: EditBody = EditBody()
    rate: Annotated[float, Meta(gt=0, le=FASTEST)] | None = None
    dry_run: bool = False
    limit: Annotated[int, Meta(ge=1, le=MOST_AT_ONCE)] = 10_000
    cursor: Cursor | UnsetType = UNSET


class PurgeBody(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The dead letters to delete for good."""

    select: SelectBody
    dry_run: bool = False
    limit: Annotated[int, Meta(ge=1, le=MOST_AT_ONCE)] = MOST_AT_ONCE
    cursor: Cursor | UnsetType = UNSET


class Moved(msgspec.Struct, frozen=True):
    """A dead letter by partition and offset, and the record it became; in a dry run nobody knows its offset yet."""

    partition: int
    offset: int
    topic: str
    target_partition: int
    target_offset: int | None


class NotMoved(msgspec.Struct, frozen=True, rename={"text": "error"}):
    """A dead letter that could not be sent back, and why."""

    partition: int
    offset: int
    text: str
    code: str


class Purged(msgspec.Struct, frozen=True, kw_only=True):
    """`missing` of the offsets that were named have no dead letter any more. With a cursor there is more to do.

    `stopped` says why the broker could not go on.
    """

    dlq_topic: str
    dry_run: bool
    matched: int
    purged: int
    missing: int
    stopped: str | None
    next_cursor: str | None


class Redriven(msgspec.Struct, frozen=True, kw_only=True):
    """Of moves and failures the first 1000 are named. Those that failed are still dead letters."""

    dlq_topic: str
    dry_run: bool
    matched: int
    redriven: int
    failed: int
    missing: int
    stopped: str | None
    moves: list[Moved]
    failures: list[NotMoved]
    next_cursor: str | None


class GroupReliability(msgspec.Struct, frozen=True):
    """What is under way now; the counts from `acked` to `dead_lettered` are since the broker started.

    `lag` are the records that are ready, leased, deferred or waiting for a retry; those not due yet are `delayed`.
    `workers` are those of the group in all of its topics.
    """

    group: str
    topic: str
    in_flight: int
    waiting_for_retry: int
    deferred: int
    acked: int
    nacked: int
    rejected: int
    expired: int
    dead_lettered: int
    ready: int
    lag: int
    delayed: int
    workers: int


class ReliabilityOut(msgspec.Struct, frozen=True):
    """Deliveries by group and topic."""

    groups: list[GroupReliability]
