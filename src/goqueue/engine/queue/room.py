"""Room of a consumer that limits its own records in flight."""

import asyncio
import contextlib

from goqueue.engine.broker import Broker

__all__ = ["wait_for_room"]


async def wait_for_room(broker: Broker, group: str, consumer: str, most: int, wait_ms: int) -> int:
    """How many more records the consumer may take, up to `most` in flight; waits for a settlement if there are none."""
    room = most - broker.queues.in_flight(group, consumer)
    if room > 0:
        return room
    settled = asyncio.Event()
    broker.queues.watch(group, settled.set)
    try:
        with broker.queues.waiting_for_room(group, consumer), contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_ms / 1000):
                while (room := most - broker.queues.in_flight(group, consumer)) <= 0:
                    settled.clear()
                    await settled.wait()
    finally:
        broker.queues.unwatch(group, settled.set)
    return room
