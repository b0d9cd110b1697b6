"""Which partitions have delayed records that wait, and when to look at them next."""

import asyncio
from typing import TYPE_CHECKING

from goqueue.model.delay import LATEST_NS

if TYPE_CHECKING:
    from goqueue.engine.partition import Partition

__all__ = ["DelayAlarm"]


class DelayAlarm:
    """Partitions tell it of every new instant; whoever sleeps is woken only by one that is earlier than planned."""

    def __init__(self) -> None:
        self._partitions: dict[Partition, None] = {}
        self._until = LATEST_NS
        self._news = asyncio.Event()

    def set(self, partition: "Partition", due: int) -> None:
        """Something in the partition is due at this instant."""
        self._partitions[partition] = None
        if due < self._until:
            self._until = due
            self._news.set()

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
        """When to look again. An instant that is set from here on and is earlier ends `wait`."""
        self._news.clear()
        instants = [at for one in self._partitions if (at := one.delays.next_due()) is not None]
        self._until = min(instants, default=LATEST_NS)
        return min(instants, default=None)

    async def wait(self) -> None:
        await self._news.wait()
