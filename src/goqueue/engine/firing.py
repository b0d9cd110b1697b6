"""Firing of delayed records: make them visible when they are due.

Records due together fire together: one event for each partition, a few times per hundredth of a second. A record never
fires early, and a few milliseconds late at most. Records that became due while the broker was down fire at the start.
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
"""Pause between two rounds, so that many records with close due times share an event."""
FIRED_AT_ONCE = 2000
"""Records of one partition per round: applying more would occupy the event loop for too long."""


async def fire_due(broker: Broker) -> int:
    """Run one round; returns the number of records that became visible. More may be due: see the alarm."""
    now = broker.clock.now_ns()
    return sum(await asyncio.gather(*(_fire(broker, partition, now) for partition in broker.alarm.due(now))))


async def _fire(broker: Broker, partition: Partition, now: InstantNs) -> int:
    if not broker.is_open(partition):
        broker.alarm.forget(partition)
        return 0
    offsets: list[int] = []

    def decide() -> list[Fired]:
        event = partition.delays.fire(now=now, limit=FIRED_AT_ONCE) if broker.is_open(partition) else None
        # An unconfirmed record is not readable and may be refused; then its offset is given to another record.
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
    """Make groups that have passed these records look at them again, to deliver or to skip them."""
    for state in broker.queues.of_log(partition.id):
        if state.delivery.wake_these(offsets):
            broker.rings.look_again(state)
            broker.queues.changed(state.group)
