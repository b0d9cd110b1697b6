"""Poll as a member of a group, which has partitions of its own, or as a worker that takes from all of them."""

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from goqueue.engine.broker import Broker
from goqueue.engine.groups import group_name, remember_group
from goqueue.engine.partition import Partition
from goqueue.engine.queue.at_once import may_take
from goqueue.engine.queue.states import PollAtOnce, QueueState
from goqueue.engine.queue.take import MOST_RECORDS, Taken, TakeRequest, bytes_within, check_take, room_of, take
from goqueue.engine.queue.together import take_together
from goqueue.engine.workers import WorkerClient
from goqueue.errors import InvalidRequest, StateConflict
from goqueue.model.ids import InstantNs
from goqueue.model.log import LogId
from goqueue.model.topic import TopicName, topic_name

__all__ = ["MOST_RECORDS", "Poll", "poll", "poll_at_once", "reach"]

LONGEST_CONSUMER = 249


class Poll(msgspec.Struct, frozen=True):
    """Who asks, for how many in all, and how long to wait; `start` is for partitions never committed.

    A member says its generation. A worker is no member: it says which topics, or leaves it at those of the group.
    """

    group: str
    consumer: str
    generation: int | None = None
    topics: Sequence[str] = ()
    limit: int = 100
    max_bytes: int = 4 * 1024 * 1024
    wait_ms: int = 30_000
    visibility_ms: int | None = None
    in_key_order: bool = False
    start: Literal["earliest", "latest"] = "earliest"
    client: WorkerClient | None = None
    """The connection on which a worker polls, as far as it is known."""


async def poll(broker: Broker, request: Poll) -> list[Taken]:
    """At most `limit` records in all, each leased to the consumer; none when nothing is ready in time."""
    _check_consumer(request.consumer)
    topics: Sequence[str] = ()
    logs: Sequence[LogId] = ()
    if request.generation is None:
        topics = await _topics(broker, request)
    else:
        group = broker.groups.group(request.group)
        logs = group.check_poll(request.consumer, request.generation, now=broker.clock.now_ns())
    wanted = TakeRequest(
        request.group,
        request.consumer,
        logs,
        request.limit,
        request.max_bytes,
        request.wait_ms,
        request.visibility_ms,
        request.in_key_order,
        request.start == "latest",
        topics,
    )
    return await take(
        broker, wanted, lambda log: _may_have(broker, request, log), lambda: _has_others(broker, request, logs)
    )


def poll_at_once(broker: Broker, request: Poll, answer: Callable[[Taken | Exception | None], bool]) -> bool:
    """Whether a worker seems to find all that it wants in one partition: then `answer` is called with it before long.

    It is called with None if that turns out to be wrong; then, as when this says no, a `poll` has to look. It has to
    return whether there is still somebody who gets it, or else it goes back.
    """
    if request.generation is not None or request.in_key_order or len(request.topics) != 1:
        return False
    ring = broker.rings.find(request.group, request.topics[0])
    if ring is None or not may_take(broker, request.group):
        return False
    _check_consumer(request.consumer)
    check_take(request.limit, request.wait_ms, request.visibility_ms)
    if room_of(broker, request.group, request.consumer) < request.limit:
        return False
    now_ns = broker.clock.now_ns
    found = next((one for one in ring.may_be_ready(now_ns) if _has_enough(*one, request.limit, now_ns())), None)
    if found is None:
        return False
    state, partition = found
    max_bytes = bytes_within(request.max_bytes)
    _note_worker(request)
    broker.queues.begin_take(request.group, request.consumer, request.limit)
    wanted = PollAtOnce(partition, request.consumer, request.limit, max_bytes, request.visibility_ms, answer)
    take_together(broker, state, wanted)
    return True


def _has_enough(state: QueueState, partition: Partition, limit: int, now: InstantNs) -> bool:
    """Whether so many are left behind what others wait for, as far as that is told without a look at lanes."""
    promised = sum(poll.limit for poll in state.polls)
    return state.delivery.has_ready(partition.stable_offset - promised - limit + 1, now=now)


def _check_consumer(consumer: str) -> None:
    if not 1 <= len(consumer) <= LONGEST_CONSUMER:
        raise InvalidRequest(f"a consumer id of {len(consumer)} characters", hint=f"use 1 to {LONGEST_CONSUMER}")


def _may_have(broker: Broker, request: Poll, log: LogId) -> bool:
    """Whether what was found while the poll waited is still the consumer's to have."""
    if request.generation is None:
        return may_take(broker, request.group)
    return log in broker.groups.group(request.group).readable(request.consumer)


def _has_others(broker: Broker, request: Poll, logs: Sequence[LogId]) -> bool:
    """Whether a member has other partitions than when its poll began: it should ask again, for those it has now."""
    if request.generation is None:
        return False
    group = broker.groups.group(request.group)
    return not group.is_paused and set(group.readable(request.consumer)) != set(logs)


async def _topics(broker: Broker, request: Poll) -> Sequence[str]:
    """Those a worker takes from."""
    name = group_name(request.group)
    for topic in request.topics:
        broker.catalog.topic(topic_name(topic))
    topics = sorted(set(request.topics)) or sorted({state.log.topic for state in broker.queues.of_group(name)})
    if not topics:
        raise StateConflict(f"the group {name} has taken nothing yet", hint="say from which topics, with `topics`")
    await remember_group(broker, name)
    group = broker.groups.group(name)
    group.use(now=broker.clock.now_ns())
    if group.member_count:
        raise StateConflict(
            f"the group {name} has members, to whom its partitions belong",
            hint="join the group, or use one without members",
        )
    _note_worker(request)
    return topics


def _note_worker(request: Poll) -> None:
    if request.client is not None:
        request.client.heard(request.group, request.consumer, request.wait_ms)


def reach(broker: Broker, group: str, consumer: str, logs: Sequence[LogId]) -> dict[LogId, int]:
    """For each partition, what the consumer may commit when it is through with all it has."""
    found = {}
    for log in logs:
        state = broker.queues.get(group, log)
        if state is not None:
            end = broker.partition(TopicName(log.topic), log.partition).stable_offset
            found[log] = state.delivery.reach_of(consumer, end)
    return found
