"""Lag of groups: how many records each has before it. Lists, pages, metrics and alerts all ask here.

All partitions count of what the group reads: the topics its members subscribe to, or, of a group without members, the
topics in which it has committed or taken anything. A partition that it never touched counts from where it would begin.

A group that reads by offset is behind by the offsets between its position and the end of the log. A group that takes
from the queue is behind by the records that it may take now, tries again later or has leased: those that are settled or
never shown to anyone do not count, and those that are delayed count apart.
"""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from operator import add
from typing import NamedTuple

from pyroaring import BitMap64

from goqueue.core.delivery.delivery import Waiting
from goqueue.core.delivery.packed import seen_in
from goqueue.core.groups.group import Group
from goqueue.core.groups.state.snapshot import CommittedOffset
from goqueue.engine.broker import Broker
from goqueue.engine.partition import Partition
from goqueue.engine.queue.states import QueueState
from goqueue.engine.slices import Pace
from goqueue.engine.visibility import hidden_sets
from goqueue.errors import UnknownTopic
from goqueue.model.ids import InstantNs
from goqueue.model.log import LogId
from goqueue.model.priority import LANES, NORMAL
from goqueue.model.topic import TopicName

__all__ = ["NO_LAG", "GroupLags", "LagCount", "PartitionReach", "TopicLag", "topics_of"]


class LagCount(NamedTuple):
    """Of one group, in a partition, in a topic or in all of them."""

    lag: int
    delayed: int
    """Records of a queue that are not due yet; they are no part of the lag."""


NO_LAG = LagCount(0, 0)
STEPS_OF_REACH = 3


class PartitionReach(NamedTuple):
    """From where to where the records of a partition go: the same for every group."""

    partition: Partition
    log: LogId
    start: int
    end: int
    stable: int
    delayed: BitMap64
    never: BitMap64
    """These are delayed, and never shown. Not copies."""

    @classmethod
    def of(cls, partition: Partition) -> "PartitionReach":
        start, end = partition.log.start_offset, partition.high_watermark
        return cls(partition, partition.id, start, end, partition.stable_offset, *hidden_sets(partition))

    def of_reader(self, committed: int | None) -> LagCount:
        """Of a group that reads by offset."""
        return LagCount(max(0, self.end - max(committed or 0, self.start)), 0)

    def of_queue(self, state: QueueState | None, committed: int | None) -> LagCount:
        """Of a group that takes from the queue, and will begin at the committed offset if it has not begun."""
        if state is None or not state.delivery.is_open:
            return self._of_new(committed)
        delivery, end = state.delivery, self.stable
        left = delivery.unsettled(end, self.start)
        if not left:
            return NO_LAG
        delayed = delivery.unsettled_of(self.delayed, end, self.start) if self.delayed else 0
        never = delivery.unsettled_of(self.never, end, self.start) if self.never else 0
        return LagCount(max(0, left - delayed - never), delayed)

    def _of_new(self, committed: int | None) -> LagCount:
        first = max(committed or 0, self.start)
        delayed = self.delayed.range_cardinality(first, self.stable) if self.delayed and first < self.stable else 0
        return LagCount(seen_in(first, self.stable, self.hidden).number, delayed)

    @property
    def hidden(self) -> tuple[BitMap64, ...]:
        """The sets that are not empty."""
        return tuple([some for some in (self.delayed, self.never) if some])

    def waiting(self, state: QueueState | None, committed: int | None, now: InstantNs) -> Waiting:
        """What a group may take from the queue at once."""
        if state is not None and state.delivery.is_open:
            return state.delivery.waiting(self.stable, now=now, start=self.start, hidden=self.hidden)
        first, lanes = max(committed or 0, self.start), self.partition.lanes
        seen = seen_in(first, self.stable, self.hidden)
        if lanes:
            return Waiting(list(lanes.counts(first, self.stable)), seen.first)
        ready = [0] * LANES
        ready[NORMAL] = seen.number
        return Waiting(ready, seen.first)


class _TopicReach:
    """All partitions of a topic, and the lag of a group that has touched none of them."""

    __slots__ = ("parts", "queued", "queued_of", "unread")

    def __init__(self) -> None:
        self.parts: list[PartitionReach] = []
        self.unread = NO_LAG
        """Of a group that reads by offset."""
        self.queued = NO_LAG
        """Of a group that takes from the queue, and of each partition."""
        self.queued_of: list[LagCount] = []

    def add(self, part: PartitionReach) -> None:
        self.parts.append(part)
        queued = part.of_queue(None, None)
        self.queued_of.append(queued)
        self.unread = _plus(self.unread, part.of_reader(None))
        self.queued = _plus(self.queued, queued)


