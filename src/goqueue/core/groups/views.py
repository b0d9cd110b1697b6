"""Views of a group for members and operators."""

import msgspec

from goqueue.core.groups.assignment.assignors import Assignor
from goqueue.core.groups.sessions import Sessions
from goqueue.core.groups.state.ledger import Ledger
from goqueue.core.groups.state.lifecycle import GroupState, RebalanceStats
from goqueue.core.groups.state.members import Member, MemberProfile, Protocol
from goqueue.model.ids import InstantNs
from goqueue.model.log import LogId

__all__ = ["Assignment", "GroupView", "MemberView", "assignment_of", "describe"]


class Assignment(msgspec.Struct, frozen=True):
    """The answer to a member: read all of `partitions`; stop reading `revoking`, commit, and confirm."""

    member_id: str
    generation: int
    state: GroupState
    partitions: tuple[LogId, ...]
    revoking: tuple[LogId, ...]


class MemberView(msgspec.Struct, frozen=True):
    """A member as an operator sees it."""

    profile: MemberProfile
    epoch: int
    """The last generation sent to it."""
    partitions: tuple[LogId, ...]
    revoking: tuple[LogId, ...]
    """Partitions it was asked to give up and still has."""
    promised: tuple[LogId, ...]
    """Partitions it gets as soon as others have given them up, or are back."""
    last_seen: InstantNs


class GroupView(msgspec.Struct, frozen=True):
    """A group as an operator sees it; `topics` with their partition counts."""

    name: str
    state: GroupState
    generation: int
    protocol: Protocol | None
    assignor: Assignor | None
    leader_id: str | None
    """The oldest member. It has no duties: the broker assigns."""
    topics: dict[str, int]
    members: tuple[MemberView, ...]
    awaited: tuple[str, ...]
    """The members whose answer is missing for the group to be stable."""
    is_paused: bool
    stats: RebalanceStats
    pause_reason: str = ""


def assignment_of(ledger: Ledger, member_id: str) -> Assignment:
    ledger.roster.member(member_id)
    return Assignment(
        member_id=member_id,
        generation=ledger.lifecycle.generation,
        state=ledger.lifecycle.state,
        partitions=tuple(sorted(ledger.reconciliation.readable(member_id))),
        revoking=tuple(sorted(ledger.reconciliation.revoking(member_id))),
    )


def describe(ledger: Ledger, sessions: Sessions) -> GroupView:
    first = next((member.profile for member in ledger.roster), None)
    return GroupView(
        name=ledger.name,
        state=ledger.lifecycle.state,
        generation=ledger.lifecycle.generation,
        protocol=first.protocol if first else None,
        assignor=first.assignor if first else None,
        leader_id=first.member_id if first else None,
        topics=dict(ledger.topics),
        members=tuple(_describe_member(ledger, sessions, member) for member in ledger.roster),
        awaited=tuple(sorted(ledger.reconciliation.awaited)),
        is_paused=ledger.is_paused,
        stats=ledger.lifecycle.stats,
        pause_reason=ledger.pause_reason,
    )


def _describe_member(ledger: Ledger, sessions: Sessions, member: Member) -> MemberView:
    member_id = member.profile.member_id
    reconciliation = ledger.reconciliation
    return MemberView(
        profile=member.profile,
        epoch=member.epoch,
        partitions=tuple(sorted(reconciliation.readable(member_id))),
        revoking=tuple(sorted(reconciliation.revoking(member_id))),
        promised=tuple(sorted(reconciliation.target.of(member_id) - reconciliation.held.of(member_id))),
        last_seen=sessions.last_seen(member_id),
    )
