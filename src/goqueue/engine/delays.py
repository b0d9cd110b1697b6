"""Delayed records: list, cancel and reschedule them."""

import asyncio
import heapq
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from pyroaring import BitMap64

from goqueue import codec
from goqueue.core.delay.events import DelayEvent
from goqueue.core.delay.states import DelayState, DelayStatus
from goqueue.engine.broker import Broker
from goqueue.engine.firing import wake_queues
from goqueue.engine.partition import Partition, delays_stream
from goqueue.engine.queue.gather import gather
from goqueue.engine.state_log import Also
from goqueue.errors import DelayIsOver, GoQueueError, InvalidRequest, UnknownDelay, UnknownPartition, UnknownTopic
from goqueue.model.delay import check_dues
from goqueue.model.record import Record
from goqueue.model.topic import TopicName

__all__ = [
    "MOST_CANCELLED",
    "MOST_LISTED",
    "MOST_SKIPPED",
    "CancelledPart",
    "DelayedRecord",
    "NotCancelled",
    "TopicDelays",
    "cancel_delay",
    "cancel_delays",
    "delay_stats",
    "find_delay",
    "list_delays",
    "read_delayed",
    "reschedule_delay",
]

MOST_CANCELLED = 100_000
MOST_LISTED = 1000
MOST_SKIPPED = 10_000
"""Skipped entries are merged in order, too."""


class DelayedRecord(NamedTuple):
    """`due` is set while the record is pending."""

    topic: TopicName
    partition: int
    offset: int
    state: DelayState
    due: int | None


class TopicDelays(NamedTuple):
    """Number of records of a topic in each delay state, of those in the log, and the earliest due time."""

    topic: TopicName
    pending: int
    delivered: int
    cancelled: int
    expired: int
    next_due: int | None


class NotCancelled(NamedTuple):
    """Records that could not be cancelled, all for the same reason."""

    error: GoQueueError
    offsets: list[int]


class CancelledPart(NamedTuple):
    """The outcome of a cancellation in one partition; offsets ascend."""

    partition: int
    cancelled: list[int]
    refused: list[NotCancelled]


def list_delays(broker: Broker, name: TopicName, *, skip: int = 0, limit: int = 100) -> list[DelayedRecord]:
    """The pending records of all partitions, ordered by due time."""
    if not 0 <= skip <= MOST_SKIPPED or not 1 <= limit <= MOST_LISTED:
        raise InvalidRequest(
            f"limit must be 1 to {MOST_LISTED} and skip 0 to {MOST_SKIPPED}, got {limit} and {skip}",
            hint="ask for a smaller page, nearer to the first due time",
        )
    lines = (
        [
            (one.due, partition.id.partition, one.offset)
            for one in partition.delays.listing(limit=skip + limit)
            if not partition.outcomes.is_open_offset(one.offset)
        ]
        for partition in broker.partitions(name)
    )
    page = list(heapq.merge(*lines))[skip : skip + limit]
    return [DelayedRecord(name, number, offset, DelayState.PENDING, due) for due, number, offset in page]


def find_delay(broker: Broker, name: TopicName, number: int, offset: int) -> DelayedRecord:
    status = _status(broker.partition(name, number), offset)
    return DelayedRecord(name, number, offset, status.state, status.due)


async def read_delayed(broker: Broker, name: TopicName, number: int, offset: int) -> bytes:
    """The record as stored in the log, hidden or not; empty if compaction removed it."""
    partition = broker.partition(name, number)
    _status(partition, offset)
    return (await gather(broker, partition, (offset,), codec.MAX_VALUE)).records


async def cancel_delay(broker: Broker, name: TopicName, number: int, offset: int) -> DelayedRecord:
    """Cancel a delayed record: it is never delivered. Cancelling it again succeeds, as a reply may have been lost."""
    partition = broker.partition(name, number)
    if _status(partition, offset).state is not DelayState.CANCELLED:
        _check(partition, offset, DelayState.PENDING)
        await _cancel(broker, partition, BitMap64((offset,)))
        _check(partition, offset, DelayState.CANCELLED)
    return find_delay(broker, name, number, offset)


async def cancel_delays(broker: Broker, name: TopicName, places: Mapping[int, Iterable[int]]) -> list[CancelledPart]:
    """Cancel records by partition, with one journal entry for each partition.

    Records that cannot be cancelled are reported and do not affect the others; records that are already cancelled count
    as cancelled. If storage fails, the request fails and some records may be cancelled; it can be repeated.
    """
    wanted = {number: sorted(set(offsets)) for number, offsets in places.items()}
    count = sum(map(len, wanted.values()))
    if count > MOST_CANCELLED:
        raise InvalidRequest(f"{count} records at once", hint=f"cancel at most {MOST_CANCELLED} in one request")
    broker.partitions(name)
    parts = (_cancel_part(broker, name, number, offsets) for number, offsets in wanted.items())
    ended = await asyncio.gather(*parts, return_exceptions=True)
    for one in ended:
        if isinstance(one, BaseException):
            raise one
    return [one for one in ended if isinstance(one, CancelledPart)]


