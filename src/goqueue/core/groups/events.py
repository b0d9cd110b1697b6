"""Group events. All events of one command are written as one entry and applied in order."""

import msgspec

from goqueue.core.groups.state.lifecycle import Reason
from goqueue.core.groups.state.members import MemberProfile
from goqueue.core.groups.state.placement import ByTopic
from goqueue.model.ids import InstantNs

__all__ = [
    "GenerationStarted",
    "GroupDeleted",
    "GroupEvent",
    "GroupPaused",
    "GroupResumed",
    "MemberJoined",
    "MemberRemoved",
    "MemberReplaced",
    "MemberTold",
    "OffsetsCommitted",
    "OffsetsForgotten",
    "PartitionOffset",
    "RevocationConfirmed",
    "TopicsChanged",
]


class MemberJoined(msgspec.Struct, frozen=True, tag="member_joined"):
    """A new member, or a known one with a new subscription."""

    at: InstantNs
    profile: MemberProfile


class MemberReplaced(msgspec.Struct, frozen=True, tag="member_replaced"):
    """A static member returned under a new id and took over the state of the old id."""

    at: InstantNs
    old_id: str
    profile: MemberProfile


class MemberRemoved(msgspec.Struct, frozen=True, tag="member_removed"):
    at: InstantNs
    member_id: str
    reason: Reason


class TopicsChanged(msgspec.Struct, frozen=True, tag="topics_changed"):
    """The topics that members read, with their partition counts."""

    at: InstantNs
    topics: dict[str, int]


class GenerationStarted(msgspec.Struct, frozen=True, tag="generation_started"):
    """A new target assignment, as its difference from the previous one: replay computes nothing.

    `given` are the partitions with a new target member, by member; `dropped` have no target now.
    """

    at: InstantNs
    generation: int
    reason: Reason
    given: dict[str, ByTopic]
    dropped: ByTopic
    moved: int


class MemberTold(msgspec.Struct, frozen=True, tag="member_told"):
    """The member learns of the generation by the answer to its request; in an eager group it has then returned."""

    at: InstantNs
    member_id: str
    generation: int


class RevocationConfirmed(msgspec.Struct, frozen=True, tag="revocation_confirmed"):
    """The member has stopped reading these partitions."""

    at: InstantNs
    member_id: str
    partitions: ByTopic


class PartitionOffset(msgspec.Struct, frozen=True, array_like=True):
    topic: str
    partition: int
    offset: int
    metadata: str = ""


class OffsetsCommitted(msgspec.Struct, frozen=True, tag="offsets_committed"):
    at: InstantNs
    offsets: tuple[PartitionOffset, ...]


class OffsetsForgotten(msgspec.Struct, frozen=True, tag="offsets_forgotten"):
    """Their topics are gone; a new topic of the same name starts without offsets."""

    at: InstantNs
    partitions: ByTopic


class GroupPaused(msgspec.Struct, frozen=True, tag="group_paused"):
    at: InstantNs
    reason: str = ""
    """Empty when the deletion was requested."""


class GroupResumed(msgspec.Struct, frozen=True, tag="group_resumed"):
    at: InstantNs


class GroupDeleted(msgspec.Struct, frozen=True, tag="group_deleted"):
    at: InstantNs


GroupEvent = (
    MemberJoined
    | MemberReplaced
    | MemberRemoved
    | TopicsChanged
    | GenerationStarted
    | MemberTold
    | RevocationConfirmed
    | OffsetsCommitted
    | OffsetsForgotten
    | GroupPaused
    | GroupResumed
    | GroupDeleted
)
