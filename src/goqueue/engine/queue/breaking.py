"""Pausing of groups whose circuit breaker has tripped, until an operator resumes them."""

from contextlib import suppress

from goqueue.engine.broker import Broker
from goqueue.engine.groups import pause_group
from goqueue.errors import UnknownGroup

__all__ = ["pause_tripped"]


async def pause_tripped(broker: Broker) -> None:
    """Pause the groups. Also called periodically, as the caller that tripped a breaker may have been cancelled."""
    breakers = broker.breakers
    while breakers.tripped:
        tripped = breakers.tripped.popleft()
        with suppress(UnknownGroup):
            await pause_group(broker, tripped.group, paused=True, reason=tripped.reason)
            breakers.news.append(tripped)
            broker.timers.set(broker.clock.now_ns())
