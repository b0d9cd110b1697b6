"""Take: lease ready records of the queue to a consumer, by priority, waiting for some if there are none."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

import msgspec

from goqueue.core.delivery.events import Leased, Opened
from goqueue.engine.broker import Broker
from goqueue.engine.fetch import LONGEST_WAIT_MS
from goqueue.engine.partition import Partition
from goqueue.engine.queue.dead_letters import EXPIRED, DeadLetters
from goqueue.engine.queue.gather import Gathered
from goqueue.engine.queue.policies import settings_of
from goqueue.engine.queue.positions import give_back_grant
from goqueue.engine.queue.search import Search
from goqueue.engine.queue.sources import SomePartitions, Source, WholeTopics, is_there
from goqueue.engine.queue.states import QueueState
from goqueue.engine.queue.taken import Taken
from goqueue.engine.state_log import Also
from goqueue.engine.stream_names import CATALOG
from goqueue.engine.tracing.delivering import note_delivered
from goqueue.engine.visibility import is_waiting
from goqueue.errors import GoQueueError, InvalidRequest, StateConflict, UnknownReceipt, UnknownTopic
from goqueue.model.ids import InstantNs
from goqueue.model.log import LogId
from goqueue.model.topic import LONGEST_VISIBILITY_MS

__all__ = [
    "MOST_IN_FLIGHT",
    "MOST_RECORDS",
    "TakeRequest",
    "Taken",
    "bytes_within",
    "check_take",
    "room_of",
    "take",
    "taken_of",
]

MOST_RECORDS = 1000
MOST_IN_FLIGHT = 1000
MOST_BYTES = 16 * 1024 * 1024
NS_PER_MS = 1_000_000
NS_PER_US = 1000


class TakeRequest(msgspec.Struct, frozen=True):
    """The consumer, the number of records and their partitions; without a visibility the topic's setting applies."""

    group: str
    consumer: str
    logs: Sequence[LogId] = ()
    limit: int = 100
    max_bytes: int = 4 * 1024 * 1024
    wait_ms: int = 0
    visibility_ms: int | None = None
    in_key_order: bool = False
    from_latest: bool = False
    topics: Sequence[str] = ()
    """All partitions of these topics, instead of `logs`; the consumer may take from all of them or from none."""


def _never() -> bool:
    return False


async def take(
    broker: Broker, request: TakeRequest, may_have: Callable[[LogId], bool], is_over: Callable[[], bool] = _never
) -> list[Taken]:
    """At most `limit` records in all; none if nothing is ready in time.

    `may_have` says whether the consumer may still take from a partition, which can change while it waits, and `is_over`
    whether the consumer should be answered instead of waiting. Records leased to a cancelled caller are returned at
    once.
    """
    check_take(request.limit, request.wait_ms, request.visibility_ms)
    loop = asyncio.get_running_loop()
    until = loop.time() + request.wait_ms / 1000
    source = _source(broker, request, may_have)
    taken = await _Taking(broker, request, may_have).run(source)
    if taken or not request.wait_ms:
        return taken
    ready = asyncio.Event()
    source.watch(ready.set)
    broker.queues.watch(request.group, ready.set)
    try:
        while True:
            ready.clear()
            source.renew()
            taken = await _Taking(broker, request, may_have).run(source)
            left_s = until - loop.time()
            if taken or left_s <= 0 or is_over():
                return taken
            await _wait(broker, request, source, ready, left_s)
    finally:
        source.unwatch(ready.set)
        broker.queues.unwatch(request.group, ready.set)
        # This poll was woken instead of others: pass the wake-up on, whatever it took.
        source.hand_on()


def _source(broker: Broker, request: TakeRequest, may_have: Callable[[LogId], bool]) -> Source:
    if request.topics:
        return WholeTopics(broker, request.group, request.topics, may_have)
    return SomePartitions(broker, request.group, request.logs, may_have)


def check_take(limit: int, wait_ms: int, visibility_ms: int | None) -> None:
    if not 1 <= limit <= MOST_RECORDS:
        raise InvalidRequest(
            f"limit must be between 1 and {MOST_RECORDS}, got {limit}", hint="poll again for more records"
        )
    if not 0 <= wait_ms <= LONGEST_WAIT_MS:
        raise InvalidRequest(
            f"the wait must be between 0 and {LONGEST_WAIT_MS} ms, got {wait_ms}", hint="to wait longer, poll again"
        )
    if visibility_ms is not None and not 1 <= visibility_ms <= LONGEST_VISIBILITY_MS:
        raise InvalidRequest(
            f"the visibility timeout must be between 1 and {LONGEST_VISIBILITY_MS} ms, got {visibility_ms}",
            hint="extend the lease later if the records need more time",
        )


