"""How much every group has before it in every topic it reads: for those who watch all of them at a time."""

from collections.abc import AsyncIterator, Iterable, Iterator
from operator import add
from typing import NamedTuple

from goqueue.core.groups.group import Group
from goqueue.engine.broker import Broker
from goqueue.engine.partition import Partition
from goqueue.engine.queue.states import QueueState
from goqueue.engine.slices import in_slices
from goqueue.errors import UnknownTopic
from goqueue.model.ids import InstantNs
from goqueue.model.log import LogId
from goqueue.model.priority import LANES
from goqueue.model.topic import TopicName

__all__ = ["GroupLoad", "group_loads", "watched_groups"]

INTERNAL_PREFIX = "__"


class _Reach(NamedTuple):
    """From where to where the records of a partition go: the same for every group."""

    partition: Partition
    log: LogId
    start: int
    end: int
    stable: int


class GroupLoad:
    """Of one group in one topic."""

    __slots__ = ("firsts", "group", "in_flight", "is_queue", "lag", "ready", "resting", "settled", "topic", "where")

    def __init__(self, group: str, topic: str) -> None:
        self.group = group
        self.topic = topic
        self.lag = 0
        """Records from the committed offsets on, as in the description of a group."""
        self.is_queue = False
        """Whether it takes records from the queue; the next four are about that."""
        self.ready = [0] * LANES
        self.in_flight = 0
        self.resting = 0
        """They failed, and are tried again after a pause."""
        self.settled = 0
        """Since the broker started."""
        self.where: list[Partition] = []
        """The partitions in which a record waits for the group; of each, `firsts` has the first one."""
        self.firsts: list[int] = []

    def add_position(self, reach: "_Reach", committed: int | None) -> None:
        """Of a group that reads by offset."""
        position = max(committed or 0, reach.start)
        if position < reach.end:
            self.lag += reach.end - position
            self.where.append(reach.partition)
            self.firsts.append(position)

    def add_queue(self, reach: "_Reach", state: QueueState, now: InstantNs) -> None:
        delivery = state.delivery
        self.lag += max(0, reach.end - max(reach.start, delivery.floor))
        self.is_queue = True
        ready, first = delivery.waiting(reach.stable, now=now)
        self.ready = [*map(add, self.ready, ready)]
        self.in_flight += delivery.leased_count
        self.resting += delivery.resting_count
        self.settled += state.tally.settled
        if first is not None:
            self.where.append(reach.partition)
            self.firsts.append(first)


def watched_groups(broker: Broker) -> Iterator[Group]:
    """All but the broker's own."""
    return (group for group in broker.groups if not group.name.startswith(INTERNAL_PREFIX))


async def group_loads(broker: Broker) -> AsyncIterator[GroupLoad]:
    """One for each topic that a group reads or has read."""
    reaches: dict[str, list[_Reach]] = {}
    async for group in in_slices(list(watched_groups(broker))):
        if group.name in broker.groups:
            for load in _loads(broker, group, reaches, broker.clock.now_ns()):
                yield load


def _loads(broker: Broker, group: Group, reaches: dict[str, list[_Reach]], now: InstantNs) -> Iterable[GroupLoad]:
    states = {state.log: state for state in broker.queues.of_group(group.name) if state.delivery.is_open}
    offsets = group.offsets
    topics = dict.fromkeys((*group.topics, *(log.topic for log in offsets), *(log.topic for log in states)))
    for topic in topics:
        if topic not in reaches:
            reaches[topic] = _reaches(broker, topic)
        load = GroupLoad(group.name, topic)
        is_read_whole = topic in group.topics
        for reach in reaches[topic]:
            state, committed = states.get(reach.log), offsets.get(reach.log)
            if state is not None:
                load.add_queue(reach, state, now)
            elif committed is not None or is_read_whole:
                load.add_position(reach, None if committed is None else committed.offset)
        if reaches[topic]:
            yield load


def _reaches(broker: Broker, topic: str) -> list[_Reach]:
    """None of a topic that was deleted."""
    try:
        partitions = broker.partitions(TopicName(topic))
    except UnknownTopic:
        return []
    return [_Reach(one, one.id, one.log.start_offset, one.high_watermark, one.stable_offset) for one in partitions]
