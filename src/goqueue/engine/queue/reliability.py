"""Queue statistics: records in flight now, and outcomes since the broker started."""

import msgspec

from goqueue.engine.broker import Broker
from goqueue.engine.group_load import GroupLoad, group_loads
from goqueue.engine.queue.states import QueueState

__all__ = ["Reliability", "reliability"]


class Reliability(msgspec.Struct):
    """The statistics of one group in one topic."""

    group: str
    topic: str
    in_flight: int = 0
    waiting_for_retry: int = 0
    deferred: int = 0
    """Records that wait for another record of their key."""
    acked: int = 0
    nacked: int = 0
    rejected: int = 0
    expired: int = 0
    """Leases that expired."""
    dead_lettered: int = 0
    ready: int = 0
    lag: int = 0
    """Ready, leased, deferred or waiting for a retry."""
    delayed: int = 0
    workers: int = 0
    """Of the group, in all of its topics."""

    def add(self, state: QueueState) -> None:
        delivery, tally = state.delivery, state.tally
        self.in_flight += delivery.leased_count
        self.deferred += delivery.deferred_count
        self.acked += tally.acked
        self.nacked += tally.nacked
        self.rejected += tally.rejected
        self.expired += tally.expired
        self.dead_lettered += tally.dead_lettered


async def reliability(broker: Broker) -> list[Reliability]:
    """The statistics of all queues, by group and topic."""
    found: list[Reliability] = []
    async for load in group_loads(broker):
        if load.is_queue:
            found.append(_of(broker, load))
    return sorted(found, key=lambda one: (one.group, one.topic))


def _of(broker: Broker, load: GroupLoad) -> Reliability:
    workers = broker.workers.count(broker.groups.group(load.group))
    one = Reliability(
        load.group,
        load.topic,
        waiting_for_retry=load.resting,
        ready=sum(load.ready),
        lag=load.lag,
        delayed=load.delayed,
        workers=workers,
    )
    for state in load.states:
        one.add(state)
    return one
