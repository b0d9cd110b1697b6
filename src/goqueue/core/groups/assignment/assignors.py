"""Assignors: pure functions from subscriptions, partition counts and the previous assignment to the next one.

Every assignor gives each partition of a subscribed topic to exactly one of the topic's subscribers. When all members
subscribe to the same topics, their loads differ by at most one partition. With differing subscriptions the same holds
among the subscribers of each single topic for range and round robin; sticky gives the most even possible loads. Ties
are decided by member order: equal input gives equal output.
"""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum

from goqueue.core.groups.assignment.sticky import assign_sticky
from goqueue.model.log import LogId

__all__ = ["ASSIGNORS", "Assign", "Assignor", "assign_range", "assign_round_robin", "assign_sticky"]

Assign = Callable[[Mapping[str, Sequence[str]], Mapping[str, int], Mapping[LogId, str]], dict[LogId, str]]
"""From the topics of each member, the partition counts of topics and the previous assignment."""


class Assignor(StrEnum):
    """Assignment strategies."""

    STICKY = "sticky"
    """Balanced, with as few moves as possible."""
    RANGE = "range"
    """Each member a contiguous range of each topic."""
    ROUND_ROBIN = "round_robin"
    """Dealt in turn, over all topics."""


def assign_range(
    subscriptions: Mapping[str, Sequence[str]], topics: Mapping[str, int], _previous: Mapping[LogId, str]
) -> dict[LogId, str]:
    """Ranges; partitions that do not divide evenly go to the members with the fewest so far.

    So the leftovers of many topics do not accumulate at the first member. The price: equal partition numbers of two
    topics are certain to meet in one member only where the members divide the partitions evenly.
    """
    assigned: dict[LogId, str] = {}
    load = dict.fromkeys(subscriptions, 0)
    for topic, members in _subscribers(subscriptions, topics).items():
        size, leftover = divmod(topics[topic], len(members))
        favoured = set(sorted(members, key=load.__getitem__)[:leftover])
        number = 0
        for member in members:
            stop = number + size + (member in favoured)
            load[member] += stop - number
            assigned.update((LogId(topic, each), member) for each in range(number, stop))
            number = stop
    return assigned


def assign_round_robin(
    subscriptions: Mapping[str, Sequence[str]], topics: Mapping[str, int], _previous: Mapping[LogId, str]
) -> dict[LogId, str]:
    """One partition to each member in turn, skipping those that do not subscribe to the topic."""
    assigned: dict[LogId, str] = {}
    rank = {member: number for number, member in enumerate(subscriptions)}
    turn = 0
    for topic, members in _subscribers(subscriptions, topics).items():
        at = bisect_left(members, turn, key=rank.__getitem__)
        for number in range(topics[topic]):
            member = members[at % len(members)]
            assigned[LogId(topic, number)] = member
            turn = rank[member] + 1
            at += 1
    return assigned


ASSIGNORS: Mapping[Assignor, Assign] = {
    Assignor.STICKY: assign_sticky,
    Assignor.RANGE: assign_range,
    Assignor.ROUND_ROBIN: assign_round_robin,
}


def _subscribers(subscriptions: Mapping[str, Sequence[str]], topics: Mapping[str, int]) -> dict[str, list[str]]:
    """The members of each subscribed topic in member order, topics by name."""
    found: dict[str, list[str]] = {topic: [] for topic in sorted(topics)}
    for member, wanted in subscriptions.items():
        for topic in wanted:
            if topic in found:
                found[topic].append(member)
    return {topic: members for topic, members in found.items() if members}
