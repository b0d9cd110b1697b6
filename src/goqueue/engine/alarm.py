"""Alarm of delayed records: which partitions have records that wait, and when the first of them is due."""

from typing import TYPE_CHECKING

from goqueue.engine.timers import Timers

if TYPE_CHECKING:
    from goqueue.engine.partition import Partition

__all__ = ["DelayAlarm"]


class DelayAlarm:
    """Partitions tell it of every new instant."""

    def __init__(self, timers: Timers) -> None:
        self._timers = timers
        self._partitions: dict[Partition, None] = {}

    def set(self, partition: "Partition", due: int) -> None:
        """Something in the partition is due at this instant."""
        self._partitions[partition] = None
        self._timers.set(due)

    def forget(self, partition: "Partition") -> None:
        self._partitions.pop(partition, None)

    def due(self, now: int) -> "list[Partition]":
        """Partitions in which something may be due."""
        found = []
        for partition in tuple(self._partitions):
            at = partition.delays.next_due()
            if at is None:
                del self._partitions[partition]
            elif at <= now:
                found.append(partition)
        return found

    def next_due(self) -> int | None:
        """When to look again; None while nothing waits."""
        return min((at for one in self._partitions if (at := one.delays.next_due()) is not None), default=None)
