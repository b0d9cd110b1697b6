"""Rebalance decisions: when a generation begins, and its assignment."""

from collections.abc import Iterable, Mapping

from goqueue.core.groups.assignment.planning import Wish, plan, subscribe
from goqueue.core.groups.events import GenerationStarted, GroupEvent, TopicsChanged
from goqueue.core.groups.state.ledger import Ledger
from goqueue.core.groups.state.lifecycle import Reason
from goqueue.core.groups.state.members import MemberProfile
from goqueue.core.groups.state.placement import by_topic
from goqueue.model.ids import InstantNs
from goqueue.model.log import LogId

__all__ = ["regroup"]


def regroup(
    ledger: Ledger,
    after: Mapping[str, MemberProfile],
    reason: Reason | None,
    *,
    now: InstantNs,
    available: Mapping[str, int] | None = None,
    renamed: Mapping[str, str] | None = None,
) -> list[GroupEvent]:
    """The events that follow those that make `after` the members. Without a `reason`, only changed topics can be one.

    `available` are all existing topics; left out, they are unchanged. `renamed` are old ids of members still here.
    """
    wishes = {member_id: Wish(profile.topics, profile.pattern) for member_id, profile in after.items()}
    topics_there = ledger.topics if available is None else available
    subscriptions = subscribe(wishes, topics_there)
    read = set().union(*set(subscriptions.values()))
    topics = {topic: topics_there[topic] for topic in sorted(read)}
    events: list[GroupEvent] = []
    if topics != ledger.topics:
        reason = reason or Reason.TOPICS_CHANGED
        events.append(TopicsChanged(now, topics))
    if reason is not None:
        events.append(_generation(ledger, after, subscriptions, topics, reason, renamed or {}, now))
    return events


def _generation(
    ledger: Ledger,
    after: Mapping[str, MemberProfile],
    subscriptions: Mapping[str, tuple[str, ...]],
    topics: Mapping[str, int],
    reason: Reason,
    renamed: Mapping[str, str],
    now: InstantNs,
) -> GenerationStarted:
    generation = ledger.lifecycle.generation + 1
    if not after:
        return GenerationStarted(now, generation, reason, {}, {}, 0)

    def remaining(placement: Mapping[LogId, str]) -> dict[LogId, str]:
        named = ((partition, renamed.get(member_id, member_id)) for partition, member_id in placement.items())
        return {partition: member_id for partition, member_id in named if member_id in after}

    before = ledger.reconciliation.target.members
    assignor = next(iter(after.values())).assignor
    held = remaining(ledger.reconciliation.held.members)
    decided = plan(assignor, subscriptions, topics, remaining(before), held)
    return GenerationStarted(
        at=now,
        generation=generation,
        reason=reason,
        given={member_id: by_topic(share) for member_id, share in _by_member(decided.given.items())},
        dropped=by_topic(decided.dropped),
        moved=sum(partition in before for partition in decided.given),
    )


def _by_member(placed: Iterable[tuple[LogId, str]]) -> Iterable[tuple[str, list[LogId]]]:
    shares: dict[str, list[LogId]] = {}
    for partition, member_id in placed:
        shares.setdefault(member_id, []).append(partition)
    return sorted(shares.items())
