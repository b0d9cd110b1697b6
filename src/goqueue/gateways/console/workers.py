"""Workers of a group as the pages show them: consumers that take records without being members."""

from typing import NamedTuple

from goqueue.core.groups.group import Group
from goqueue.engine.broker import Broker
from goqueue.engine.group_views import MOST_WORKERS_SHOWN
from goqueue.engine.workers import WorkerView

__all__ = ["WorkersShown", "workers_of"]


class WorkersShown(NamedTuple):
    """The first of `total` workers; `taken_ns`: when a record was taken last, or 0."""

    rows: list[WorkerView]
    total: int
    taken_ns: int


def workers_of(broker: Broker, group: Group) -> WorkersShown:
    taken = max((one.delivery.leased_at for one in broker.queues.of_group(group.name)), default=0)
    return WorkersShown(broker.workers.of(group, MOST_WORKERS_SHOWN), broker.workers.count(group), taken)
