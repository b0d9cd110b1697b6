"""Pause the groups whose breakers have tripped, until somebody has looked and resumes them."""

from contextlib import suppress

from goqueue.engine.broker import Broker
from goqueue.engine.groups import pause_group
from goqueue.errors import UnknownGroup

__all__ = ["pause_tripped"]


async def pause_tripped(broker: Broker) -> None:
    """Also called from time to time: whoever tripped a breaker may be gone before the group is paused."""
    breakers = broker.breakers
    while breakers.tripped:
        tripped = breakers.tripped.popleft()
        with suppress(UnknownGroup):
            await pause_group(broker, tripped.group, paused=True, reason=tripped.reason)
            breakers.news.append(tripped)
            broker.timers.set(broker.clock.now_ns())
