"""Views of groups for operators: their state including workers, and the lines of group lists."""

from collections.abc import AsyncIterator, Iterator
from enum import StrEnum
from heapq import merge

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
SORTED_AT_ONCE = 2000


class ShownState(StrEnum):
    """The displayed state of a group: its life-cycle state, or Working for a group without members that has workers."""

    EMPTY = GroupState.EMPTY
    REBALANCING = GroupState.REBALANCING
    STABLE = GroupState.STABLE
    DEAD = GroupState.DEAD
    WORKING = "Working"


class GroupSummary(msgspec.Struct, frozen=True):
    """One line of a list; the lag does not include `delayed` records."""

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
    """All groups by name, with pauses: a group deleted meanwhile is left out."""
    lags, pace = GroupLags(broker), Pace()
    for name in await _names(broker, pace):
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


async def _names(broker: Broker, pace: Pace) -> Iterator[str]:
    """All names in order, with pauses: sorting very many at once would block the event loop."""
    groups = list(broker.groups)
    runs = []
    for first in range(0, len(groups), SORTED_AT_ONCE):
        runs.append(sorted(group.name for group in groups[first : first + SORTED_AT_ONCE]))
        await pace.did(SORTED_AT_ONCE)
    return merge(*runs)
