"""Loads of groups: lag, ready and leased records of every group in every topic that it reads, as metrics want them."""

from collections.abc import AsyncIterator, Collection, Iterator

from goqueue.core.groups.group import Group
from goqueue.engine.broker import Broker
from goqueue.engine.group_lag import GroupLags, TopicLag, topics_of
from goqueue.engine.partition import Partition
from goqueue.engine.queue.states import QueueState
from goqueue.engine.slices import Pace
from goqueue.model.ids import InstantNs
from goqueue.model.priority import LANES

__all__ = ["GroupLoad", "group_loads", "group_places", "is_watched", "watched_groups"]

INTERNAL_PREFIX = "__"
STEPS_OF_GROUP = 10

Head = tuple[Partition, int]
"""The first record in a partition that waits for a group."""


class GroupLoad:
    """Of one group in one topic."""

    __slots__ = (
        "_parts",
        "delayed",
        "group",
        "heads",
        "in_flight",
        "is_queue",
        "lag",
        "ready",
        "resting",
        "settled",
        "topic",
    )

    def __init__(self, parts: TopicLag) -> None:
        self._parts = parts
        self.group = parts.group
        self.topic = parts.topic
        self.lag = self.delayed = 0
        """As in the description of a group."""
        self.is_queue = parts.is_queue
        """Whether it takes records from the queue; the next four are about that."""
        self.ready = [0] * LANES
        self.in_flight = 0
        self.resting = 0
        """They failed, and are tried again after a pause."""
        self.settled = 0
        """Since the broker started."""
        self.heads: list[Head] = []
        """Where a record waits, and the first one, once `find_heads` was called."""

    async def look(self, now: InstantNs, pace: Pace) -> None:
        self.lag, self.delayed = await self._parts.total(pace)
        if self.is_queue:
            self.ready = await self._parts.ready(now, pace)
        for state in self.states:
            self.in_flight += state.delivery.leased_count
            self.resting += state.delivery.resting_count(now=now)
            self.settled += state.tally.settled

    async def find_heads(self, now: InstantNs, pace: Pace) -> None:
        self.heads = await self._parts.heads(now, pace)

    @property
    def states(self) -> Collection[QueueState]:
        return self._parts.states.values()


def watched_groups(broker: Broker) -> Iterator[Group]:
    """All but the broker's own."""
    return filter(is_watched, broker.groups)


def is_watched(group: Group) -> bool:
    """The broker's own groups are not."""
    return not group.name.startswith(INTERNAL_PREFIX)


async def group_loads(broker: Broker) -> AsyncIterator[GroupLoad]:
    """One for each topic that counts for a group, with pauses."""
    lags, pace = GroupLags(broker), Pace()
    for group in list(broker.groups):
        if is_watched(group) and group.name in broker.groups:
            async for parts in lags.paced(group, pace):
                load = GroupLoad(parts)
                await load.look(broker.clock.now_ns(), pace)
                yield load
        await pace.did(STEPS_OF_GROUP)


async def group_places(broker: Broker) -> AsyncIterator[tuple[str, str]]:
    """The group and the topic of each load, in the same order."""
    pace = Pace()
    for group in list(broker.groups):
        topics = topics_of(broker, group) if is_watched(group) else []
        for topic in topics:
            yield group.name, topic
        await pace.did(STEPS_OF_GROUP + len(topics))
