"""Group load: lag, ready and leased records of every group in each of its topics, for metrics."""

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
"""The first record of a partition that waits for a group."""


class GroupLoad:
    """Load of one group in one topic."""

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
        """True if the group polls the queue; the next four fields are only about that."""
        self.ready = [0] * LANES
        self.in_flight = 0
        self.resting = 0
        """Failed records that wait for a retry."""
        self.settled = 0
        """Since the broker started."""
        self.heads: list[Head] = []
        """The first waiting record of each partition that has one, set by `find_heads`."""

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
    """All groups but the broker's own."""
    return filter(is_watched, broker.groups)


def is_watched(group: Group) -> bool:
    """False for the broker's own groups."""
    return not group.name.startswith(INTERNAL_PREFIX)


async def group_loads(broker: Broker) -> AsyncIterator[GroupLoad]:
    """The load of each topic that a group reads, with pauses."""
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
