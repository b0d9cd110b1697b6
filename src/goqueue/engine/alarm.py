"""Delay alarm: the partitions with pending delayed records, and the earliest due time."""

from typing import TYPE_CHECKING

from goqueue.engine.timers import Timers

if TYPE_CHECKING:
    from goqueue.engine.partition import Partition

__all__ = ["DelayAlarm"]


class DelayAlarm:
    """Partitions report every new due time to it."""

    def __init__(self, timers: Timers) -> None:
        self._timers = timers
        self._partitions: dict[Partition, None] = {}

    def set(self, partition: "Partition", due: int) -> None:
        """Note that a record of the partition is due at this time."""
        self._partitions[partition] = None
        self._timers.set(due)

    def forget(self, partition: "Partition") -> None:
        self._partitions.pop(partition, None)

    def due(self, now: int) -> "list[Partition]":
        """Partitions in which a record may be due."""
        found = []
        for partition in tuple(self._partitions):
            at = partition.delays.next_due()
            if at is None:
                del self._partitions[partition]
            elif at <= now:
                found.append(partition)
        return found

    def next_due(self) -> int | None:
        """The next due time; None while no record is pending."""
        return min((at for one in self._partitions if (at := one.delays.next_due()) is not None), default=None)
