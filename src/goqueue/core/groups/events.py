"""What can happen to a group. All events of one command belong together: written as one entry, applied in order."""

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
    """A new member, or a known one that now asks for something else."""

    at: InstantNs
    profile: MemberProfile


class MemberReplaced(msgspec.Struct, frozen=True, tag="member_replaced"):
    """A static member came back under a new id and took over what the old id had."""

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
    """A new target assignment, as its difference from the one before: replay computes nothing anew.

    `given` are the partitions meant for another member than before, by member; `dropped` are meant for nobody now.
    """

    at: InstantNs
    generation: int
    reason: Reason
    given: dict[str, ByTopic]
    dropped: ByTopic
    moved: int


class MemberTold(msgspec.Struct, frozen=True, tag="member_told"):
    """The member learns of the generation by the answer to its request; in an eager group it is back with that."""

    at: InstantNs
    member_id: str
    generation: int


class RevocationConfirmed(msgspec.Struct, frozen=True, tag="revocation_confirmed"):
    """The member reads these partitions no more."""

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
    """Their topics are gone; a new topic of the same name starts from nothing."""

    at: InstantNs
    partitions: ByTopic


class GroupPaused(msgspec.Struct, frozen=True, tag="group_paused"):
    at: InstantNs
    reason: str = ""
    """Empty when somebody asked for it."""


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