async def reschedule_delay(broker: Broker, name: TopicName, number: int, offset: int, due: int) -> DelayedRecord:
    """Change the due time. A time in the past makes the record due at once."""
    partition = broker.partition(name, number)
    _check(partition, offset, DelayState.PENDING)
    records: list[Record] = codec.decode(await read_delayed(broker, name, number, offset))
    since = records[0].timestamp_ns if records else broker.clock.now_ns()
    check_dues(broker.catalog.topic(name), (due,), since_ns=since)
    partition = broker.partition(name, number)
    _check(partition, offset, DelayState.PENDING)
    await _change(broker, partition, BitMap64((offset,)), lambda: [partition.delays.reschedule(offset, due)])
    partition.set_alarm()
    if _status(partition, offset).state is not DelayState.DELIVERED:
        # A record due at once may be delivered by now; one cancelled meanwhile has no due time.
        _check(partition, offset, DelayState.PENDING)
    return find_delay(broker, name, number, offset)


def delay_stats(broker: Broker) -> list[TopicDelays]:
    """The topics with records that are or were delayed."""
    found = []
    for topic in broker.catalog:
        delays = [partition.delays for partition in broker.partitions(topic.name) if partition.delays.has_any]
        if delays:
            counts = {state.value: sum(one.count(state) for one in delays) for state in DelayState}
            pages = (one.listing(limit=1) for one in delays)
            next_due = min((page[0].due for page in pages if page), default=None)
            found.append(TopicDelays(topic.name, **counts, next_due=next_due))
    return found


async def _cancel_part(broker: Broker, name: TopicName, number: int, offsets: list[int]) -> CancelledPart:
    """Cancel records of one partition; `offsets` ascend."""
    try:
        partition = broker.partition(name, number)
    except UnknownPartition as refusal:
        return CancelledPart(number, [], [NotCancelled(refusal, offsets)])
    # A record above the high watermark may be refused, and then its offset is given to another record.
    there = BitMap64(offsets[bisect_left(offsets, 0) : bisect_left(offsets, partition.high_watermark)])
    if there and partition.outcomes:
        there -= partition.outcomes.hidden(there.min(), there.max() + 1)
    states = partition.delays.by_state(there)
    pending = states.pop(DelayState.PENDING)
    if pending:
        await _cancel(broker, partition, pending)
        # Meanwhile some may have been delivered, or dropped from the log.
        for state, some in partition.delays.by_state(pending).items():
            states[state] = states.get(state, BitMap64()) | some
    cancelled = states.pop(DelayState.CANCELLED)
    refused = [
        NotCancelled(DelayIsOver(f"the record is {state.value} already"), list(some))
        for state, some in states.items()
        if some
    ]
    known = set(cancelled).union(*states.values())
    if len(known) < len(offsets):
        unknown = [offset for offset in offsets if offset not in known]
        refused.append(NotCancelled(UnknownDelay("the record is not delayed"), unknown))
    return CancelledPart(number, list(cancelled), refused)


async def _cancel(broker: Broker, partition: Partition, offsets: BitMap64) -> None:
    """Cancel those that are pending when the change is decided."""

    def decide() -> list[DelayEvent]:
        pending = partition.delays.by_state(offsets)[DelayState.PENDING]
        return [partition.delays.cancel(*pending)] if pending else []

    await _change(broker, partition, offsets, decide)


async def _change(
    broker: Broker, partition: Partition, offsets: BitMap64, decide: Callable[[], Sequence[DelayEvent]]
) -> None:
    def decide_if_open() -> Sequence[DelayEvent]:
        # The topic may be deleted, and another one made under its name, while this waits for the lock.
        if partition.is_closed:
            raise UnknownTopic(f"{partition.id.topic} was deleted")
        return decide()

    def written() -> None:
        # Groups that wait for a cancelled record skip it.
        over = offsets - partition.delays.by_state(offsets)[DelayState.PENDING]
        if over:
            wake_queues(broker, partition, list(over))

    owner = broker.state_log.owner(delays_stream(partition.id))
    await broker.state_log.change(owner, decide_if_open, lambda: Also(written=written))


def _status(partition: Partition, offset: int) -> DelayStatus:
    # A record above the high watermark may be refused, and then its offset is given to another record. A record of an
    # open transaction is not visible to any reader.
    is_there = 0 <= offset < partition.high_watermark and not partition.outcomes.is_open_offset(offset)
    status = partition.delays.lookup(offset) if is_there else None
    if status is None:
        raise UnknownDelay(f"record {offset} of {partition.id} is not delayed")
    return status


def _check(partition: Partition, offset: int, wanted: DelayState) -> None:
    status = _status(partition, offset)
    if status.state is not wanted:
        raise DelayIsOver(f"record {offset} of {partition.id} is {status.state.value} already")
