"""Groups as lists show them."""

from collections.abc import AsyncIterator

import msgspec

from goqueue.core.groups.group import Group
from goqueue.core.groups.state.members import Protocol
from goqueue.engine.broker import Broker
from goqueue.engine.group_lag import GroupLags
from goqueue.engine.slices import Pace

__all__ = ["GroupSummary", "group_summaries"]

STEPS_OF_GROUP = 30


class GroupSummary(msgspec.Struct, frozen=True):
    """One line of a list; `delayed` records are no part of the lag."""

    name: str
    state: str
    protocol: Protocol | None
    members: int
    lag: int
    delayed: int


async def group_summaries(broker: Broker) -> AsyncIterator[GroupSummary]:
    """All groups by name, with pauses: one that goes meanwhile is left out."""
    lags, pace = GroupLags(broker), Pace()
    for name in sorted(group.name for group in broker.groups):
        if name in broker.groups:
            yield await _summary(broker.groups.group(name), lags, pace)
        await pace.did(STEPS_OF_GROUP)


async def _summary(group: Group, lags: GroupLags, pace: Pace) -> GroupSummary:
    lag, delayed = await lags.paced_total(group, pace)
    view = group.describe()
    return GroupSummary(group.name, view.state.value, view.protocol, group.member_count, lag, delayed)
