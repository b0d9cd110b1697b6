"""Status of one record in each group of its topic."""

from collections.abc import Sequence
from typing import Literal

import msgspec

from goqueue.core.delivery.delivery import Standing
from goqueue.engine.broker import Broker
from goqueue.engine.partition import Partition
from goqueue.engine.queue.dead_letters import DEAD_LETTER_SUFFIX
from goqueue.engine.queue.states import QueueState
from goqueue.engine.tracing.finding import find_newest
from goqueue.engine.workbench.desk import origin_of
from goqueue.errors import UnknownTopic
from goqueue.model.record import Record
from goqueue.model.span import Operation, Span
from goqueue.model.topic import TopicName

__all__ = ["GroupStand", "GroupState", "stands_of"]

GroupState = Literal[
    "waiting", "delayed", "retrying", "behind_its_key", "in_flight", "done", "dead_lettered", "read", "unread"
]


class GroupStand(msgspec.Struct, frozen=True, kw_only=True):
    """`done` means acknowledged or skipped for good; `read` and `unread` are of groups that read by offset."""

    group: str
    state: GroupState
    deliveries: int = 0
    failures: int = 0
    last_failure: str = ""
    until_ns: int | None = None
    """The end of its lease, or the time of its retry."""
    member: str = ""
    dead_letter: str = ""
    """`topic/partition/offset` of the dead letter, if it can be found."""


async def stands_of(broker: Broker, partition: Partition, offset: int, spans: Sequence[Span]) -> list[GroupStand]:
    """The status in each group, ordered by group name."""
    found: dict[str, GroupStand] = {}
    for group in broker.groups:
        committed = group.offsets.get(partition.id)
        if committed is not None:
            found[group.name] = GroupStand(group=group.name, state="read" if committed.offset > offset else "unread")
    for state in broker.queues.of_log(partition.id):
        if state.delivery.is_open and not state.is_internal:
            found[state.group] = await _stand(broker, state, partition, offset, spans)
    return [found[name] for name in sorted(found)]


async def _stand(
    broker: Broker, state: QueueState, partition: Partition, offset: int, spans: Sequence[Span]
) -> GroupStand:
    at = state.delivery.standing(offset)
    # A record whose rejection was in an aborted transaction is not dead.
    buried = _buried(state, partition, offset, spans) if at.state in ("dead", "settled") else ""
    if at.state == "dead" and not buried:
        buried = await _letter(broker, state, partition, offset)
    history = at.attempts.history
    return GroupStand(
        group=state.group,
        state="dead_lettered" if buried else _state_of(broker, at),
        deliveries=at.attempts.deliveries,
        failures=at.attempts.failures,
        last_failure=history[-1].reason if history else "",
        until_ns=at.until,
        member=at.consumer,
        dead_letter=buried,
    )


def _state_of(broker: Broker, at: Standing) -> GroupState:
    match at.state:
        case "leased":
            return "in_flight"
        case "resting":
            assert at.until is not None
            return "retrying" if at.until > broker.clock.now_ns() else "waiting"
        case "asleep":
            return "delayed"
        case "deferred":
            return "behind_its_key"
        case "dead":
            return "dead_lettered"
        case "settled":
            return "done"
        case "waiting":
            return "waiting"


def _buried(state: QueueState, partition: Partition, offset: int, spans: Sequence[Span]) -> str:
    for span in spans:
        run = span.run
        is_here = (run.topic, run.partition, span.offset) == (*partition.id, offset)
        if run.operation is Operation.DLQ and is_here and run.group == state.group:
            return run.target
    return ""


async def _letter(broker: Broker, state: QueueState, partition: Partition, offset: int) -> str:
    """Search the dead-letter topic by the origin stored in each letter."""
    config = broker.catalog.topic(TopicName(partition.id.topic)).config
    name = TopicName(config.dead_letter_topic or f"{partition.id.topic}{DEAD_LETTER_SUFFIX}")
    try:
        targets = broker.partitions(name)
    except UnknownTopic:
        return ""
    target = targets[partition.id.partition % len(targets)]

    def is_it(record: Record) -> bool:
        origin = origin_of(record)
        here = (*partition.id, offset, state.group)
        return origin is not None and (origin.topic, origin.partition, origin.offset, origin.group) == here

    found = await find_newest(broker, target, f'"offset":{offset}'.encode(), is_it)
    return "" if found is None else f"{target.id}/{found.offset}"
