"""Age of the first waiting record of every group and partition, read from the logs.

The timestamp of each record is read once, when the record becomes the first. If too many records did, some are read at
the next look, and until then show the time of their predecessor.
"""

import asyncio
from collections.abc import Sequence

from goqueue import codec
from goqueue.engine.broker import Broker
from goqueue.engine.group_load import GroupLoad
from goqueue.engine.partition import Partition
from goqueue.engine.slices import Pace
from goqueue.errors import GoQueueError

__all__ = ["HeadAges"]

READ_AT_ONCE = 256
ENOUGH_FOR_ONE = 1
NS_PER_S = 1_000_000_000

Place = tuple[str, Partition]
Head = tuple[Place, int]
"""Group, partition, and the first record that waits there."""


class HeadAges:
    """Ages of the records that are first now; nothing else is kept."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._known: dict[Place, tuple[int, int]] = {}
        """Offset and publish time of the first record."""
        self._turn = 0

    async def look(self, loads: Sequence[GroupLoad]) -> None:
        before, self._known = self._known, {}
        news: list[Head] = []
        pace = Pace()
        for load in loads:
            await load.find_heads(self._broker.clock.now_ns(), pace)
            for partition, offset in load.heads:
                place = (load.group, partition)
                known = before.get(place)
                if known is not None:
                    self._known[place] = known
                if known is None or known[0] != offset:
                    news.append((place, offset))
            await pace.did(1 + len(load.heads))
        if news:
            await self._read(news)

    async def _read(self, news: Sequence[Head]) -> None:
        first = self._turn % len(news)
        chosen = (*news[first:], *news[:first])[:READ_AT_ONCE]
        self._turn += READ_AT_ONCE
        loop = asyncio.get_running_loop()
        times = await loop.run_in_executor(self._broker.readers, lambda: [_published_at(head) for head in chosen])
        for (place, offset), at in zip(chosen, times, strict=True):
            if at is not None:
                self._known[place] = (offset, at)

    def oldest_s(self, load: GroupLoad) -> float:
        """Age of the oldest waiting record; 0 if none waits."""
        known = (self._known.get((load.group, partition)) for partition, _ in load.heads)
        times = [one[1] for one in known if one is not None]
        return max(0, self._broker.clock.now_ns() - min(times)) / NS_PER_S if times else 0.0


def _published_at(head: Head) -> int | None:
    (_, partition), offset = head
    log = partition.log
    try:
        chunk = log.read(max(offset, log.start_offset), ENOUGH_FOR_ONE, offset + 1)
        records = codec.decode(chunk.records)
    except (GoQueueError, OSError):
        # The topic may be deleted while its log is read.
        return None
    return records[0].timestamp_ns if records else None
