"""Make delayed records visible when they are due.

What is due together is fired together: one event for each partition, a few times in a hundredth of a second. Nothing is
early by a nanosecond, and late by a few milliseconds. What came due while the broker was down fires as soon as it runs.
"""

import asyncio
from collections.abc import Sequence

from goqueue.core.delay.events import Fired
from goqueue.core.delay.packing import pack, unpack
from goqueue.engine.broker import Broker
from goqueue.engine.partition import Partition, delays_stream
from goqueue.engine.state_log import Also
from goqueue.engine.tracing.waiting import note_fired
from goqueue.model.ids import InstantNs

__all__ = ["TOGETHER_MS", "fire_due", "wake_queues"]

TOGETHER_MS = 3
"""A pause between two rounds, so that many records with instants side by side share an event."""
FIRED_AT_ONCE = 2000
"""Of one partition: applying more would keep the event loop too long."""


async def fire_due(broker: Broker) -> int:
    """One round; returns how many records became visible. More may be due already: ask the alarm."""
    now = broker.clock.now_ns()
    return sum(await asyncio.gather(*(_fire(broker, partition, now) for partition in broker.alarm.due(now))))


async def _fire(broker: Broker, partition: Partition, now: InstantNs) -> int:
    if not broker.is_open(partition):
        broker.alarm.forget(partition)
        return 0
    offsets: list[int] = []

    def decide() -> list[Fired]:
        event = partition.delays.fire(now=now, limit=FIRED_AT_ONCE) if broker.is_open(partition) else None
        # What is not confirmed cannot be read yet, and may still be refused: another record would get its offset then.
        end = partition.high_watermark
        offsets.extend(() if event is None else (offset for offset in unpack(event.offsets) if offset < end))
        return [Fired(pack(offsets))] if offsets else []

    def written() -> None:
        partition.tally.fired += len(offsets)
        wake_queues(broker, partition, offsets)

    owner = broker.state_log.owner(delays_stream(partition.id))
    await broker.state_log.change(owner, decide, lambda: Also(written=written))
    if not offsets:
        return 0
    if broker.tracing.is_on and broker.is_open(partition):
        note_fired(broker, partition, offsets, now)
    return len(offsets)


def wake_queues(broker: Broker, partition: Partition, offsets: Sequence[int]) -> None:
    """Groups that have passed these records look at them again: to deliver them, or to be done with them."""
    for state in broker.queues.of_log(partition.id):
        if state.delivery.wake_these(offsets):
            broker.rings.look_again(state)
            broker.queues.changed(state.group)
