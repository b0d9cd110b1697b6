"""Lane cache: the records of one priority lane in a block, of which a poll of a backlog gets a slice.

The records of a lane are scattered over the log, and each lane is at another place in it. The records that a lane has
in a block are picked out once for all polls, which then need no look at single records. If all records have the normal
priority, the lane is contiguous already, and what polls share is the read.
"""

from array import array
from bisect import bisect_left
from collections import Counter, OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from goqueue import codec
from goqueue.engine.partition import Partition
from goqueue.engine.queue.blocks import Picked, widths_of
from goqueue.model.priority import LANES

__all__ = ["LanePart", "LaneRun", "LaneRuns"]

MOST_BYTES = 16 * 1024 * 1024
OFFSET_BYTES = 8


class LanePart(NamedTuple):
    """Some records of a lane, at least one, by ascending offset; with their bytes if these are in memory."""

    lane: int
    offsets: Sequence[int]
    records: bytes | None = None


class LaneRun(NamedTuple):
    """The records of a lane in a block: offsets, and where each record begins in `records` and the last one ends."""

    offsets: "array[int]"
    starts: "array[int]"
    records: bytes
    end: int
    is_whole: bool
    """True if the log has all records of the lane there: compaction may have removed some, and some are control
    records."""

    @property
    def size(self) -> int:
        return len(self.records) + 2 * OFFSET_BYTES * len(self.starts)

    def slice(self, wanted: Sequence[int]) -> bytes | None:
        """The records with these ascending offsets; None if one of them is missing."""
        at = bisect_left(self.offsets, wanted[0])
        upto = at + len(wanted)
        if self._are_at(at, upto, wanted):
            return self.records[self.starts[at] : self.starts[upto]]
        # Some records between them are hidden or settled.
        packed = array("Q", wanted).tobytes()
        found, there = codec.pick(self.records, packed)
        return found if there == packed else None

    def _are_at(self, at: int, upto: int, wanted: Sequence[int]) -> bool:
        if isinstance(wanted, range):
            # There are as many as wanted between the first and the last, so it is all of them.
            return upto <= len(self.offsets) and (self.offsets[at], self.offsets[upto - 1]) == (wanted[0], wanted[-1])
        return self.offsets[at:upto] == (wanted if isinstance(wanted, array) else array("Q", wanted))


class LaneRuns:
    """The runs used last, at most 16 MiB in total. For the event loop only, as lanes are."""

    def __init__(self) -> None:
        self._runs: OrderedDict[tuple[Partition, int, int, int], LaneRun] = OrderedDict()
        self._bytes = 0
        self._partitions: Counter[Partition] = Counter()
        self._widths: dict[Partition, list[int]] = {}
        """Width of the block added last, for each lane of a partition; 0 if none was added."""

    def widths(self, typical_bytes: int) -> Sequence[int]:
        """Widths of the blocks to use for records of this size, the widest first.

        With a backlog in many partitions blocks must be smaller: making a run does not pay off if it is evicted before
        it is used up.
        """
        room = MOST_BYTES // max(1, len(self._partitions))
        return [width for width in widths_of(typical_bytes) if width * typical_bytes <= room]

    def next(self, partition: Partition, lane: int, first: int, count: int) -> LanePart | None:
        """The next `count` records of a lane from `first` on, if they are in a run made before.

        Also None if the log lacks some of the lane's records there: then offsets must be looked up one by one.
        """
        widths = self._widths.get(partition)
        run = self.get(partition, lane, widths[lane], first) if widths is not None and widths[lane] else None
        if run is None or not run.is_whole:
            return None
        at = bisect_left(run.offsets, first)
        upto = at + count
        if upto > len(run.offsets):
            return None
        begin, last = run.offsets[at], run.offsets[upto - 1]
        # Adjacent offsets stay a range, which is faster everywhere.
        offsets = range(begin, last + 1) if last - begin + 1 == count else run.offsets[at:upto]
        return LanePart(lane, offsets, run.records[run.starts[at] : run.starts[upto]])

    def get(self, partition: Partition, lane: int, width: int, offset: int) -> LaneRun | None:
        """The run with this offset from a block of that width, if cached."""
        key = (partition, lane, width, offset // width)
        run = self._runs.get(key)
        if run is not None:
            self._runs.move_to_end(key)
        return run

    def add(self, partition: Partition, lane: int, first: int, width: int, found: Picked, *, is_whole: bool) -> LaneRun:
        """Add what was found of a lane in the block of that width that begins at `first`."""
        records, there = found
        run = LaneRun(array("Q", there), array("Q", codec.starts(records)), records, first + width, is_whole)
        key = (partition, lane, width, first // width)
        if key in self._runs:
            self._drop(key)
        self._runs[key] = run
        self._partitions[partition] += 1
        self._widths.setdefault(partition, [0] * LANES)[lane] = width
        self._bytes += run.size
        while self._bytes > MOST_BYTES:
            self._drop(next(iter(self._runs)))
        return run

    def forget(self, partition: Partition) -> None:
        """Drop the runs of a closed partition, which would keep its state in memory."""
        if partition in self._partitions:
            for key in [key for key in self._runs if key[0] is partition]:
                self._drop(key)

    def _drop(self, key: tuple[Partition, int, int, int]) -> None:
        self._bytes -= self._runs.pop(key).size
        self._partitions[key[0]] -= 1
        if not self._partitions[key[0]]:
            del self._partitions[key[0]]
            del self._widths[key[0]]
