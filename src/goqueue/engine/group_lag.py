"""Lag of groups: the number of records that each group has still to process, for lists, pages, metrics and alerts.

Lag covers all partitions that a group reads: the topics of its members' subscriptions or, without members, the topics
in which it has committed or taken records. In a partition that it never touched, lag counts from where it would begin.

For a group that reads by offset, lag is the distance from its position to the end of the log. For a group that polls
the queue, lag is the number of records that are ready, leased or waiting for a retry. Records that are settled or never
shown do not count; delayed records are counted separately.
"""

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
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

__all__ = ["GroupLags", "LagCount", "PartitionReach", "TopicLag", "topics_of"]


class LagCount(NamedTuple):
    """Lag of one group, in a partition, in a topic or in all topics."""

    lag: int
    delayed: int
    """Records of a queue that are not due yet; the lag does not include them."""


NO_LAG = LagCount(0, 0)
STEPS_OF_PART = 4
STEPS_OF_TOPIC = 5


class PartitionReach(NamedTuple):
    """The range of a partition's records, which is the same for every group."""

    partition: Partition
    log: LogId
    start: int
    end: int
    stable: int
    delayed: BitMap64
    never: BitMap64
    """The delayed records, and those that are never shown. Not copies."""

    @classmethod
    def of(cls, partition: Partition) -> "PartitionReach":
        start, end = partition.log.start_offset, partition.high_watermark
        return cls(partition, partition.id, start, end, partition.stable_offset, *hidden_sets(partition))

    def of_reader(self, committed: int | None) -> LagCount:
        """Lag of a group that reads by offset."""
        return LagCount(max(0, self.end - max(committed or 0, self.start)), 0)

    def of_queue(self, state: QueueState | None, committed: int | None) -> LagCount:
        """Lag of a group that polls the queue; before its first poll it would begin at the committed offset."""
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
        """The records that the group could lease at once."""
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
        """Lag of a group that reads by offset."""
        self.queued = NO_LAG
        """Lag of a group that polls the queue, in total and by partition."""
        self.queued_of: list[LagCount] = []

    def add(self, part: PartitionReach) -> None:
        self.parts.append(part)
        queued = part.of_queue(None, None)
        self.queued_of.append(queued)
        self.unread = _plus(self.unread, part.of_reader(None))
        self.queued = _plus(self.queued, queued)


class TopicLag:
    """Lag of one group in one topic."""

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
        """By partition number."""
        self._offsets = offsets
        self.is_queue = bool(states)
        """True if the group polls the queue here."""

    @property
    def parts(self) -> list[PartitionReach]:
        return self._reach.parts

    def committed(self, part: PartitionReach) -> int | None:
        """The committed offset. In a queue, every record before it is settled."""
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

    async def total(self, pace: Pace) -> LagCount:
        """Sum over all partitions, in a time that depends only on the partitions that the group has touched."""
        reach = self._reach
        lag, delayed = reach.queued if self.is_queue else reach.unread
        for number in {**self.states, **self._offsets}:
            if number < len(reach.parts):
                part = reach.parts[number]
                mine = self.of(part)
                new = reach.queued_of[number] if self.is_queue else part.of_reader(None)
                lag += mine.lag - new.lag
                delayed += mine.delayed - new.delayed
                await pace.did(STEPS_OF_PART)
        return LagCount(max(0, lag), max(0, delayed))

    async def ready(self, now: InstantNs, pace: Pace) -> list[int]:
        """For a queue, the number of records of each priority that could be leased at once."""
        counts = [0] * LANES
        for part in self.parts:
            for lane, count in enumerate(self._waiting(part, now).ready):
                if count:
                    counts[lane] += count
            await pace.did(STEPS_OF_PART)
        return counts

    async def heads(self, now: InstantNs, pace: Pace) -> list[tuple[Partition, int]]:
        """The first waiting record of each partition that has one."""
        found = []
        for part in self.parts:
            first = self._waiting(part, now).first if self.is_queue else max(self.committed(part) or 0, part.start)
            if first is not None and first < part.end:
                found.append((part.partition, first))
            await pace.did(STEPS_OF_PART)
        return found

    def _waiting(self, part: PartitionReach, now: InstantNs) -> Waiting:
        return part.waiting(self.states.get(part.log.partition), self.committed(part), now)


class GroupLags:
    """The lag of many groups in one pass: the ranges of a topic's logs are looked up once."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._reaches: dict[str, _TopicReach] = {}

    def of(self, group: Group) -> Iterator[TopicLag]:
        """Each topic that the group reads, by name."""
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
        """Like `of`, in any order and with pauses: a group may read very many partitions."""
        places = _places(self._broker, group)
        for topic, (states, offsets) in places.items():
            reach = self._reaches.get(topic)
            if reach is None:
                reach = _TopicReach()
                for partition in self._partitions(topic):
                    reach.add(PartitionReach.of(partition))
                    await pace.did(STEPS_OF_PART)
                self._reaches[topic] = reach
            if reach.parts:
                yield TopicLag(group.name, topic, reach, states, offsets)
            await pace.did(STEPS_OF_TOPIC)

    async def paced_total(self, group: Group, pace: Pace) -> LagCount:
        return _sum([await one.total(pace) async for one in self.paced(group, pace)])

    def _partitions(self, topic: str) -> tuple[Partition, ...]:
        """Empty if the topic was deleted."""
        try:
            return self._broker.partitions(TopicName(topic))
        except UnknownTopic:
            return ()


def topics_of(broker: Broker, group: Group) -> list[str]:
    """The topics that the group reads, without deleted ones."""
    return [topic for topic in _places(broker, group) if topic in broker.catalog]


_Place = tuple[dict[int, QueueState], dict[int, CommittedOffset]]


def _places(broker: Broker, group: Group) -> dict[str, _Place]:
    """The topics that the group reads, with its state in each."""
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
