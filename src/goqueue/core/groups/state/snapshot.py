"""Snapshot of a group: exactly the state that its events add up to."""

import msgspec

from goqueue.core.groups.state.lifecycle import GroupState, RebalanceStats
from goqueue.core.groups.state.members import MemberProfile
from goqueue.core.groups.state.placement import ByTopic
from goqueue.core.groups.state.reconciliation import Asked
from goqueue.model.ids import InstantNs

__all__ = ["CommittedOffset", "GroupSnapshot", "KeptOffset", "MemberSnapshot", "Question"]


class CommittedOffset(msgspec.Struct, frozen=True):
    """The next offset that a group reads in a partition."""

    offset: int
    metadata: str
    committed_at: InstantNs


class KeptOffset(msgspec.Struct, frozen=True, array_like=True):
    topic: str
    partition: int
    committed: CommittedOffset


class Question(msgspec.Struct, frozen=True):
    """Partitions that a member was asked to give up at one time."""

    asked: Asked
    partitions: ByTopic


class MemberSnapshot(msgspec.Struct, frozen=True):
    profile: MemberProfile
    epoch: int
    previous_epoch: int
    replaced_id: str | None
    target: ByTopic
    held: ByTopic
    revoking: tuple[Question, ...]
    away: Asked | None


class GroupSnapshot(msgspec.Struct, frozen=True):
    """Members are in member order."""

    name: str
    state: GroupState
    generation: int
    stats: RebalanceStats
    topics: dict[str, int]
    members: tuple[MemberSnapshot, ...]
    offsets: tuple[KeptOffset, ...]
    is_paused: bool
    pause_reason: str = ""
    used_at: InstantNs = InstantNs(0)
    """Time of the last change; 0 when that was before this field existed."""
