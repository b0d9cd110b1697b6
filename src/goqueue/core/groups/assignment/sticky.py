"""Sticky assignor: the most even possible loads, reached with as few moves as possible.

Members keep their partitions, free ones go to the least loaded member, and then partitions are passed on from heavily
to lightly loaded members, if necessary through members in between: where A reads x, B reads x and y, C reads y, A
relieves itself by giving B an x while B gives C a y. Passing goes on until no member can pass a partition to one with
at least two fewer, directly or through others. That is the condition for an optimal semi-matching (Harvey, Ladner,
Lovász, Tamir 2006): no other assignment has a smaller maximum, nor a smaller sum of squares.

For equal subscriptions the number of partitions taken from a member that could have kept them is minimal.
"""

import heapq
from collections.abc import Mapping, Sequence

from goqueue.model.log import LogId

__all__ = ["assign_sticky"]


def assign_sticky(
    subscriptions: Mapping[str, Sequence[str]], topics: Mapping[str, int], previous: Mapping[LogId, str]
) -> dict[LogId, str]:
    table = _Table(subscriptions, topics)
    table.share_out(table.keep(previous))
    table.even_out()
    return table.assigned()


class _Table:
    """Members with their partitions, as a stack per topic: last in, first out."""

    def __init__(self, subscriptions: Mapping[str, Sequence[str]], topics: Mapping[str, int]) -> None:
        self._topics = topics
        self._rank = {member: number for number, member in enumerate(subscriptions)}
        self._holdings: dict[str, dict[str, list[int]]] = {member: {} for member in subscriptions}
        self._load = dict.fromkeys(subscriptions, 0)
        # Members with the same topics are interchangeable; examining each kind once keeps a large group fast.
        kinds: dict[tuple[str, ...], list[str]] = {}
        for member, wanted in subscriptions.items():
            kinds.setdefault(tuple(wanted), []).append(member)
        self._kinds = list(kinds.values())
        self._kinds_of: dict[str, list[int]] = {topic: [] for topic in topics}
        for number, wanted_topics in enumerate(kinds):
            for topic in set(wanted_topics) & topics.keys():
                self._kinds_of[topic].append(number)
        self._kind_of = {member: number for number, members in enumerate(self._kinds) for member in members}

    def assigned(self) -> dict[LogId, str]:
        return {
            LogId(topic, number): member
            for member, holding in self._holdings.items()
            for topic, numbers in holding.items()
            for number in numbers
        }

    def keep(self, previous: Mapping[LogId, str]) -> dict[str, list[int]]:
        """Keep every partition where it was, as far as possible; returns the remaining ones."""
        free: dict[str, list[int]] = {}
        for topic in sorted(self._topics):
            takers = {member for kind in self._kinds_of[topic] for member in self._kinds[kind]}
            if not takers:
                continue
            for number in range(self._topics[topic]):
                member = previous.get(LogId(topic, number))
                if member in takers:
                    self._give(member, topic, number)
                else:
                    free.setdefault(topic, []).append(number)
        return free

    def share_out(self, free: Mapping[str, Sequence[int]]) -> None:
        """Give each partition to the least loaded subscriber; topics with few subscribers first."""
        heaps = [[(self._load[member], self._rank[member], member) for member in members] for members in self._kinds]
        for heap in heaps:
            heapq.heapify(heap)
        for topic in sorted(free, key=lambda topic: (sum(len(heaps[kind]) for kind in self._kinds_of[topic]), topic)):
            takers = [heaps[kind] for kind in self._kinds_of[topic]]
            for number in free[topic]:
                heap = min(takers) if len(takers) > 1 else takers[0]
                load, rank, member = heap[0]
                heapq.heapreplace(heap, (load + 1, rank, member))
                self._give(member, topic, number)

    def even_out(self) -> None:
        """From the most loaded member down; one that is stuck stays so, and so do those it could pass to."""
        settled: set[str] = set()
        least = min(self._load.values(), default=0)
        heap = [(-load, self._rank[member], member) for member, load in self._load.items()]
        heapq.heapify(heap)
        while heap:
            negative, rank, member = heapq.heappop(heap)
            if member in settled or -negative != self._load[member]:
                continue
            if self._load[member] <= least + 1:
                return
            path = self._way_down(member, settled)
            if not path:
                continue
            for giver, topic, taker in path:
                self._pass_on(giver, topic, taker)
            taker = path[-1][2]
            heapq.heappush(heap, (-self._load[member], rank, member))
            heapq.heappush(heap, (-self._load[taker], self._rank[taker], taker))

    def _way_down(self, start: str, settled: set[str]) -> list[tuple[str, str, str]]:
        """Passes that give one more to a member with at least two fewer; without any, all members reached settle."""
        low = self._load[start] - 2
        came_from: dict[str, tuple[str, str]] = {}
        seen_topics: set[str] = set()
        seen_kinds: set[int] = set()
        waiting = [start]
        for giver in waiting:
            for topic in [topic for topic in self._holdings[giver] if topic not in seen_topics]:
                seen_topics.add(topic)
                kinds = [kind for kind in self._kinds_of[topic] if kind not in seen_kinds]
                seen_kinds.update(kinds)
                for taker in (member for kind in kinds for member in self._kinds[kind] if member not in settled):
                    if taker == start:
                        continue
                    came_from[taker] = (giver, topic)
                    waiting.append(taker)
                    if self._load[taker] <= low:
                        return self._steps(start, taker, came_from)
        settled.update(waiting)
        return []

    @staticmethod
    def _steps(start: str, end: str, came_from: Mapping[str, tuple[str, str]]) -> list[tuple[str, str, str]]:
        steps = []
        while end != start:
            giver, topic = came_from[end]
            steps.append((giver, topic, end))
            end = giver
        return steps[::-1]

    def _give(self, member: str, topic: str, number: int) -> None:
        self._holdings[member].setdefault(topic, []).append(number)
        self._load[member] += 1

    def _pass_on(self, giver: str, topic: str, taker: str) -> None:
        numbers = self._holdings[giver][topic]
        self._give(taker, topic, numbers.pop())
        self._load[giver] -= 1
        if not numbers:
            del self._holdings[giver][topic]
