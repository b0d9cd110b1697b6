"""Rows of groups as the lists show them: who works, and how far behind they are."""

from collections.abc import Iterable
from typing import NamedTuple

from goqueue.engine.broker import Broker
from goqueue.engine.group_lag import GroupLags, topics_of
from goqueue.engine.slices import Pace
from goqueue.gateways.console.workers import workers_of

__all__ = ["GroupRow", "group_rows"]

STEPS_OF_GROUP = 30


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


async def group_rows(broker: Broker, names: Iterable[str]) -> list[GroupRow]:
    """Of those that are still there, with pauses."""
    lags, pace, rows = GroupLags(broker), Pace(), []
    for name in names:
        if name not in broker.groups:
            continue
        group = broker.groups.group(name)
        lag = (await lags.paced_total(group, pace)).lag
        workers = workers_of(broker, group)
        rows.append(
            GroupRow(
                name,
                group.state.value,
                group.is_paused,
                workers.is_active,
                group.member_count,
                workers.total,
                len(topics_of(broker, group)),
                sum(state.delivery.leased_count for state in broker.queues.of_group(name)),
                lag,
            )
        )
        await pace.did(STEPS_OF_GROUP)
    return rows
