"""Join decisions: a new member, a returning one, or a static member restarted under a new id."""

from collections.abc import Mapping

from goqueue.core.groups.assignment.assignors import Assignor
from goqueue.core.groups.decisions.regrouping import regroup
from goqueue.core.groups.events import GroupEvent, MemberJoined, MemberReplaced, MemberTold, RevocationConfirmed
from goqueue.core.groups.state.ledger import Ledger
from goqueue.core.groups.state.lifecycle import Reason
from goqueue.core.groups.state.members import MOST_MEMBERS, Member, MemberProfile, Protocol, check_profile
from goqueue.core.groups.state.placement import by_topic
from goqueue.errors import GroupFull, InconsistentProtocol, StateConflict
from goqueue.model.ids import InstantNs

__all__ = ["join", "usual_assignor"]

_USUAL = {Protocol.COOPERATIVE: Assignor.STICKY, Protocol.EAGER: Assignor.RANGE}


def usual_assignor(ledger: Ledger, protocol: Protocol) -> Assignor:
    """The assignor of a member that requests none: the one the others use."""
    used = next((m.profile.assignor for m in ledger.roster if m.profile.protocol is protocol), None)
    return used or _USUAL[protocol]


def join(ledger: Ledger, profile: MemberProfile, available: Mapping[str, int], *, now: InstantNs) -> list[GroupEvent]:
    check_profile(profile)
    predecessor = _predecessor(ledger, profile)
    _check_agreement(ledger, profile, predecessor)
    if predecessor is None:
        return _newcomer(ledger, profile, available, now)
    return _comes_back(ledger, predecessor, profile, available, now)


def _predecessor(ledger: Ledger, profile: MemberProfile) -> Member | None:
    """The member whose place the joining one takes: itself, or the one before it under the same instance id."""
    ledger.roster.check_not_replaced(profile.member_id)
    known = ledger.roster.find(profile.member_id)
    if known is not None and known.profile.instance_id != profile.instance_id:
        raise StateConflict(
            f"{profile.member_id} joined with the instance id {known.profile.instance_id}, not {profile.instance_id}",
            hint="join under a new member id to change the instance id",
        )
    return known or ledger.roster.instance(profile.instance_id)


def _check_agreement(ledger: Ledger, profile: MemberProfile, predecessor: Member | None) -> None:
    other = next((member.profile for member in ledger.roster if member is not predecessor), None)
    if other is None:
        return
    for what, wanted, used in (
        ("protocol", profile.protocol, other.protocol),
        ("assignor", profile.assignor, other.assignor),
    ):
        if wanted != used:
            raise InconsistentProtocol(f"the group {ledger.name} uses the {what} {used}, not {wanted}")


def _newcomer(ledger: Ledger, profile: MemberProfile, available: Mapping[str, int], now: InstantNs) -> list[GroupEvent]:
    if len(ledger.roster) >= MOST_MEMBERS:
        raise GroupFull(f"the group {ledger.name} has {MOST_MEMBERS} members")
    after = {**ledger.roster.profiles(), profile.member_id: profile}
    return [
        MemberJoined(now, profile),
        *regroup(ledger, after, Reason.MEMBER_JOINED, now=now, available=available),
        MemberTold(now, profile.member_id, ledger.lifecycle.generation + 1),
    ]


def _comes_back(
    ledger: Ledger, predecessor: Member, profile: MemberProfile, available: Mapping[str, int], now: InstantNs
) -> list[GroupEvent]:
    """A process that joins reads nothing yet, so partitions its predecessor was asked to give up count as given up."""
    old = predecessor.profile
    renamed = {old.member_id: profile.member_id}
    after = {
        renamed.get(member_id, member_id): profile if member_id == old.member_id else each
        for member_id, each in ledger.roster.profiles().items()
    }
    events: list[GroupEvent] = []
    revoking = ledger.reconciliation.revoking(old.member_id)
    if revoking:
        events.append(RevocationConfirmed(now, old.member_id, by_topic(revoking)))
    if old.member_id != profile.member_id:
        events.append(MemberReplaced(now, old.member_id, profile))
    elif old != profile:
        events.append(MemberJoined(now, profile))
    reason = Reason.SUBSCRIPTION_CHANGED if old.subscription != profile.subscription else None
    regrouped = regroup(ledger, after, reason, now=now, available=available, renamed=renamed)
    generation = ledger.lifecycle.generation + (1 if regrouped else 0)
    events += regrouped
    if predecessor.epoch != generation or old.member_id != profile.member_id:
        events.append(MemberTold(now, profile.member_id, generation))
    return events
