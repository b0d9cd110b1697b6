"""Workers of a group as the pages show them: consumers that take records without being members."""

from typing import NamedTuple

from goqueue.core.groups.group import Group
from goqueue.engine.broker import Broker

__all__ = ["Workers", "workers_of"]

ACTIVE_NS = 10_000_000_000
"""A group whose last record was taken within this time is at work, also while nothing is leased."""
MOST_SHOWN = 200


class Worker(NamedTuple):
    name: str
    in_flight: int


class Workers(NamedTuple):
    """`rows` are those that have records, the busiest first, of `total`; `taken_ns`: when one was taken last, or 0."""

    rows: list[Worker]
    total: int
    taken_ns: int
    is_active: bool


def workers_of(broker: Broker, group: Group, topic: str | None = None) -> Workers:
    """The one place where pages ask for workers; in one topic, or in all that the group takes from."""
    states = [one for one in broker.queues.of_group(group.name) if topic in (None, one.log.topic)]
    taken = max((one.delivery.leased_at for one in states), default=0)
    members = {one.profile.member_id for one in group.describe().members}
    found = broker.queues.holders(group.name)
    if topic is not None:
        found = {name: sum(one.delivery.in_flight(name) for one in states) for name in found}
    rows = [Worker(name, count) for name, count in found.items() if count and name not in members]
    rows.sort(key=lambda row: (-row.in_flight, row.name))
    is_active = bool(rows) or 0 <= broker.clock.now_ns() - taken < ACTIVE_NS
    return Workers(rows[:MOST_SHOWN], len(rows), taken, is_active)
