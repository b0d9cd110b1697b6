"""Look at delayed records, cancel them, or give them another time."""

import heapq
from collections.abc import Callable
from typing import NamedTuple

from goqueue import codec
from goqueue.core.delay.delays import Delays
from goqueue.core.delay.events import DelayEvent
from goqueue.core.delay.states import DelayState, DelayStatus
from goqueue.engine.broker import Broker
from goqueue.engine.firing import wake_queues
from goqueue.engine.partition import Partition, delays_stream
from goqueue.engine.queue.gather import gather
from goqueue.engine.visibility import is_waiting
from goqueue.errors import DelayIsOver, InvalidRequest, UnknownDelay
from goqueue.model.delay import check_dues
from goqueue.model.record import Record
from goqueue.model.topic import TopicName

__all__ = [
    "MOST_LISTED",
    "MOST_SKIPPED",
    "DelayedRecord",
    "TopicDelays",
    "cancel_delay",
    "delay_stats",
    "find_delay",
    "list_delays",
    "read_delayed",
    "reschedule_delay",
]

MOST_LISTED = 1000
MOST_SKIPPED = 10_000
"""What is skipped has to be put in order, too."""


class DelayedRecord(NamedTuple):
    """`due` is known as long as the record is pending."""

    topic: TopicName
    partition: int
    offset: int
    state: DelayState
    due: int | None


class TopicDelays(NamedTuple):
    """How many records of a topic are in each state, of those that are in the log; and when the next may be due."""

    topic: TopicName
    pending: int
    delivered: int
    cancelled: int
    expired: int
    next_due: int | None


def list_delays(broker: Broker, name: TopicName, *, skip: int = 0, limit: int = 100) -> list[DelayedRecord]:
    """Pending ones of all partitions, the next one to be due first."""
    if not 0 <= skip <= MOST_SKIPPED or not 1 <= limit <= MOST_LISTED:
        raise InvalidRequest(
            f"{limit} delays after {skip}", hint=f"ask for 1 to {MOST_LISTED}, and skip at most {MOST_SKIPPED}"
        )
    lines = (
        [(one.due, partition.id.partition, one.offset) for one in partition.delays.listing(limit=skip + limit)]
        for partition in broker.partitions(name)
    )
    page = list(heapq.merge(*lines))[skip : skip + limit]
    return [DelayedRecord(name, number, offset, DelayState.PENDING, due) for due, number, offset in page]


def find_delay(broker: Broker, name: TopicName, number: int, offset: int) -> DelayedRecord:
    status = _status(broker.partition(name, number), offset)
    return DelayedRecord(name, number, offset, status.state, status.due)


async def read_delayed(broker: Broker, name: TopicName, number: int, offset: int) -> bytes:
    """The record as it lies in the log, though readers do not see it; nothing when compaction has taken it."""
    partition = broker.partition(name, number)
    _status(partition, offset)
    return (await gather(broker, partition, (offset,), codec.MAX_VALUE)).records


async def cancel_delay(broker: Broker, name: TopicName, number: int, offset: int) -> DelayedRecord:
    """It is never delivered. One that is cancelled already stays so: an answer may have been lost on its way."""
    partition = broker.partition(name, number)
    if _status(partition, offset).state is not DelayState.CANCELLED:
        _check(partition, offset, DelayState.PENDING)
        await _change(broker, partition, offset, lambda delays: delays.cancel(offset))
        _check(partition, offset, DelayState.CANCELLED)
    return find_delay(broker, name, number, offset)


async def reschedule_delay(broker: Broker, name: TopicName, number: int, offset: int, due: int) -> DelayedRecord:
    """It is due at another instant. One that has passed makes it due at once."""
    partition = broker.partition(name, number)
    _check(partition, offset, DelayState.PENDING)
    records: list[Record] = codec.decode(await read_delayed(broker, name, number, offset))
    since = records[0].timestamp_ns if records else broker.clock.now_ns()
    check_dues(broker.catalog.topic(name), (due,), since_ns=since)
    partition = broker.partition(name, number)
    _check(partition, offset, DelayState.PENDING)
    await _change(broker, partition, offset, lambda delays: delays.reschedule(offset, due))
    partition.set_alarm()
    if _status(partition, offset).state is not DelayState.DELIVERED:
        # What is due at once may be delivered by now; what was cancelled meanwhile has no time any more.
        _check(partition, offset, DelayState.PENDING)
    return find_delay(broker, name, number, offset)


def delay_stats(broker: Broker) -> list[TopicDelays]:
    """Topics in which something is or was delayed."""
    found = []
    for topic in broker.catalog:
        delays = [partition.delays for partition in broker.partitions(topic.name) if partition.delays.has_any]
        if delays:
            counts = {state.value: sum(one.count(state) for one in delays) for state in DelayState}
            pages = (one.listing(limit=1) for one in delays)
            next_due = min((page[0].due for page in pages if page), default=None)
            found.append(TopicDelays(topic.name, **counts, next_due=next_due))
    return found


async def _change(broker: Broker, partition: Partition, offset: int, decide: Callable[[Delays], DelayEvent]) -> None:
    event = decide(partition.delays)

    def written() -> None:
        partition.delays.apply(event)
        # Groups that wait for a record which is never to come are done with it.
        if not is_waiting(partition, offset):
            wake_queues(broker, partition, (offset,))

    entry = (broker.streams.event(delays_stream(partition.id), event),)
    await broker.commit.write(entry, 64, written=written)


def _status(partition: Partition, offset: int) -> DelayStatus:
    # What is not confirmed yet may be refused, and then another record gets its offset.
    is_there = 0 <= offset < partition.high_watermark
    status = partition.delays.lookup(offset) if is_there else None
    if status is None:
        raise UnknownDelay(f"record {offset} of {partition.id} is not delayed")
    return status


def _check(partition: Partition, offset: int, wanted: DelayState) -> None:
    status = _status(partition, offset)
    if status.state is not wanted:
        raise DelayIsOver(f"record {offset} of {partition.id} is {status.state.value} already")
