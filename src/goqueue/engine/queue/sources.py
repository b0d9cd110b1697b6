"""Sources of a poll: the partitions of a member, or all partitions of a worker's topics."""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

from goqueue.engine.broker import Broker
from goqueue.engine.partition import Partition
from goqueue.engine.queue.ring import Pair, Ring
from goqueue.engine.queue.states import QueueState
from goqueue.errors import GoQueueError, UnknownTopic
from goqueue.model.ids import InstantNs
from goqueue.model.log import LogId
from goqueue.model.topic import TopicName

__all__ = ["SomePartitions", "Source", "WholeTopics", "is_there"]


class Source(Protocol):
    """The partitions a poll may look at. They may change while it waits: `renew` updates them, and raises if none is
    left."""

    def renew(self) -> None: ...
    def opened(self) -> Iterator[QueueState]:
        """Queues that were taken from before, enough to check whether the poll asks for the right order."""

    def may_be_ready(self) -> Iterator[Pair]: ...
    def next_rested(self) -> InstantNs | None: ...
    def watch(self, watcher: Callable[[], None]) -> None:
        """Call the watcher when there may be more, until `unwatch`."""

    def unwatch(self, watcher: Callable[[], None]) -> None: ...
    def hand_on(self) -> None:
        """Leave what remains to other waiting polls."""


class SomePartitions:
    """The partitions of a member; no other consumer waits for them."""

    def __init__(self, broker: Broker, group: str, logs: Sequence[LogId], may_have: Callable[[LogId], bool]) -> None:
        self._broker = broker
        self._group = group
        self._may_have = may_have
        self._all = [broker.partition(TopicName(log.topic), log.partition) for log in logs]
        self._mine: list[Pair] = []
        self.renew()

    def renew(self) -> None:
        """Topics may be deleted and created again under the same name while a poll waits."""
        there = [one for one in self._all if is_there(self._broker, one)]
        if self._all and not there:
            raise UnknownTopic(f"{self._all[0].id.topic} was deleted")
        queues, group = self._broker.queues, self._group
        self._mine = [(queues.of(group, one.id), one) for one in there if self._may_have(one.id)]

    def opened(self) -> Iterator[QueueState]:
        return (state for state, _ in self._mine if state.delivery.is_open)

    def may_be_ready(self) -> Iterator[Pair]:
        mine, clock = self._mine, self._broker.clock
        # Another partition comes first each time, so that a full one does not use up each limit.
        first = next(self._broker.fetch_turns) % max(1, len(mine))
        for state, partition in (*mine[first:], *mine[:first]):
            if not state.delivery.is_open or state.delivery.has_ready(partition.stable_offset, now=clock.now_ns()):
                yield state, partition

    def next_rested(self) -> InstantNs | None:
        instants = (state.delivery.next_rested() for state, _ in self._mine)
        return min((at for at in instants if at is not None), default=None)

    def watch(self, watcher: Callable[[], None]) -> None:
        for partition in self._all:
            partition.watch(watcher)

    def unwatch(self, watcher: Callable[[], None]) -> None:
        for partition in self._all:
            partition.unwatch(watcher)

    def hand_on(self) -> None:
        """No other poll waits for these partitions."""


class WholeTopics:
    """All partitions of topics, shared by all workers of a group."""

    def __init__(self, broker: Broker, group: str, topics: Sequence[str], may_have: Callable[[LogId], bool]) -> None:
        self._broker = broker
        self._group = group
        self._topics = topics
        self._may_have = may_have
        self._rings: list[Ring] = [broker.rings.of(group, broker.partitions(TopicName(topic))) for topic in topics]
        self._watcher: Callable[[], None] | None = None

    def renew(self) -> None:
        there = [partitions for ring in self._rings if (partitions := self._same(ring)) is not None]
        if not there:
            raise UnknownTopic(f"{self._topics[0]} was deleted")
        rings = [self._broker.rings.of(self._group, partitions) for partitions in there]
        if rings != self._rings:
            watcher = self._watcher
            self._unwatch()
            self._rings = rings
            if watcher is not None:
                self.watch(watcher)

    def _same(self, ring: Ring) -> tuple[Partition, ...] | None:
        """None if the topic was deleted, even if there is another topic of that name."""
        try:
            partitions = self._broker.partitions(TopicName(ring.partitions[0].id.topic))
        except UnknownTopic:
            return None
        return partitions if partitions is ring.partitions else None

    def opened(self) -> Iterator[QueueState]:
        return (state for ring in self._rings if (state := ring.any_open()) is not None)

    def may_be_ready(self) -> Iterator[Pair]:
        # A worker may take from all partitions or from none.
        if not self._may_have(self._rings[0].partitions[0].id):
            return
        first = next(self._broker.fetch_turns) % len(self._rings)
        for ring in (*self._rings[first:], *self._rings[:first]):
            yield from ring.may_be_ready(self._broker.clock.now_ns)

    def next_rested(self) -> InstantNs | None:
        return min((at for ring in self._rings if (at := ring.next_rested()) is not None), default=None)

    def watch(self, watcher: Callable[[], None]) -> None:
        self._watcher = watcher
        for ring in self._rings:
            ring.watch(watcher)

    def unwatch(self, watcher: Callable[[], None]) -> None:
        self._unwatch()

    def _unwatch(self) -> None:
        if self._watcher is not None:
            for ring in self._rings:
                ring.unwatch(self._watcher)
        self._watcher = None

    def hand_on(self) -> None:
        for ring in self._rings:
            ring.hand_on(self._broker.clock.now_ns())


def is_there(broker: Broker, partition: Partition) -> bool:
    try:
        return broker.partition(TopicName(partition.id.topic), partition.id.partition) is partition
    except GoQueueError:
        return False
