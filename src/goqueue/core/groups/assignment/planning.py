"""Assignment plan: the next target assignment, as its difference from the current one."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from goqueue.core.groups.assignment.assignors import ASSIGNORS, Assignor
from goqueue.core.groups.assignment.pattern import topic_pattern
from goqueue.model.log import LogId

__all__ = ["Plan", "Wish", "plan", "subscribe"]

INTERNAL = "__"


class Wish(NamedTuple):
    """Subscription of a member: topics by name, and a pattern."""

    topics: tuple[str, ...]
    pattern: str | None


class Plan(NamedTuple):
    """`given`: the new member of each partition that changes; `dropped`: partitions no longer assigned."""

    given: dict[LogId, str]
    dropped: list[LogId]


def subscribe(wishes: Mapping[str, Wish], available: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """The topics of each member, of those that exist. A pattern never matches internal topics."""
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
    """A partition without a target that is still held stays with its holder: nothing has to move."""
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
