"""Groups as operators see them, beyond what a group knows of itself: their state with workers, and lines of lists."""

from collections.abc import AsyncIterator
from enum import StrEnum

import msgspec

from goqueue.core.groups.group import Group
from goqueue.core.groups.state.lifecycle import GroupState
from goqueue.core.groups.state.members import Protocol
from goqueue.engine.broker import Broker
from goqueue.engine.group_lag import GroupLags
from goqueue.engine.slices import Pace

__all__ = ["MOST_WORKERS_SHOWN", "GroupSummary", "ShownState", "group_summaries", "shown_state"]

MOST_WORKERS_SHOWN = 100
STEPS_OF_GROUP = 30


class ShownState(StrEnum):
    """The state of a group as it is shown: that of its life, but for groups without members that workers serve."""

    EMPTY = GroupState.EMPTY
    REBALANCING = GroupState.REBALANCING
    STABLE = GroupState.STABLE
    DEAD = GroupState.DEAD
    WORKING = "Working"


class GroupSummary(msgspec.Struct, frozen=True):
    """One line of a list; `delayed` records are no part of the lag."""

    name: str
    state: ShownState
    protocol: Protocol | None
    members: int
    lag: int
    delayed: int
    workers: int


def shown_state(group: Group, workers: int) -> ShownState:
    is_working = workers and group.state is GroupState.EMPTY
    return ShownState.WORKING if is_working else ShownState(group.state.value)


async def group_summaries(broker: Broker) -> AsyncIterator[GroupSummary]:
    """All groups by name, with pauses: one that goes meanwhile is left out."""
    lags, pace = GroupLags(broker), Pace()
    for name in sorted(group.name for group in broker.groups):
        if name in broker.groups:
            yield await _summary(broker, broker.groups.group(name), lags, pace)
        await pace.did(STEPS_OF_GROUP)


async def _summary(broker: Broker, group: Group, lags: GroupLags, pace: Pace) -> GroupSummary:
    lag, delayed = await lags.paced_total(group, pace)
    workers = broker.workers.count(group)
    view = group.describe()
    return GroupSummary(
        group.name, shown_state(group, workers), view.protocol, group.member_count, lag, delayed, workers
    )
