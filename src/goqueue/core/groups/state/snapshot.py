"""A group written down whole: everything that events add up to, and nothing else."""

import msgspec

from goqueue.core.groups.state.lifecycle import GroupState, RebalanceStats
from goqueue.core.groups.state.members import MemberProfile
from goqueue.core.groups.state.placement import ByTopic
from goqueue.core.groups.state.reconciliation import Asked
from goqueue.model.ids import InstantNs

__all__ = ["CommittedOffset", "GroupSnapshot", "KeptOffset", "MemberSnapshot", "Question"]


class CommittedOffset(msgspec.Struct, frozen=True):
    """Where a group goes on reading a partition."""

    offset: int
    metadata: str
    committed_at: InstantNs


class KeptOffset(msgspec.Struct, frozen=True, array_like=True):
    topic: str
    partition: int
    committed: CommittedOffset


class Question(msgspec.Struct, frozen=True):
    """Partitions that a member was asked for at one time."""

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
    """Members in their order."""

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
    """When something of it changed last; 0 when that was before this was kept."""
