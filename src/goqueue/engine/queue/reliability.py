"""How deliveries fare: what is under way now, and what became of records since the broker started."""

import msgspec

from goqueue.engine.broker import Broker
from goqueue.engine.queue.states import QueueState

__all__ = ["Reliability", "reliability"]


class Reliability(msgspec.Struct):
    """Of one group in one topic."""

    group: str
    topic: str
    in_flight: int = 0
    waiting_for_retry: int = 0
    deferred: int = 0
    """They wait for another record of their key."""
    acked: int = 0
    nacked: int = 0
    rejected: int = 0
    expired: int = 0
    """Not acknowledged in time."""
    dead_lettered: int = 0

    def add(self, state: QueueState) -> None:
        delivery, tally = state.delivery, state.tally
        self.in_flight += delivery.leased_count
        self.waiting_for_retry += delivery.resting_count
        self.deferred += delivery.deferred_count
        self.acked += tally.acked
        self.nacked += tally.nacked
        self.rejected += tally.rejected
        self.expired += tally.expired
        self.dead_lettered += tally.dead_lettered


def reliability(broker: Broker) -> list[Reliability]:
    found: dict[tuple[str, str], Reliability] = {}
    for state in broker.queues:
        if not state.is_internal:
            place = (state.group, state.log.topic)
            found.setdefault(place, Reliability(*place)).add(state)
    return [found[place] for place in sorted(found)]
