"""Records of one lane side by side, as they are taken: under a backlog a poll gets a slice of them.

The records of a lane lie scattered over the log, and each lane is somewhere else in it. What a lane has in a block of
the log is picked out once for all the polls that come for it; these need no look at a single record. Where all records
are normal they are one lane, which lies side by side already: then it is the reading that is done once for many polls.
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
    """Some records of a lane, at least one, by their offsets in order; with their bytes if those are at hand."""

    lane: int
    offsets: Sequence[int]
    records: bytes | None = None


class LaneRun(NamedTuple):
    """What a lane has in a block: offsets, where in `records` each begins and the last one ends."""

    offsets: "array[int]"
    starts: "array[int]"
    records: bytes
    end: int
    is_whole: bool
    """Whether the log has all that the lane has there: compaction may have taken some, and some are markers."""

    @property
    def size(self) -> int:
        return len(self.records) + 2 * OFFSET_BYTES * len(self.starts)

    def slice(self, wanted: Sequence[int]) -> bytes | None:
        """The records with these offsets, which ascend; None if one of them is not there."""
        at = bisect_left(self.offsets, wanted[0])
        upto = at + len(wanted)
        if self._are_at(at, upto, wanted):
            return self.records[self.starts[at] : self.starts[upto]]
        # Some between them are hidden, or done with.
        packed = array("Q", wanted).tobytes()
        found, there = codec.pick(self.records, packed)
        return found if there == packed else None

    def _are_at(self, at: int, upto: int, wanted: Sequence[int]) -> bool:
        if isinstance(wanted, range):
            # As many as wanted from the first to the last of them: so it is all of them.
            return upto <= len(self.offsets) and (self.offsets[at], self.offsets[upto - 1]) == (wanted[0], wanted[-1])
        return self.offsets[at:upto] == (wanted if isinstance(wanted, array) else array("Q", wanted))


class LaneRuns:
    """Those used last, together at most 16 MiB. For the event loop only, as lanes are."""

    def __init__(self) -> None:
        self._runs: OrderedDict[tuple[Partition, int, int, int], LaneRun] = OrderedDict()
        self._bytes = 0
        self._partitions: Counter[Partition] = Counter()
        self._widths: dict[Partition, list[int]] = {}
        """How wide the block is that was added last, for each lane of a partition that has some; 0 if none was."""

    def widths(self, typical_bytes: int) -> Sequence[int]:
        """Of the blocks to take them from, the widest first, for records of that size.

        With a backlog in many partitions they have to be smaller: a run that has to go before it is used up was too
        long to be worth its making.
        """
        room = MOST_BYTES // max(1, len(self._partitions))
        return [width for width in widths_of(typical_bytes) if width * typical_bytes <= room]

    def next(self, partition: Partition, lane: int, first: int, count: int) -> LanePart | None:
        """So many records of a lane from this offset on, if they are in a run that was made for others.

        None, too, where not all that the lane has is in the log any more: somebody has to look which.
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
        # What lies side by side is not written out: a range is quicker on all of its way.
        offsets = range(begin, last + 1) if last - begin + 1 == count else run.offsets[at:upto]
        return LanePart(lane, offsets, run.records[run.starts[at] : run.starts[upto]])

    def get(self, partition: Partition, lane: int, width: int, offset: int) -> LaneRun | None:
        """The run with this offset out of a block of that width, if it is there."""
        key = (partition, lane, width, offset // width)
        run = self._runs.get(key)
        if run is not None:
            self._runs.move_to_end(key)
        return run

    def add(self, partition: Partition, lane: int, first: int, width: int, found: Picked, *, is_whole: bool) -> LaneRun:
        """What was found of a lane in the block of that width which begins with `first`."""
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
        """The partition is closed: what is kept of it would keep all of its state in memory."""
        if partition in self._partitions:
            for key in [key for key in self._runs if key[0] is partition]:
                self._drop(key)

    def _drop(self, key: tuple[Partition, int, int, int]) -> None:
        self._bytes -= self._runs.pop(key).size
        self._partitions[key[0]] -= 1
        if not self._partitions[key[0]]:
            del self._partitions[key[0]]
            del self._widths[key[0]]
