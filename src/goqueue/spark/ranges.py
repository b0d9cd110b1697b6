"""Which offsets a read is about, and how they are cut into pieces that are read side by side."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from pyspark.sql.datasource import InputPartition

from goqueue.model.log import LogId

__all__ = ["PIECE_RECORDS", "Piece", "Range", "cut", "limited", "limited_by_time"]

PIECE_RECORDS = 250_000
NS_PER_MS = 1_000_000


class Range(NamedTuple):
    """Offsets of one partition: from `start` up to, but not including, `end`."""

    log: LogId
    start: int
    end: int

    def __len__(self) -> int:
        return max(0, self.end - self.start)


class Piece(InputPartition):
    """What one task reads."""

    def __init__(self, topic: str, partition: int, start: int, end: int) -> None:
        self.topic = topic
        self.partition = partition
        self.start = start
        self.end = end

    def __repr__(self) -> str:
        return f"{self.topic}/{self.partition} {self.start}..{self.end}"


def cut(ranges: Iterable[Range], *, pieces: int = 1, most: int | None = PIECE_RECORDS) -> list[Piece]:
    """At least so many pieces, if there are records for them, and none of more than `most` offsets.

    One partition in several pieces is read sooner, but what is written of them in turn keeps no order among them.
    """
    wanted = [one for one in ranges if len(one) > 0]
    total = sum(map(len, wanted))
    size = max(1, -(-total // pieces) if pieces > len(wanted) else total)
    size = size if most is None else min(most, size)
    found = []
    for one in wanted:
        count = -(-len(one) // size)
        edges = [one.start + len(one) * step // count for step in range(count + 1)]
        found += [Piece(*one.log, first, end) for first, end in pairwise(edges)]
    return found


def limited(start: Mapping[LogId, int], end: Mapping[LogId, int], most: int | None) -> dict[LogId, int]:
    """The ends of a micro-batch of at most so many records: each partition gives a share of what it has."""
    behind = {log: max(0, at - start.get(log, 0)) for log, at in end.items()}
    total = sum(behind.values())
    if most is None or total <= most:
        return dict(end)
    taken = {log: count * most // total for log, count in behind.items()}
    for log in _fullest(behind, taken)[: most - sum(taken.values())]:
        taken[log] += 1
    return {log: start.get(log, 0) + taken[log] for log in end}


def limited_by_time(
    start: Mapping[LogId, int],
    end: Mapping[LogId, int],
    most: int | None,
    at_time: Callable[[int], Mapping[LogId, int]],
    now_ns: int,
) -> dict[LogId, int]:
    """As `limited`, but all partitions are read up to the same time: none is behind the watermark of another.

    `at_time` tells the first offsets of a time. Records of the same millisecond stay together, whatever the limit is.
    """
    behind = sum(max(0, at - start.get(log, 0)) for log, at in end.items())
    if most is None or behind <= most:
        return dict(end)

    def up_to(time_ns: int) -> dict[LogId, int]:
        at = at_time(time_ns)
        return {log: max(start.get(log, 0), min(at[log], last)) for log, last in end.items()}

    def count(offsets: Mapping[LogId, int]) -> int:
        return sum(offset - start.get(log, 0) for log, offset in offsets.items())

    low, high = 0, now_ns
    best, beyond = up_to(low), dict(end)
    while high - low > NS_PER_MS:
        middle = (low + high) // 2
        found = up_to(middle)
        if count(found) <= most:
            low, best = middle, found
        else:
            high, beyond = middle, found
    return best if count(best) else beyond


def _fullest(behind: Mapping[LogId, int], taken: Mapping[LogId, int]) -> Sequence[LogId]:
    return sorted((log for log in behind if taken[log] < behind[log]), key=lambda log: taken[log] - behind[log])