def room_of(broker: Broker, group: str, consumer: str) -> int:
    """How many more records the consumer may hold."""
    return MOST_IN_FLIGHT - broker.queues.in_flight(group, consumer)


def bytes_within(max_bytes: int) -> int:
    """The byte limit of a poll."""
    return min(max(max_bytes, 1), MOST_BYTES)


async def _wait(broker: Broker, request: TakeRequest, source: Source, ready: asyncio.Event, left_s: float) -> None:
    """Wait until records may be ready, a failed record may be retried, or the time is up."""
    time_is_up = asyncio.get_running_loop().call_later(left_s, ready.set)
    try:
        if room_of(broker, request.group, request.consumer) <= 0:
            # Records that arrive meanwhile are for other consumers.
            source.unwatch(ready.set)
            source.hand_on()
            with broker.queues.waiting_for_room(request.group, request.consumer):
                await ready.wait()
            source.watch(ready.set)
        elif (rested := source.next_rested()) is not None:
            rested_in_ms = max(0, -((broker.clock.now_ns() - rested) // NS_PER_MS))
            alarm = asyncio.ensure_future(_set_later(broker, ready, rested_in_ms))
            try:
                await ready.wait()
            finally:
                alarm.cancel()
        else:
            await ready.wait()
    finally:
        time_is_up.cancel()


async def _set_later(broker: Broker, event: asyncio.Event, after_ms: int) -> None:
    await broker.clock.sleep_ms(after_ms)
    event.set()


class _Taking:
    """One look at all partitions of a poll. Leases that the caller does not receive are returned."""

    def __init__(self, broker: Broker, request: TakeRequest, may_have: Callable[[LogId], bool]) -> None:
        self._broker = broker
        self._request = request
        self._may_have = may_have
        self._leased: list[tuple[QueueState, int]] = []

    async def run(self, source: Source) -> list[Taken]:
        taken: list[Taken] = []
        try:
            await self._take(source, taken)
        except GoQueueError:
            self._give_back_all_but(taken)
            if not taken:
                raise
        except BaseException:
            self._give_back_all_but([])
            raise
        return taken

    def _give_back_all_but(self, taken: Sequence[Taken]) -> None:
        kept = {(one.log, one.grant) for one in taken}
        for state, grant in self._leased:
            if (state.log, grant) not in kept:
                give_back = give_back_grant(self._broker, state, grant, "its consumer went away")
                self._broker.queues.in_background(give_back)

    async def _take(self, source: Source, taken: list[Taken]) -> None:
        broker, request = self._broker, self._request
        for state in source.opened():
            _check_order(request, state)
        limit = min(request.limit, room_of(broker, request.group, request.consumer))
        if limit > 0:
            broker.queues.begin_take(request.group, request.consumer, limit)
            try:
                await self._take_from_all(source, limit, taken)
            finally:
                broker.queues.end_take(request.group, request.consumer, limit)

    async def _take_from_all(self, source: Source, limit: int, taken: list[Taken]) -> None:
        room = bytes_within(self._request.max_bytes)
        for state, partition in source.may_be_ready():
            one = await self._take_from(state, partition, limit, room, is_sure=state.delivery.is_open)
            if one is not None:
                taken.append(one)
                limit -= one.number
                room -= len(one.records)
                if limit <= 0 or room <= 0:
                    break

    async def _take_from(
        self, state: QueueState, partition: Partition, limit: int, room: int, *, is_sure: bool
    ) -> Taken | None:
        """Search, read and lease under the queue's lock; repeat if every record was skipped.

        `is_sure` says that there is something to look at, unless another poll gets the lock first.
        """
        if not state.delivery.is_open:
            await _open(self._broker, self._request, state, partition)
        _check_order(self._request, state)
        width = limit
        while True:
            if state.delivery.floor < (start := partition.log.start_offset):
                is_sure = False
                await self._broker.queues.change(state, partial(state.delivery.forget_below, start))
            is_sure = is_sure and not state.lock.locked()
            await state.lock.acquire()
            try:
                if not is_sure and not _may_be_ready(self._broker, state, partition):
                    # Another poll was faster, or all ready records were skipped.
                    state.lock.release()
                    return None
                search = Search(self._broker, state, partition, limit, width)
                found = await search.run(room)
            except BaseException:
                state.lock.release()
                raise
            event = await self._lease(state, partition, search)
            if event is None:
                return None
            if search.expired:
                letters = DeadLetters(self._broker, state)
                await letters.move(event.grant, search.expired, "it was not taken in its time", EXPIRED)
            if found.records:
                return taken_of(self._broker, state, event, found)
            width = min(2 * width, MOST_RECORDS)
            is_sure = False

    async def _lease(self, state: QueueState, partition: Partition, search: Search) -> Leased | None:
        """Lease the records that were found, as the holder of the lock."""
        broker, request = self._broker, self._request
        now = broker.clock.now_ns()

        def decide() -> Leased | None:
            if not self._may_have(state.log):
                return None
            config = settings_of(broker, request.group, state.log)
            visible_ns = (request.visibility_ms or config.visibility_timeout_ms) * NS_PER_MS
            deadline = InstantNs(now + visible_ns)
            event = state.delivery.lease(search.looked, request.consumer, deadline=deadline, now=now)
            if event is not None and event.records:
                # From here on the lease may happen, even if the caller is cancelled.
                self._leased.append((state, event.grant))
            return event

        def written() -> None:
            # A record that became visible or was cancelled meanwhile was not asleep yet, so nothing has woken it.
            over = [offset for offset in search.looked.asleep if not is_waiting(partition, offset)]
            if over and state.delivery.wake_these(over):
                broker.rings.look_again(state)
                broker.queues.changed(request.group)

        also = (lambda: Also(written=written)) if search.looked.asleep else None
        try:
            event = await broker.queues.change_locked(state, decide, also)
        except UnknownReceipt:
            # The group or the topic was deleted meanwhile.
            return None
        if event is None:
            return None
        assert isinstance(event, Leased)
        search.served(now)
        return event


def taken_of(broker: Broker, state: QueueState, event: Leased, found: Gathered) -> Taken:
    """The reply for records that are leased from now on."""
    again = state.delivery.repeated(found.offsets)
    token = broker.receipts.token(state.group, state.log, event.grant)
    tally = broker.tally.of(state.log.topic)
    tally.delivered += len(found.offsets)
    tally.delivered_bytes += len(found.records)
    if broker.tracing.is_on:
        note_delivered(broker, state, event.consumer, event.at, found.offsets, found.records, again)
    return Taken(state.log, event.grant, token, event.deadline, found.records, len(found.offsets), again)


def _may_be_ready(broker: Broker, state: QueueState, partition: Partition) -> bool:
    return state.delivery.has_ready(partition.stable_offset, now=broker.clock.now_ns())


def _check_order(request: TakeRequest, state: QueueState) -> None:
    delivery = state.delivery
    if delivery.is_open and delivery.in_key_order != request.in_key_order:
        how = "with" if delivery.in_key_order else "without"
        raise StateConflict(
            f"the group {request.group} takes records of {state.log.topic} {how} key order",
            hint="ask for the same order in every consumer of a group",
        )


async def _open(broker: Broker, request: TakeRequest, state: QueueState, partition: Partition) -> None:
    # Under the catalog's lock: a queue opened after its topic was deleted would belong to the next topic of that name.
    async with broker.state_log.owner(CATALOG).lock:
        if not is_there(broker, partition):
            broker.queues.remove([state])
            raise UnknownTopic(f"{partition.id.topic} was deleted")
        await broker.queues.change(state, lambda: _opened(broker, request, state, partition))


def _opened(broker: Broker, request: TakeRequest, state: QueueState, partition: Partition) -> Opened | None:
    if state.delivery.is_open:
        return None
    committed = broker.groups.group(request.group).offsets.get(state.log)
    start = partition.stable_offset if request.from_latest else partition.log.start_offset
    if committed is not None:
        start = max(committed.offset, partition.log.start_offset)
    last_grant = broker.clock.now_ns() // NS_PER_US
    return state.delivery.open(start, in_key_order=request.in_key_order, last_grant=last_grant)
