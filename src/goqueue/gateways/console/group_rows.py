"""Rows of groups as the lists show them: who works, and how far behind they are."""

from typing import NamedTuple

from goqueue.engine.broker import Broker
from goqueue.engine.groups import lag_of
from goqueue.gateways.console.workers import workers_of

__all__ = ["GroupRow", "group_row"]


class GroupRow(NamedTuple):
    """`is_active`: workers take records, whatever the state of the group says of its members."""

    name: str
    state: str
    is_paused: bool
    is_active: bool
    members: int
    workers: int
    topics: int
    in_flight: int
    lag: int


def group_row(broker: Broker, name: str) -> GroupRow:
    group = broker.groups.group(name)
    view = group.describe()
    lags = lag_of(broker, view, group)
    workers = workers_of(broker, name)
    return GroupRow(
        name,
        view.state.value,
        view.is_paused,
        workers.is_active,
        len(view.members),
        workers.total,
        len({one.partition.topic for one in lags}),
        sum(state.delivery.leased_count for state in broker.queues.of_group(name)),
        sum(one.lag for one in lags),
    )
