"""A new target assignment from what members ask for, as its difference from the one before."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from goqueue.core.groups.assignment.assignors import ASSIGNORS, Assignor
from goqueue.core.groups.assignment.pattern import topic_pattern
from goqueue.model.log import LogId

__all__ = ["Plan", "Wish", "plan", "subscribe"]

INTERNAL = "__"


class Wish(NamedTuple):
    """What a member wants to read: topics by name, and those that a pattern matches."""

    topics: tuple[str, ...]
    pattern: str | None


class Plan(NamedTuple):
    """`given`: the new member of each partition that changes; `dropped`: those that nobody reads any more."""

    given: dict[LogId, str]
    dropped: list[LogId]


def subscribe(wishes: Mapping[str, Wish], available: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The topics of each member among those there are. A pattern never matches internal topics."""
    names = sorted(available)
    found: dict[Wish, tuple[str, ...]] = {}
    for wish in wishes.values():
        if wish not in found:
            found[wish] = tuple(_matching(wish, names))
    return {member_id: found[wish] for member_id, wish in wishes.items()}


def plan(
    assignor: Assignor,
    subscriptions: Mapping[str, tuple[str, ...]],
    topics: Mapping[str, int],
    target: Mapping[LogId, str],
    held: Mapping[LogId, str],
) -> Plan:
    """What is meant for nobody now but still with someone is best left there: nothing has to move."""
    previous = {**held, **target}
    assigned = ASSIGNORS[assignor](subscriptions, topics, previous)
    return Plan(
        {partition: member_id for partition, member_id in assigned.items() if target.get(partition) != member_id},
        [partition for partition in target if partition not in assigned],
    )


def _matching(wish: Wish, names: list[str]) -> Iterable[str]:
    wanted = set(wish.topics)
    matches = topic_pattern(wish.pattern).matches if wish.pattern is not None else None
    for name in names:
        if name in wanted or (matches and not name.startswith(INTERNAL) and matches(name)):
            yield name
