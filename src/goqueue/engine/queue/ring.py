"""Ring of a topic's partitions for one group: their order, those without ready records, and waiting polls.

A take begins where the previous one ended, so that a full partition does not use up each limit. Of many partitions most
have nothing for the group, most of the time: these leave the ring until an event concerns them, and a take looks only
at the others.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from goqueue.core.delivery.events import DeliveryEvent, Leased, Settled
from goqueue.engine.partition import Partition
from goqueue.engine.queue.states import QueueState, QueueStates
from goqueue.model.ids import InstantNs

__all__ = ["Pair", "Ring", "Rings"]

MANY = 16
"""With fewer partitions, looking at all of them costs less than following their events."""

Pair = tuple[QueueState, Partition]


class Ring:
    """`states` and `partitions` are ordered by partition number."""

    def __init__(self, states: Sequence[QueueState], partitions: tuple[Partition, ...]) -> None:
        self.partitions = partitions
        self._pairs: list[Pair] = list(zip(states, partitions, strict=True))
        self._turns = dict.fromkeys(range(len(partitions)))
        """Partition numbers in the order in which they are looked at; absent ones have nothing ready."""
        self._follows = len(partitions) >= MANY
        self._news: list[Callable[[], None]] = []
        self._waiters: dict[Callable[[], None], None] = {}
        self._open: QueueState | None = None
        if self._follows:
            self._news = [partial(self._came, number) for number in range(len(partitions))]
            for number, state in enumerate(states):
                state.follow_events(partial(self._applied, number))

    def close(self) -> None:
        """Stop following the partitions."""
        for number, (state, partition) in enumerate(self._pairs if self._follows else ()):
            partition.unwatch(self._news[number])
            state.follow_events(None)
        if not self._follows and self._waiters:
            self._unwatch_all()

    # Taking.

    def may_be_ready(self, now: Callable[[], InstantNs]) -> Iterator[Pair]:
        """Each partition at most once, in ring order. A caller that has enough stops iterating."""
        seen: set[int] = set()
        while self._turns and (number := next(iter(self._turns))) not in seen:
            seen.add(number)
            del self._turns[number]
            state, partition = self._pairs[number]
            if not state.delivery.is_open or state.delivery.has_ready(partition.stable_offset, now=now()):
                self._turns[number] = None
                yield state, partition
            elif self._follows and state.delivery.next_rested() is None:
                partition.watch(self._news[number])
            else:
                self._turns[number] = None

    def any_open(self) -> QueueState | None:
        """A queue that was taken from before, if any: all of them have the same order."""
        if self._open is None:
            self._open = next((state for state, _ in self._pairs if state.delivery.is_open), None)
        return self._open

    @property
    def is_without_key_order(self) -> bool:
        """Whether the group has taken from this topic before, without key order."""
        state = self.any_open()
        return state is not None and not state.delivery.in_key_order

    def next_rested(self) -> InstantNs | None:
        """The time at which the next failed record may be retried."""
        instants = (self._pairs[number][0].delivery.next_rested() for number in self._turns)
        return min((at for at in instants if at is not None), default=None)

    # Events.

    def _came(self, number: int) -> None:
        """New records may be readable in a partition that had none."""
        self._pairs[number][1].unwatch(self._news[number])
        self._turns[number] = None
        self.wake_next()

    def _applied(self, number: int, event: DeliveryEvent) -> None:
        """Add the partition if the event may make records ready, which most events do not."""
        if number in self._turns or isinstance(event, Leased):
            return
        if isinstance(event, Settled) and not self._pairs[number][0].delivery.in_key_order:
            return
        self._pairs[number][1].unwatch(self._news[number])
        self._turns[number] = None

    def look_again(self, number: int) -> None:
        """Add a partition where records may be ready that were not published just now."""
        if self._follows:
            self._pairs[number][1].unwatch(self._news[number])
        self._turns.setdefault(number)

    # Waiting polls.

    def watch(self, watcher: Callable[[], None]) -> None:
        """Call one of the watchers whenever there may be records, until `unwatch`; it must then `hand_on`."""
        if not self._follows and not self._waiters:
            for partition in self.partitions:
                partition.watch(self.wake_next)
        self._waiters[watcher] = None

    def unwatch(self, watcher: Callable[[], None]) -> None:
        if self._waiters.pop(watcher, self) is None and not self._waiters and not self._follows:
            self._unwatch_all()

    def _unwatch_all(self) -> None:
        for partition in self.partitions:
            partition.unwatch(self.wake_next)

    def hand_on(self, now: InstantNs) -> None:
        """Wake the next watcher if there are still ready records."""
        if not self._waiters:
            return
        waiting = (self._pairs[number] for number in self._turns)
        if any(state.delivery.has_ready(partition.stable_offset, now=now) for state, partition in waiting):
            self.wake_next()

    def wake_next(self) -> None:
        """Wake the watcher that has waited longest; if all were woken, most would find nothing."""
        if self._waiters:
            watcher = next(iter(self._waiters))
            del self._waiters[watcher]
            self._waiters[watcher] = None
            watcher()


class Rings:
    """One ring for each group and topic taken from as a whole, created on first use."""

    def __init__(self, queues: QueueStates) -> None:
        self._queues = queues
        self._rings: dict[tuple[str, str], Ring] = {}
        queues.removed = self._removed

    def of(self, group: str, partitions: tuple[Partition, ...]) -> Ring:
        """The ring of these partitions, which are all of their topic."""
        key = (group, partitions[0].id.topic)
        ring = self._rings.get(key)
        if ring is None or ring.partitions is not partitions:
            # The rings of a deleted topic were removed with it.
            states = [self._queues.of(group, partition.id) for partition in partitions]
            ring = self._rings[key] = Ring(states, partitions)
        return ring

    def find(self, group: str, topic: str) -> Ring | None:
        """The ring, if it exists already."""
        return self._rings.get((group, topic))

    def look_again(self, state: QueueState) -> None:
        """Look again at a queue where records may be ready without an event or a publish."""
        ring = self._rings.get((state.group, state.log.topic))
        if ring is not None:
            ring.look_again(state.log.partition)

    def _removed(self, state: QueueState) -> None:
        ring = self._rings.pop((state.group, state.log.topic), None)
        if ring is not None:
            ring.close()
