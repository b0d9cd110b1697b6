"""Expiry of unused groups, producers and transactional ids.

A group expires after it has been empty for its retention: not paused, without members, leases, pending retries, delayed
records it has passed, or waiting workers. Backlog does not keep it. Its committed offsets and acknowledgements go with
it, as with Kafka's `offsets.retention`. Each round runs in slices, as there may be very many items.
"""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from goqueue.core.groups.group import Group
from goqueue.core.transactions.events import IdsForgotten
from goqueue.engine.broker import Broker
from goqueue.engine.groups import INTERNAL_PREFIX, delete_group, note_use
from goqueue.engine.partition import producers_stream
from goqueue.engine.slices import in_slices
from goqueue.engine.stream_names import COORDINATOR
from goqueue.errors import UnknownGroup
from goqueue.model.ids import InstantNs
from goqueue.model.topic import TopicName

__all__ = ["expire_groups", "expires_at", "forget_producers", "forget_transactional_ids"]

NS_PER_MS = 1_000_000
NOTED_SHARE = 8
"""The last use of a group is written when it is newer than the one written by this share of the retention."""
AT_ONCE = 100
"""Groups deleted, or ids forgotten, with one sync."""


def expires_at(broker: Broker, group: Group) -> InstantNs | None:
    """The expiry time of the group unless it is used before; None while it is not empty."""
    if _is_busy(broker, group, broker.clock.now_ns()):
        return None
    return InstantNs(_used_at(broker, group) + _retention_ns(broker, group))


async def expire_groups(broker: Broker) -> list[str]:
    """Delete the groups that have been empty for their retention; returns their names."""
    expired: list[str] = []
    due: list[str] = []
    used: list[tuple[str, int]] = []
    async for group in in_slices(list(broker.groups)):
        if group.name.startswith(INTERNAL_PREFIX):
            continue
        now = broker.clock.now_ns()
        if _is_busy(broker, group, now):
            group.use(now=now)
        retention_ns = _retention_ns(broker, group)
        if _used_at(broker, group) + retention_ns <= now:
            due.append(group.name)
        elif not group.member_count:
            used.append((group.name, retention_ns // NOTED_SHARE))
        if len(due) >= AT_ONCE:
            expired += await _delete(broker, due)
            due = []
        if len(used) >= AT_ONCE:
            await _note(broker, used)
            used = []
    await _note(broker, used)
    return expired + await _delete(broker, due)


async def _delete(broker: Broker, names: Sequence[str]) -> list[str]:
    """Delete the groups that are still due when their change is decided."""

    def is_due(group: Group, now: InstantNs) -> bool:
        at = expires_at(broker, group)
        return at is not None and at <= now

    async def delete(name: str) -> str | None:
        with suppress(UnknownGroup):
            await delete_group(broker, name, only_if=is_due)
        return None if name in broker.groups else name

    return [name for name in await asyncio.gather(*map(delete, names)) if name is not None]


async def _note(broker: Broker, used: Sequence[tuple[str, int]]) -> None:
    async def note(name: str, after_ns: int) -> None:
        with suppress(UnknownGroup):
            await note_use(broker, name, after_ns=after_ns)

    await asyncio.gather(*(note(*one) for one in used))


def _is_busy(broker: Broker, group: Group, now: InstantNs) -> bool:
    if group.member_count or group.is_paused or broker.queues.is_awaited(group.name):
        return True
    return any(state.delivery.is_busy(now=now) for state in broker.queues.of_group(group.name))


def _used_at(broker: Broker, group: Group) -> InstantNs:
    leases = (state.delivery.leased_at for state in broker.queues.of_group(group.name))
    return max(group.used_at, *leases, InstantNs(0))


def _retention_ns(broker: Broker, group: Group) -> int:
    """The retention of the group, or the longest of the topics that it has read."""
    usual = broker.expiry.offsets_retention_ms
    own = broker.policies.of(group.name).offsets_retention_ms
    if own is not None:
        return own * NS_PER_MS
    topics = {log.topic for log in group.offsets}
    topics.update(state.log.topic for state in broker.queues.of_group(group.name))
    configs = (broker.catalog.topic(TopicName(name)).config for name in topics if name in broker.catalog)
    return max((config.offsets_retention_ms or usual for config in configs), default=usual) * NS_PER_MS


async def forget_producers(broker: Broker) -> int:
    """Forget the sequence numbers of producers that were silent for their retention; returns how many."""
    before = InstantNs(broker.clock.now_ns() - broker.expiry.producers_retention_ms * NS_PER_MS)
    forgotten = 0
    async for partition in in_slices(list(broker.opened)):
        if not len(partition.producers):
            continue
        in_use = {one.producer_id for one in broker.transactions.live()}
        count = partition.producers.forget_silent(before, in_use)
        if count:
            broker.streams.changed(producers_stream(partition.id))
            forgotten += count
    return forgotten


async def forget_transactional_ids(broker: Broker) -> int:
    """Forget ids that were unused for their retention and have no open transaction; returns how many."""
    before = InstantNs(broker.clock.now_ns() - broker.expiry.transactional_ids_retention_ms * NS_PER_MS)
    owner = broker.state_log.owner(COORDINATOR)
    forgotten = 0

    def decide() -> list[IdsForgotten]:
        event = broker.transactions.forget_idle(before, AT_ONCE)
        return [] if event is None else [event]

    while events := await broker.state_log.change(owner, decide):
        forgotten += sum(len(event.transactional_ids) for event in events)
    return forgotten
