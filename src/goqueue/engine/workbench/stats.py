"""Dead-letter statistics: numbers by cause, reason and group."""

import asyncio
from collections import Counter

from goqueue.engine.browse import MOST_SCANNED, records_between
from goqueue.engine.partition import Partition
from goqueue.engine.workbench.desk import Desk, origin_of
from goqueue.model.record import Record

__all__ = ["OTHERS", "UNKNOWN", "LetterStats", "letter_stats"]

MOST_NAMES = 1000
"""Distinct reasons, causes or groups that are counted separately."""
OTHERS = "(others)"
UNKNOWN = "(unknown)"
LONGEST_NAME = 200


class LetterStats:
    """The size depends on the number of distinct reasons, up to a limit, not on the number of letters."""

    def __init__(self) -> None:
        self.count = 0
        self.by_cause: Counter[str] = Counter()
        self.by_reason: Counter[str] = Counter()
        self.by_group: Counter[str] = Counter()
        self.oldest_ns: int | None = None
        self.newest_ns: int | None = None

    def add(self, record: Record) -> None:
        origin = origin_of(record)
        self.count += 1
        _count(self.by_cause, UNKNOWN if origin is None else origin.cause)
        _count(self.by_reason, UNKNOWN if origin is None else origin.reason)
        _count(self.by_group, UNKNOWN if origin is None else origin.group)
        at = record.timestamp_ns
        self.oldest_ns = at if self.oldest_ns is None else min(at, self.oldest_ns)
        self.newest_ns = at if self.newest_ns is None else max(at, self.newest_ns)


def _count(counter: Counter[str], name: str) -> None:
    name = name[:LONGEST_NAME]
    counter[name if name in counter or len(counter) < MOST_NAMES else OTHERS] += 1


async def letter_stats(desk: Desk) -> LetterStats:
    """Read all open letters, in portions, so that other readers get their turn."""
    stats = LetterStats()
    loop = asyncio.get_running_loop()
    for partition in desk.partitions:
        at, end = desk.first_open(partition), partition.stable_offset
        while at < end:
            at = await loop.run_in_executor(desk.broker.readers, _add_some, desk, partition, at, end, stats)
    return stats


def _add_some(desk: Desk, partition: Partition, start: int, end: int, stats: LetterStats) -> int:
    """Returns where to continue."""
    # Retention may have dropped some meanwhile.
    start = max(start, partition.log.start_offset)
    for scanned, record in enumerate(records_between(partition, start, end), 1):
        if desk.is_open(partition, record.offset) and desk.is_own(origin_of(record)):
            stats.add(record)
        if scanned >= MOST_SCANNED:
            return record.offset + 1
    return end
