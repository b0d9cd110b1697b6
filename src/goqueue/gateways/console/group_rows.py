"""Rows of groups as the lists show them: who works, and how far behind they are."""

from collections.abc import Iterable
from typing import NamedTuple

from goqueue.engine.broker import Broker
from goqueue.engine.group_lag import GroupLags, topics_of
from goqueue.engine.group_views import shown_state
from goqueue.engine.slices import Pace

__all__ = ["GroupRow", "group_rows"]

STEPS_OF_GROUP = 30


class GroupRow(NamedTuple):
    name: str
    state: str
    is_paused: bool
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
        workers = broker.workers.count(group)
        rows.append(
            GroupRow(
                name,
                shown_state(group, workers).value,
                group.is_paused,
                group.member_count,
                workers,
                len(topics_of(broker, group)),
                sum(state.delivery.leased_count for state in broker.queues.of_group(name)),
                lag,
            )
        )
        await pace.did(STEPS_OF_GROUP)
    return rows
