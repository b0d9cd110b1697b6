"""Poll: records for a member of a group, from its own partitions, or for a worker, from all partitions."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from goqueue.engine.broker import Broker
from goqueue.engine.groups import group_name, remember_group
from goqueue.engine.queue.at_once import may_take
from goqueue.engine.queue.take import MOST_RECORDS, Taken, TakeRequest, take
from goqueue.engine.workers import WorkerClient
from goqueue.errors import InvalidRequest, StateConflict
from goqueue.model.log import LogId
from goqueue.model.topic import TopicName, topic_name

__all__ = ["MOST_RECORDS", "Poll", "check_consumer", "note_worker", "poll", "reach"]

LONGEST_CONSUMER = 249


class Poll(msgspec.Struct, frozen=True):
    """A poll; `limit` counts the records of all partitions, and `start` applies to partitions never committed.

    A member gives its generation. A worker is not a member: it names topics, or none to take those of the group.
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
    """The connection on which a worker polls, if known."""


async def poll(broker: Broker, request: Poll) -> list[Taken]:
    """At most `limit` records in all, each leased to the consumer; none if nothing is ready in time."""
    check_consumer(request.consumer)
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


def check_consumer(consumer: str) -> None:
    if not 1 <= len(consumer) <= LONGEST_CONSUMER:
        raise InvalidRequest(
            f"the consumer id must have 1 to {LONGEST_CONSUMER} characters, got {len(consumer)}",
            hint="use another consumer id",
        )


def _may_have(broker: Broker, request: Poll, log: LogId) -> bool:
    """Whether the consumer may still take from the partition, after the poll has waited."""
    if request.generation is None:
        return may_take(broker, request.group)
    return log in broker.groups.group(request.group).readable(request.consumer)


def _has_others(broker: Broker, request: Poll, logs: Sequence[LogId]) -> bool:
    """Whether the member's partitions changed since the poll began, so that it should poll again for the new ones."""
    if request.generation is None:
        return False
    group = broker.groups.group(request.group)
    return not group.is_paused and set(group.readable(request.consumer)) != set(logs)


async def _topics(broker: Broker, request: Poll) -> Sequence[str]:
    """The topics that a worker takes from."""
    name = group_name(request.group)
    for topic in request.topics:
        broker.catalog.topic(topic_name(topic))
    topics = sorted(set(request.topics)) or sorted({state.log.topic for state in broker.queues.of_group(name)})
    if not topics:
        raise StateConflict(f"the group {name} has taken nothing yet", hint="name the topics to take from in `topics`")
    await remember_group(broker, name)
    group = broker.groups.group(name)
    group.use(now=broker.clock.now_ns())
    if group.member_count:
        raise StateConflict(
            f"the group {name} has members, which own its partitions",
            hint="join the group, or use one without members",
        )
    note_worker(request)
    return topics


def note_worker(request: Poll) -> None:
    if request.client is not None:
        request.client.heard(request.group, request.consumer, request.wait_ms)


def reach(broker: Broker, group: str, consumer: str, logs: Sequence[LogId]) -> dict[LogId, int]:
    """For each partition, the offset that the consumer may commit once it has processed all its records."""
    found = {}
    for log in logs:
        state = broker.queues.get(group, log)
        if state is not None:
            end = broker.partition(TopicName(log.topic), log.partition).stable_offset
            found[log] = state.delivery.reach_of(consumer, end)
    return found
