"""Queues: the state of each group in each partition, the lock under which it changes, and the polls that wait."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from goqueue.core.delivery.delivery import Delivery
from goqueue.core.delivery.events import DeliveryEvent, Extended, Forgotten, Leased, Opened, Repositioned, Settled
from goqueue.core.delivery.grants import InFlight
from goqueue.core.delivery.packed import Offsets
from goqueue.core.delivery.tally import Tally
from goqueue.core.priority.drr import LaneScheduler
from goqueue.core.priority.policy import LanePolicy
from goqueue.core.priority.stats import LaneFlow
from goqueue.engine.fifo_lock import FifoLock
from goqueue.engine.partition import Partition
from goqueue.engine.ports import Operation
from goqueue.engine.queue.lease_watch import LeaseWatch
from goqueue.engine.queue.taken import Taken
from goqueue.engine.shielded import unattended
from goqueue.engine.state_log import NOTHING_ELSE, Also, Release, StateLog
from goqueue.engine.tally import Tallies
from goqueue.errors import GoQueueError, UnknownReceipt
from goqueue.model.ids import InstantNs
from goqueue.model.log import LogId
from goqueue.model.topic import LaneMode, TopicConfig

__all__ = [
    "DELIVERIES",
    "Ack",
    "Change",
    "PollAtOnce",
    "QueueState",
    "QueueStates",
    "delivery_stream",
]

DELIVERIES = "delivery/"
CERTAIN = (Opened, Settled, Repositioned, Forgotten)
"""Events acknowledged only after fsync. Of the others, leases and returns, a power failure may take back those of the
last second: their records are redelivered a little earlier, as after an expired lease."""


USUAL_LANES = LanePolicy()
NOTHING_IN_FLIGHT = InFlight()


def delivery_stream(group: str, log: LogId) -> str:
    return f"{DELIVERIES}{log}/{group}"


class Ack(NamedTuple):
    """A request to settle records of a grant; `offsets` names them, and raises if they cannot be settled."""

    grant: int
    offsets: Callable[[], Offsets]
    tell: Callable[[Exception | None], None]


class PollAtOnce(NamedTuple):
    """A poll for `least` to `limit` records of one partition; see `goqueue.engine.queue.at_once`."""

    partition: Partition
    consumer: str
    limit: int
    least: int
    max_bytes: int
    visibility_ms: int | None
    answer: Callable[[Taken | Exception | None], bool]
    """Called with None if there are fewer records, or they are not plain. Returns False if the client has gone."""


class Change(NamedTuple):
    """Events that are written together; `tell` is called when they are as durable as they must be."""

    events: Sequence[DeliveryEvent]
    tell: Callable[[GoQueueError | None], None]


class QueueState:
    """The state of one group in one partition. Each decision is written and applied before the next one."""

    __slots__ = (
        "_follower",
        "_lane_settings",
        "_leases",
        "acks",
        "delivery",
        "dequeued",
        "group",
        "lanes",
        "lock",
        "log",
        "looked_at",
        "polls",
        "stream",
        "tally",
    )

    def __init__(self, group: str, log: LogId, delivery: Delivery, tallies: Tallies, leases: LeaseWatch) -> None:
        self.group = group
        self.log = log
        self.stream = delivery_stream(group, log)
        self.delivery = delivery
        self.lanes = LaneScheduler(USUAL_LANES)
        self.dequeued = LaneFlow()
        self._lane_settings: TopicConfig | None = None
        # Deliveries of the broker itself, such as settling redriven letters, count for no topic.
        self.tally = Tally() if self.is_internal else Tally(tallies.of(log.topic).queue)
        self.lock = FifoLock()
        self.acks: list[Ack] = []
        self.polls: list[PollAtOnce] = []
        """Together with acknowledgements, the requests to decide when the lock is granted."""
        self.looked_at: InstantNs | None = None
        """The lease deadline for which the queue is registered in the lease watch."""
        self._leases = leases
        self._follower: Callable[[DeliveryEvent], None] | None = None

    @property
    def is_internal(self) -> bool:
        """True for groups of the broker itself."""
        return self.group.startswith("__")

    def needs_sync(self, event: DeliveryEvent) -> bool:
        """A lease of no records only settles skipped ones."""
        return isinstance(event, CERTAIN) or (isinstance(event, Leased) and not event.records)

    def apply(self, event: DeliveryEvent) -> None:
        """Apply an event that is written."""
        before = self.delivery.leased_count
        self.delivery.apply(event)
        ended = before - self.delivery.leased_count
        self._leases.leased -= ended
        if isinstance(event, Leased):
            if ended:
                self._leases.watch(self, event.deadline)
        else:
            self.tally.note(event, ended)
            if isinstance(event, Extended):
                self._leases.watch(self, event.deadline)
        if self._follower is not None:
            self._follower(event)

    def follow_events(self, follower: Callable[[DeliveryEvent], None] | None) -> None:
        """Set or remove the function that is called with each applied event."""
        self._follower = follower

    def follow(self, config: TopicConfig) -> None:
        """Use the priority settings of the topic."""
        if config is not self._lane_settings:
            self._lane_settings = config
            strict = config.lane_mode is LaneMode.STRICT
            self.lanes.use(LanePolicy(config.lane_weights, strict, config.lane_starvation_ms))


class QueueStates:
    """All queues; a queue without state is created on first use."""

    def __init__(self, state_log: StateLog, tallies: Tallies, leases: LeaseWatch) -> None:
        self._state_log = state_log
        self._streams = state_log.streams
        self._tallies = tallies
        self._by_group: dict[str, dict[LogId, QueueState]] = {}
        self._in_flight: dict[str, InFlight] = {}
        self._watchers: dict[str, set[Callable[[], None]]] = {}
        self._taking: dict[tuple[str, str], int] = {}
        self._crowded: dict[str, Counter[str]] = {}
        """Consumers of each group that wait for room."""
        self.leases = leases
        self._background: set[asyncio.Future[None]] = set()
        self.removed: Callable[[QueueState], None] = _whatever
        """Called with each queue that is removed."""

    def __len__(self) -> int:
        """Number of groups that take from queues."""
        return len(self._by_group)

    def __iter__(self) -> Iterator[QueueState]:
        return iter([state for states in self._by_group.values() for state in states.values()])

    def recovered(self) -> None:
        """Register the queues that recovery restored."""
        for stream, machine in self._streams.machines(DELIVERIES):
            name, _, group = stream.removeprefix(DELIVERIES).rpartition("/")
            assert isinstance(machine, Delivery)
            if not machine.is_open:
                # An event was written after the end of its topic.
                self._streams.remove(stream)
                continue
            log = LogId.parse(name)
            self._add(group, log, machine)

    def _add(self, group: str, log: LogId, delivery: Delivery) -> QueueState:
        delivery.count_in_flight(self._in_flight.setdefault(group, InFlight()))
        state = QueueState(group, log, delivery, self._tallies, self.leases)
        self._by_group.setdefault(group, {})[log] = state
        self.leases.leased += delivery.leased_count
        if (deadline := delivery.next_deadline()) is not None:
            self.leases.watch(state, deadline)
        return state

    def get(self, group: str, log: LogId) -> QueueState | None:
        return self._by_group.get(group, {}).get(log)

    def of(self, group: str, log: LogId) -> QueueState:
        found = self.get(group, log)
        if found is None:
            machine = self._streams.machine(delivery_stream(group, log))
            assert isinstance(machine, Delivery)
            found = self._add(group, log, machine)
        return found

    def of_group(self, group: str) -> list[QueueState]:
        return list(self._by_group.get(group, {}).values())

    def of_log(self, log: LogId) -> list[QueueState]:
        return [states[log] for states in self._by_group.values() if log in states]

    def end(self, states: Iterable[QueueState]) -> list[Operation]:
        """The operations to write when these queues are given up; then call `remove`."""
        return [self._streams.end(delivery_stream(state.group, state.log)) for state in states]

    def remove(self, states: Iterable[QueueState]) -> None:
        for state in states:
            if self.get(state.group, state.log) is not state:
                continue
            del self._by_group[state.group][state.log]
            self.leases.leased -= state.delivery.leased_count
            self.leases.forget(state)
            state.delivery.count_in_flight(InFlight())
            if not self._by_group[state.group]:
                del self._by_group[state.group]
                del self._in_flight[state.group]
            self.removed(state)
            self._streams.remove(delivery_stream(state.group, state.log))
            self.changed(state.group)

    # Changing.

    async def change(
        self, state: QueueState, decide: Callable[[], DeliveryEvent | None], also: Callable[[], Also] | None = None
    ) -> DeliveryEvent | None:
        """See `StateLog.change`."""
        await state.lock.acquire()
        return await self.change_locked(state, decide, also)

    async def change_locked(
        self, state: QueueState, decide: Callable[[], DeliveryEvent | None], also: Callable[[], Also] | None = None
    ) -> DeliveryEvent | None:
        """See `StateLog.change_locked`."""

        def decide_if_there() -> Sequence[DeliveryEvent]:
            self.check_there(state)
            event = decide()
            return () if event is None else (event,)

        events = await self._state_log.change_locked(state, decide_if_there, also)
        return events[0] if events else None

    def check_there(self, state: QueueState) -> None:
        if self.get(state.group, state.log) is not state:
            raise UnknownReceipt(f"the group {state.group} takes nothing from {state.log} any more")

    def begin_all(self, state: QueueState, changes: Sequence[Change]) -> None:
        """Submit independent changes as the holder of the lock, which is released when all are written."""
        left = len(changes)
        if not left:
            state.lock.release()

        def release_last() -> None:
            nonlocal left
            left -= 1
            if not left:
                state.lock.release()

        for change in changes:
            release = Release(release_last)
            events = [(state, event) for event in change.events]
            try:
                self._state_log.submit(events, NOTHING_ELSE, change.tell, release)
            except GoQueueError as refusal:
                release()
                change.tell(refusal)

    def in_background(self, work: Coroutine[None, None, None]) -> None:
        """Run cleanup for a caller that has gone; `drain` waits for it."""
        task = unattended(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def drain(self) -> None:
        while self._background:
            await asyncio.wait(self._background)

    # Records in flight of each consumer.

    def in_flight(self, group: str, consumer: str) -> int:
        """Records in flight, including those that polls in progress may take."""
        count = self._taking.get((group, consumer), 0)
        known = self._in_flight.get(group)
        return count if known is None else count + known.get(consumer, 0)

    def consumers(self, group: str) -> Mapping[str, int]:
        """Number of records of each consumer that has any."""
        return self._in_flight.get(group, NOTHING_IN_FLIGHT)

    def begin_take(self, group: str, consumer: str, most: int) -> None:
        """Reserve room for a poll of the consumer, until `end_take`."""
        self._taking[group, consumer] = self._taking.get((group, consumer), 0) + most

    def end_take(self, group: str, consumer: str, most: int) -> None:
        left = self._taking[group, consumer] - most
        if left:
            self._taking[group, consumer] = left
        else:
            del self._taking[group, consumer]
        if consumer in self._crowded.get(group, ()):
            # Only for waiting consumers: otherwise polls that end their look like this would wake each other endlessly.
            self.changed(group)

    # Waiting polls.

    def watch(self, group: str, watcher: Callable[[], None]) -> None:
        """Call the watcher whenever records of the group may have become ready without having been published."""
        self._watchers.setdefault(group, set()).add(watcher)

    def is_awaited(self, group: str) -> bool:
        """Whether a poll of the group is waiting."""
        return group in self._watchers

    def unwatch(self, group: str, watcher: Callable[[], None]) -> None:
        watchers = self._watchers.get(group, set())
        watchers.discard(watcher)
        if not watchers:
            self._watchers.pop(group, None)

    def changed(self, group: str) -> None:
        for watcher in tuple(self._watchers.get(group, ())):
            watcher()

    @contextmanager
    def waiting_for_room(self, group: str, consumer: str) -> Iterator[None]:
        """Note that the consumer has reached its limit and waits until records are settled."""
        crowded = self._crowded.setdefault(group, Counter())
        crowded[consumer] += 1
        try:
            yield
        finally:
            crowded[consumer] -= 1
            if not crowded[consumer]:
                del crowded[consumer]
            if not crowded:
                self._crowded.pop(group, None)

    def has_room(self, group: str) -> None:
        """Wake polls after a settlement, if any consumer of the group waits for room."""
        if group in self._crowded:
            self.changed(group)


def _whatever(_: QueueState) -> None:
    """Default of `QueueStates.removed`."""
