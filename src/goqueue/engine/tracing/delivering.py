"""Delivery spans: records delivered to a group, and their settlement."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from goqueue.core.delivery.delivery import Attempts
from goqueue.core.tracing.places import Place, by_delivery
from goqueue.core.tracing.sampling import Sampler
from goqueue.engine.broker import Broker
from goqueue.engine.partition import Partition
from goqueue.engine.ports import Buffer
from goqueue.engine.queue.gather import gather
from goqueue.engine.queue.states import QueueState
from goqueue.engine.tracing.choosing import choose, choose_known
from goqueue.engine.tracing.runs import runs_for
from goqueue.engine.tracing.tracing import EVERYTHING
from goqueue.engine.visibility import hidden
from goqueue.errors import GoQueueError, UnknownTopic
from goqueue.model.log import LogId
from goqueue.model.runs import runs_of
from goqueue.model.span import ErrorType, Operation
from goqueue.model.topic import Topic, TopicName

__all__ = [
    "Settling",
    "committed_offset",
    "is_followed",
    "note_committed",
    "note_delivered",
    "note_settled",
    "settling",
]

MOST_READ_BYTES = 8 * 1024 * 1024
MOST_COMMITTED = 10_000
"""Spans for records before a committed offset; rarely more were read since the previous commit."""


class Settling(NamedTuple):
    """Facts about records that are known only until they are settled."""

    offsets: Sequence[int]
    deliveries: Mapping[int, int]
    """For records that were delivered before."""
    member: str
    is_recent: bool
    """True if they were delivered since the broker started, so that their trace contexts are known."""
    start_ns: int


def note_delivered(
    broker: Broker,
    state: QueueState,
    member: str,
    start_ns: int,
    offsets: Sequence[int],
    records: Buffer,
    again: Mapping[int, Attempts],
) -> None:
    topic = _topic(broker, state.log)
    if topic is None:
        return
    tracing = broker.tracing
    chosen = tracing.sampler(topic)
    if not chosen.part:
        tracing.sampled_out += len(offsets)
        return
    places = choose(tracing, chosen, state.log, offsets, records)
    tracing.sampled_out += len(offsets) - sum(place.length for place in places)
    if places:
        deliveries = {offset: one.deliveries for offset, one in again.items()}
        _note(broker, state, topic, by_delivery(places, deliveries), Operation.CONSUME, start_ns, member=member)


def is_followed(broker: Broker, log: LogId) -> bool:
    """Whether some records of the log are traced, not only failed ones."""
    topic = _topic(broker, log) if broker.tracing.is_on else None
    return topic is not None and broker.tracing.sampler(topic).part > 0


def settling(broker: Broker, state: QueueState, grant: int, offsets: Sequence[int], start_ns: int) -> Settling:
    """Call this while the records are leased; offsets ascend."""
    found = state.delivery.grant(grant)
    deliveries = {offset: one.deliveries for offset, one in state.delivery.repeated(offsets).items()}
    if found is None:
        return Settling(offsets, deliveries, "", True, start_ns)
    return Settling(offsets, deliveries, found.consumer, found.leased_at >= broker.tracing.started_ns, start_ns)


async def note_settled(
    broker: Broker,
    state: QueueState,
    what: Settling,
    operation: Operation,
    *,
    error: str = "",
    error_type: ErrorType | None = None,
    transaction: int = 0,
) -> None:
    """Note that records were acknowledged or, with an error and its type, failed."""
    topic = _topic(broker, state.log)
    if topic is None or not what.offsets:
        return
    tracing = broker.tracing
    chosen = EVERYTHING if error else tracing.sampler(topic)
    end_ns = broker.clock.now_ns()
    if not chosen.part:
        tracing.sampled_out += len(what.offsets)
        return
    if what.is_recent and (not error or _are_known(broker, state.log, what.offsets)):
        places = choose_known(tracing, chosen, state.log, what.offsets)
    else:
        places = await _read(broker, chosen, state.log, what.offsets)
    tracing.sampled_out += len(what.offsets) - sum(place.length for place in places)
    places = by_delivery(places, what.deliveries)
    runs = runs_for(
        topic,
        state.log.partition,
        places,
        operation,
        what.start_ns,
        end_ns,
        group=state.group,
        error=error,
        error_type=error_type or "",
        member=what.member,
        transaction=transaction,
    )
    tracing.note_all(runs)


def note_committed(
    broker: Broker,
    group: str,
    log: LogId,
    before: int | None,
    after: int,
    *,
    member: str = "",
    start_ns: int = 0,
    transaction: int = 0,
) -> None:
    """Note a commit of a group that reads by offset: it has read everything since its previous commit."""
    topic = _topic(broker, log)
    state = broker.queues.get(group, log)
    if topic is None or (state is not None and state.delivery.is_open):
        # Records taken from the queue have spans already.
        return
    tracing = broker.tracing
    chosen = tracing.sampler(topic)
    partition = broker.partition(topic.name, log.partition)
    first = max(partition.log.start_offset if before is None else before, partition.log.start_offset)
    first = max(first, after - MOST_COMMITTED)
    if not chosen.part or first >= after:
        tracing.sampled_out += max(0, after - first)
        return
    offsets = _visible(partition, first, after)
    places = choose_known(tracing, chosen, log, offsets)
    tracing.sampled_out += len(offsets) - sum(place.length for place in places)
    end_ns = broker.clock.now_ns()
    runs = runs_for(
        topic,
        log.partition,
        places,
        Operation.CONSUME,
        start_ns or end_ns,
        end_ns,
        group=group,
        member=member,
        transaction=transaction,
    )
    tracing.note_all(runs)


def committed_offset(broker: Broker, group: str, log: LogId) -> int | None:
    found = broker.groups.group_or_new(group).offsets.get(log)
    return None if found is None else found.offset


def _visible(partition: Partition, first: int, after: int) -> Sequence[int]:
    unseen = hidden(partition, first, after)
    return [one for one in range(first, after) if one not in unseen] if unseen else range(first, after)


def _note(
    broker: Broker,
    state: QueueState,
    topic: Topic,
    places: Sequence[Place],
    operation: Operation,
    start_ns: int,
    *,
    member: str,
) -> None:
    end_ns = broker.clock.now_ns()
    runs = runs_for(topic, state.log.partition, places, operation, start_ns, end_ns, group=state.group, member=member)
    broker.tracing.note_all(runs)


def _are_known(broker: Broker, log: LogId, offsets: Sequence[int]) -> bool:
    """Whether the trace of each record is known. Records that were not traced were not looked at."""
    known = dict(broker.tracing.carried.known(log, offsets))
    return all(known.get(offset) is not None for offset in offsets)


async def _read(broker: Broker, chosen: Sampler, log: LogId, offsets: Sequence[int]) -> list[Place]:
    """Read the trace contexts from the log. An unreadable record counts as having none."""
    try:
        partition = broker.partition(TopicName(log.topic), log.partition)
        found = await gather(broker, partition, offsets, MOST_READ_BYTES)
        places = choose(broker.tracing, chosen, log, found.offsets, found.records)
    except GoQueueError:
        return [Place(first, count) for first, count in runs_of(list(offsets))]
    there = set(found.offsets)
    gone = [offset for offset in offsets if offset not in there]
    return [*places, *(Place(first, count) for first, count in runs_of(gone))] if chosen.is_all else places


def _topic(broker: Broker, log: LogId) -> Topic | None:
    try:
        return broker.catalog.topic(TopicName(log.topic))
    except UnknownTopic:
        return None
