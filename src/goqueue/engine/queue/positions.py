"""Committed offsets of queues: lag, commits, resets, and the leases of members that leave."""

from collections.abc import Collection, Sequence

from goqueue.core.delivery.delivery import Returns
from goqueue.core.delivery.events import DeliveryEvent
from goqueue.core.groups.events import (
    GroupEvent,
    MemberRemoved,
    MemberReplaced,
    MemberTold,
    OffsetsCommitted,
    RevocationConfirmed,
)
from goqueue.engine.broker import Broker
from goqueue.engine.queue.states import QueueState
from goqueue.errors import GoQueueError
from goqueue.model.log import LogId

__all__ = ["committed_offsets", "follow_group", "give_back_grant", "go_to"]

SILENT_EVENTS = (MemberTold, OffsetsCommitted)
"""These change nothing for a poll."""


def committed_offsets(broker: Broker, group: str) -> dict[LogId, int]:
    """The committed offsets of a group. In a queue, every record before the offset is settled."""
    kept = broker.groups.group_or_new(group).offsets
    found = {log: committed.offset for log, committed in kept.items()}
    for state in broker.queues.of_group(group):
        if state.delivery.is_open:
            found[state.log] = state.delivery.floor
    return found


async def go_to(broker: Broker, group: str, log: LogId, offset: int) -> None:
    """Apply a committed offset to the queue: records before it are settled, and none from it on."""
    state = broker.queues.get(group, log)
    if state is None or not state.delivery.is_open:
        return

    def decide() -> DeliveryEvent | None:
        delivery = state.delivery
        return delivery.forget_below(offset) if offset >= delivery.floor else delivery.reposition(offset)

    await broker.queues.change(state, decide)
    broker.queues.changed(group)


async def follow_group(broker: Broker, group: str, events: Sequence[GroupEvent]) -> None:
    """Return the leases of members that left or gave up partitions, and wake waiting polls."""
    for event in events:
        match event:
            case MemberRemoved(member_id=member):
                await _release(broker, member, broker.queues.of_group(group))
            case MemberReplaced(old_id=member):
                await _release(broker, member, broker.queues.of_group(group))
            case RevocationConfirmed(member_id=member, partitions=partitions):
                logs = {LogId(topic, number) for topic, numbers in partitions.items() for number in numbers}
                await _release(broker, member, [one for one in broker.queues.of_group(group) if one.log in logs])
            case _:
                pass
    if not all(isinstance(event, SILENT_EVENTS) for event in events):
        broker.queues.changed(group)


async def _release(broker: Broker, consumer: str, states: Collection[QueueState]) -> None:
    for state in states:
        for grant in state.delivery.grants_of(consumer):
            await give_back_grant(broker, state, grant.number, "its consumer left")


async def give_back_grant(broker: Broker, state: QueueState, number: int, reason: str) -> None:
    """Return what is left of a grant, if it still exists."""

    def decide() -> DeliveryEvent | None:
        grant = state.delivery.grant(number)
        if grant is None:
            return None
        returns = Returns(number, list(grant.records), reason)
        return state.delivery.give_back(returns, now=broker.clock.now_ns())

    try:
        await broker.queues.change(state, decide)
    except GoQueueError:
        # For example, the disk is full: the records return when their leases expire.
        return
    broker.queues.changed(state.group)
