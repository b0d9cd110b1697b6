"""How much every group has before it in every topic it reads: for those who watch all of them at a time."""

from collections.abc import AsyncIterator, Collection, Iterator

from goqueue.core.groups.group import Group
from goqueue.engine.broker import Broker
from goqueue.engine.group_lag import GroupLags, TopicLag, topics_of
from goqueue.engine.partition import Partition
from goqueue.engine.queue.states import QueueState
from goqueue.engine.slices import Pace
from goqueue.model.ids import InstantNs
from goqueue.model.priority import LANES

__all__ = ["GroupLoad", "group_loads", "group_places", "watched_groups"]

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

    def __init__(self, parts: TopicLag, now: InstantNs) -> None:
        self._parts = parts
        self.group = parts.group
        self.topic = parts.topic
        self.lag, self.delayed = parts.total()
        """As in the description of a group."""
        self.is_queue = parts.is_queue
        """Whether it takes records from the queue; the next four are about that."""
        self.ready = parts.ready(now) if parts.is_queue else [0] * LANES
        self.in_flight = 0
        self.resting = 0
        """They failed, and are tried again after a pause."""
        self.settled = 0
        """Since the broker started."""
        for state in self.states:
            self.in_flight += state.delivery.leased_count
            self.resting += state.delivery.resting_count
            self.settled += state.tally.settled

        self.heads: list[Head] = []
        """Where a record waits, and the first one, once `find_heads` was called."""

    def find_heads(self, now: InstantNs) -> None:
        self.heads = list(self._parts.heads(now))

    @property
    def states(self) -> Collection[QueueState]:
        return self._parts.states.values()

    @property
    def partitions(self) -> int:
        return len(self._parts.parts)


def watched_groups(broker: Broker) -> Iterator[Group]:
    """All but the broker's own."""
    return (group for group in broker.groups if not group.name.startswith(INTERNAL_PREFIX))


async def group_loads(broker: Broker) -> AsyncIterator[GroupLoad]:
    """One for each topic that counts for a group, with pauses."""
    lags, pace = GroupLags(broker), Pace()
    for group in list(watched_groups(broker)):
        if group.name in broker.groups:
            async for parts in lags.paced(group, pace):
                yield GroupLoad(parts, broker.clock.now_ns())
        await pace.did(STEPS_OF_GROUP)


async def group_places(broker: Broker) -> AsyncIterator[tuple[str, str]]:
    """The group and the topic of each load, in the same order."""
    pace = Pace()
    for group in list(watched_groups(broker)):
        topics = topics_of(broker, group)
        for topic in topics:
            yield group.name, topic
        await pace.did(STEPS_OF_GROUP + len(topics))