class TopicLag:
    """One group in one topic."""

    __slots__ = ("_offsets", "_reach", "group", "is_queue", "states", "topic")

    def __init__(
        self,
        group: str,
        topic: str,
        reach: _TopicReach,
        states: Mapping[int, QueueState],
        offsets: Mapping[int, CommittedOffset],
    ) -> None:
        self.group = group
        self.topic = topic
        self._reach = reach
        self.states = states
        """By the numbers of partitions."""
        self._offsets = offsets
        self.is_queue = bool(states)
        """Whether the group takes from the queue here."""

    @property
    def parts(self) -> list[PartitionReach]:
        return self._reach.parts

    def committed(self, part: PartitionReach) -> int | None:
        """Where the group goes on; where it takes records from the queue, everything before is settled."""
        state = self.states.get(part.log.partition)
        if state is not None and state.delivery.is_open:
            return state.delivery.floor
        kept = self._offsets.get(part.log.partition)
        return None if kept is None else kept.offset

    def of(self, part: PartitionReach) -> LagCount:
        committed = self.committed(part)
        if self.is_queue:
            return part.of_queue(self.states.get(part.log.partition), committed)
        return part.of_reader(committed)

    def ready(self, now: InstantNs) -> list[int]:
        """Of a queue: how many records of each lane may be taken at once."""
        counts = [0] * LANES
        for part in self.parts:
            waiting = part.waiting(self.states.get(part.log.partition), self.committed(part), now)
            counts = [*map(add, counts, waiting.ready)]
        return counts

    def heads(self, now: InstantNs) -> Iterator[tuple[Partition, int]]:
        """The first record that waits in each partition where one does."""
        for part in self.parts:
            committed = self.committed(part)
            first: int | None = max(committed or 0, part.start)
            if self.is_queue:
                first = part.waiting(self.states.get(part.log.partition), committed, now).first
            if first is not None and first < part.end:
                yield part.partition, first

    def touched(self) -> Iterator[PartitionReach]:
        """The partitions in which the group has committed or taken anything."""
        parts = self._reach.parts
        return (parts[number] for number in {**self.states, **self._offsets} if number < len(parts))

    def total(self) -> LagCount:
        """Over all partitions, in a time that does not depend on how many of them the group has never touched."""
        reach = self._reach
        lag, delayed = reach.queued if self.is_queue else reach.unread
        for part in self.touched():
            mine = self.of(part)
            new = reach.queued_of[part.log.partition] if self.is_queue else part.of_reader(None)
            lag += mine.lag - new.lag
            delayed += mine.delayed - new.delayed
        return LagCount(max(0, lag), max(0, delayed))


class GroupLags:
    """The lag of many groups, looked at in one go: how far logs reach is looked up once for each topic."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._reaches: dict[str, _TopicReach] = {}

    def of(self, group: Group) -> Iterator[TopicLag]:
        """Of each topic that counts for the group, by name."""
        places = _places(self._broker, group)
        for topic in sorted(places):
            reach = self._reaches.get(topic)
            if reach is None:
                reach = self._reaches[topic] = _TopicReach()
                for partition in self._partitions(topic):
                    reach.add(PartitionReach.of(partition))
            if reach.parts:
                yield TopicLag(group.name, topic, reach, *places[topic])

    async def paced(self, group: Group, pace: Pace) -> AsyncIterator[TopicLag]:
        """As `of`, in any order and with pauses: a group may read very many partitions."""
        places = _places(self._broker, group)
        for topic, (states, offsets) in places.items():
            reach = self._reaches.get(topic)
            if reach is None:
                reach = _TopicReach()
                for partition in self._partitions(topic):
                    reach.add(PartitionReach.of(partition))
                    await pace.did(STEPS_OF_REACH)
                self._reaches[topic] = reach
            if reach.parts:
                yield TopicLag(group.name, topic, reach, states, offsets)
            await pace.did(1 + len(states) + len(offsets))

    async def paced_total(self, group: Group, pace: Pace) -> LagCount:
        return _sum([one.total() async for one in self.paced(group, pace)])

    def _partitions(self, topic: str) -> tuple[Partition, ...]:
        """None of a topic that was deleted."""
        try:
            return self._broker.partitions(TopicName(topic))
        except UnknownTopic:
            return ()


def topics_of(broker: Broker, group: Group) -> list[str]:
    """The topics that count for a group, without those that were deleted."""
    return [topic for topic in _places(broker, group) if topic in broker.catalog]


_Place = tuple[dict[int, QueueState], dict[int, CommittedOffset]]


def _places(broker: Broker, group: Group) -> dict[str, _Place]:
    """The topics that count, with what the group has done in each."""
    places: dict[str, _Place] = {topic: ({}, {}) for topic in group.topics}
    is_subscribed = group.member_count > 0
    for state in broker.queues.of_group(group.name):
        topic, number = state.log
        if not is_subscribed or topic in places:
            places.setdefault(topic, ({}, {}))[0][number] = state
    for (topic, number), committed in group.offsets.items():
        if not is_subscribed or topic in places:
            places.setdefault(topic, ({}, {}))[1][number] = committed
    return places


def _sum(counts: Iterable[LagCount]) -> LagCount:
    total = NO_LAG
    for one in counts:
        total = _plus(total, one)
    return total


def _plus(one: LagCount, other: LagCount) -> LagCount:
    return LagCount(one.lag + other.lag, one.delayed + other.delayed)
