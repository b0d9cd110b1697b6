"""Where a group stands in a partition, for those who count in offsets: lag, commits, resets, and members that go."""

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
"""They change nothing for a poll."""


def committed_offsets(broker: Broker, group: str) -> dict[LogId, int]:
    """Where the group goes on; where it takes records from the queue, everything before is done."""
    kept = broker.groups.group_or_new(group).offsets
    found = {log: committed.offset for log, committed in kept.items()}
    for state in broker.queues.of_group(group):
        if state.delivery.is_open:
            found[state.log] = state.delivery.floor
    return found


async def go_to(broker: Broker, group: str, log: LogId, offset: int) -> None:
    """Somebody committed an offset: what lies before it is done with, and nothing behind it is."""
    state = broker.queues.get(group, log)
    if state is None or not state.delivery.is_open:
        return

    def decide() -> DeliveryEvent | None:
        delivery = state.delivery
        return delivery.forget_below(offset) if offset >= delivery.floor else delivery.reposition(offset)

    await broker.queues.change(state, decide)
    broker.queues.changed(group)


async def follow_group(broker: Broker, group: str, events: Sequence[GroupEvent]) -> None:
    """Members went, or gave up partitions: what they had there is for the others. Polls that wait look again."""
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
    """What is left of a grant, if there is still one under the number."""

    def decide() -> DeliveryEvent | None:
        grant = state.delivery.grant(number)
        if grant is None:
            return None
        returns = Returns(number, list(grant.records), reason)
        return state.delivery.give_back(returns, now=broker.clock.now_ns())

    try:
        await broker.queues.change(state, decide)
    except GoQueueError:
        # The disk is full, for example: they come back when their time is up.
        return
    broker.queues.changed(state.group)
