"""Reading of records by offset, adjacent or scattered."""

import asyncio
from array import array
from bisect import bisect_left
from collections.abc import Generator, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from operator import sub
from typing import NamedTuple

from goqueue import codec
from goqueue.engine.broker import Broker
from goqueue.engine.partition import Partition
from goqueue.engine.ports import Buffer
from goqueue.engine.queue.blocks import Block, is_complete, pick_from_block, widths_of
from goqueue.engine.queue.lane_runs import LanePart, LaneRun
from goqueue.errors import CorruptBatch, OffsetOutOfRange, StorageBusy

__all__ = ["Gathered", "at_hand", "gather", "gather_lanes"]

READ_BYTES = 256 * 1024
LEAST_READ_BYTES = 1024
INLINE_BYTES = 64 * 1024
OFFSET_BYTES = 8
WIDEST_GAP = 16
"""Reading over a few unwanted records is cheaper than starting another read after them."""
POLLS_OF_A_BLOCK = 4
"""Reading a block and indexing its records costs as much as reading twice what a poll wants of it."""


class Gathered(NamedTuple):
    """Records as stored in the log, ordered by offset, and the requested offsets that exist."""

    records: bytes
    offsets: Sequence[int]
    reached: int
    """Every requested record before this offset was looked for; fewer than all if the byte limit was reached."""


async def gather(broker: Broker, partition: Partition, offsets: Sequence[int], max_bytes: int) -> Gathered:
    """At least one record, if any exists; more within `max_bytes`."""
    if not offsets:
        return Gathered(b"", [], 0)
    typical = _typical_bytes(partition)
    if _is_inline(partition, offsets, typical):
        return _gather(broker, partition, offsets, max_bytes, typical)
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(broker.readers, _gather, broker, partition, offsets, max_bytes, typical)


def _is_inline(partition: Partition, offsets: Sequence[int], typical: int) -> bool:
    """Whether the records are few and still in memory: then reading them is faster than a thread switch."""
    return offsets[0] >= partition.log.tail_offset and typical * len(offsets) <= INLINE_BYTES


async def gather_lanes(
    broker: Broker, partition: Partition, lanes: Sequence[LanePart], max_bytes: int
) -> Gathered | None:
    """Like `gather`, for a backlog, lane by lane.

    None if there is no short way: the lanes overlap, lie too near the end of the log, or some of their records are
    gone.
    """
    ordered = _one_behind_the_other(lanes)
    if ordered is None:
        return None
    parts: list[bytes] = []
    for lane in ordered:
        found = [lane.records] if lane.records is not None else await _gather_lane(broker, partition, lane)
        if found is None:
            return None
        parts += found
    return _joined(parts, ordered, max_bytes)


def at_hand(broker: Broker, partition: Partition, lanes: Sequence[LanePart], max_bytes: int) -> Gathered | None:
    """All records of these lanes, if no read from disk is needed; they may lie at the end of the log."""
    ordered = _one_behind_the_other(lanes)
    if ordered is None:
        return None
    parts: list[bytes] = []
    for lane in ordered:
        found = [lane.records] if lane.records is not None else _lane_at_hand(broker, partition, lane, max_bytes)
        if found is None:
            return None
        parts += found
    return _joined(parts, ordered, max_bytes)


def _one_behind_the_other(lanes: Sequence[LanePart]) -> Sequence[LanePart] | None:
    """The lanes ordered by offset; None if they overlap."""
    if len(lanes) == 1:
        return lanes
    ordered = sorted(lanes, key=_first_wanted)
    if any(before.offsets[-1] >= behind.offsets[0] for before, behind in pairwise(ordered)):
        return None
    return ordered


def _joined(parts: Sequence[bytes], lanes: Sequence[LanePart], max_bytes: int) -> Gathered | None:
    records = parts[0] if len(parts) == 1 else b"".join(parts)
    wanted = _all_wanted(lanes)
    return Gathered(records, wanted, wanted[-1] + 1) if len(records) <= max_bytes else None


def _lane_at_hand(broker: Broker, partition: Partition, wanted: LanePart, max_bytes: int) -> list[bytes] | None:
    typical = _typical_bytes(partition)
    try:
        next(_slices(broker, partition, wanted, typical))
    except StopIteration as end:
        found: list[bytes] | None = end.value
    else:
        # Some of the records must be read by a thread.
        return None
    if found is None and _is_inline(partition, wanted.offsets, typical):
        return _end_at_hand(broker, partition, wanted.offsets, max_bytes, typical)
    return found


def _end_at_hand(
    broker: Broker, partition: Partition, wanted: Sequence[int], max_bytes: int, typical: int
) -> list[bytes] | None:
    """Records near the end of the log, where there are no complete blocks."""
    if isinstance(wanted, range):
        packed = array("q", wanted).tobytes()
        with suppress(CorruptBatch):
            records, there = codec.pick(partition.log.peek(wanted[0], typical * len(wanted)), packed)
            if there == packed:
                # All of them, with checksums verified.
                return [records]
    found = _gather(broker, partition, wanted, max_bytes, typical)
    return [found.records] if len(found.offsets) == len(wanted) else None


async def _gather_lane(broker: Broker, partition: Partition, wanted: LanePart) -> list[bytes] | None:
    """Read from blocks, which are kept for the polls to come."""
    typical = _typical_bytes(partition)
    loop = asyncio.get_running_loop()
    slices = _slices(broker, partition, wanted, typical)
    try:
        while True:
            first, width, offsets = next(slices)
            block = (partition, first, first + width, offsets, typical)
            picked = await loop.run_in_executor(broker.readers, pick_from_block, *block)
            if picked is not None:
                broker.lane_runs.add(partition, wanted.lane, first, width, picked, is_whole=picked[1] == offsets)
    except StopIteration as end:
        found: list[bytes] | None = end.value
        return found


class _Unread(NamedTuple):
    """A block for a thread to read, as it is not in the last segment."""

    first: int
    width: int
    wanted: bytes


def _slices(
    broker: Broker, partition: Partition, wanted: LanePart, typical: int
) -> Generator[_Unread, None, list[bytes] | None]:
    """Slices of the runs with these records, None if there is no short way; yields the blocks to read."""
    widths = broker.lane_runs.widths(typical)
    lane, offsets, _ = wanted
    if isinstance(offsets, range):
        widths = _worth_while(partition, offsets, widths)
    if not widths:
        return None
    parts: list[bytes] = []
    start = 0
    while start < len(offsets):
        run = yield from _lane_run(broker, partition, lane, offsets[start], widths, typical)
        if run is None:
            return None
        stop = len(offsets) if offsets[-1] < run.end else bisect_left(offsets, run.end, start)
        found = run.slice(offsets[start:stop] if start or stop < len(offsets) else offsets)
        if found is None:
            return None
        parts.append(found)
        start = stop
    return parts


def _worth_while(partition: Partition, wanted: range, widths: Sequence[int]) -> Sequence[int]:
    """Adjacent records are read as fast directly, unless several polls share a block."""
    shared = [width for width in widths if width >= POLLS_OF_A_BLOCK * len(wanted)]
    return shared if shared and is_complete(partition, wanted[-1], shared[-1]) else ()


def _all_wanted(lanes: Sequence[LanePart]) -> Sequence[int]:
    if len(lanes) == 1:
        return lanes[0].offsets
    wanted = array("Q")
    for lane in lanes:
        wanted.extend(lane.offsets)
    return wanted


def _first_wanted(lane: LanePart) -> int:
    return lane.offsets[0]


def _lane_run(
    broker: Broker, partition: Partition, lane: int, offset: int, widths: Sequence[int], typical: int
) -> Generator[_Unread, None, LaneRun | None]:
    for width in widths:
        run = broker.lane_runs.get(partition, lane, width, offset)
        if run is not None:
            return run
        if not is_complete(partition, offset, width):
            continue
        first = offset - offset % width
        wanted = partition.lanes.within(lane, first, first + width).to_array().tobytes()
        if offset < partition.log.tail_offset:
            yield _Unread(first, width, wanted)
            run = broker.lane_runs.get(partition, lane, width, offset)
        elif (found := pick_from_block(partition, first, first + width, wanted, typical)) is not None:
            run = broker.lane_runs.add(partition, lane, first, width, found, is_whole=found[1] == wanted)
        if run is not None:
            return run
    return None


def _typical_bytes(partition: Partition) -> int:
    """Size of a record, a little above the average."""
    log = partition.log
    return 5 * log.size // (4 * max(1, log.next_offset - log.start_offset)) + 1


def _gather(broker: Broker, partition: Partition, offsets: Sequence[int], max_bytes: int, typical: int) -> Gathered:
    picked = _Picked(max_bytes)
    if _is_scattered(offsets):
        done = _pick_from_blocks(broker, partition, offsets, picked, typical)
        left = offsets[done:]
    else:
        left = offsets
    for cluster in _clusters(left):
        reached = _gather_cluster(partition, cluster, picked, typical)
        if reached is not None:
            return picked.gathered(offsets, reached)
    return picked.gathered(offsets, offsets[-1] + 1)


def _pick_from_blocks(
    broker: Broker, partition: Partition, offsets: Sequence[int], picked: "_Picked", typical: int
) -> int:
    """Pick records from blocks that other polls share; returns how many were looked for within blocks and byte
    limit."""
    start = 0
    while start < len(offsets) and picked.room > 0:
        block = _block(broker, partition, offsets[start], typical)
        if block is None:
            break
        stop = bisect_left(offsets, block.end, start)
        picked.add(block.records, array("q", offsets[start:stop]).tobytes())
        start = stop
    return start


def _block(broker: Broker, partition: Partition, offset: int, typical: int) -> Block | None:
    blocks = (broker.blocks.block(partition, offset, width, typical) for width in widths_of(typical))
    return next((block for block in blocks if block is not None), None)


def _gather_cluster(partition: Partition, cluster: Sequence[int], picked: "_Picked", typical: int) -> int | None:
    """Read a range once; returns where it ended if the byte limit was reached, else None."""
    wanted = array("q", cluster).tobytes()
    at, end = cluster[0], cluster[-1] + 1
    while at < end:
        if picked.room <= 0:
            return at
        try:
            likely = LEAST_READ_BYTES + typical * (end - at)
            chunk = partition.log.read(at, min(READ_BYTES, likely, picked.room), end)
        except OffsetOutOfRange:
            if at >= partition.log.start_offset:
                raise _unreadable(partition, at) from None
            # Retention has dropped the records before the start of the log.
            at = partition.log.start_offset
            continue
        if chunk.records:
            picked.add(chunk.records, wanted)
        if chunk.next_offset <= at:
            raise _unreadable(partition, at)
        at = chunk.next_offset
    return None


def _is_scattered(cluster: Sequence[int]) -> bool:
    return cluster[-1] - cluster[0] > 2 * len(cluster)


class _Picked:
    """Records found so far, and the bytes left for more."""

    def __init__(self, max_bytes: int) -> None:
        self.room = max_bytes
        self._parts: list[bytes] = []
        self._offsets: list[bytes] = []

    def add(self, records: Buffer, wanted: bytes) -> None:
        found, here = codec.pick(records, wanted)
        self._parts.append(found)
        self._offsets.append(here)
        self.room -= len(found)

    def gathered(self, asked: Sequence[int], reached: int) -> Gathered:
        records, here = b"".join(self._parts), b"".join(self._offsets)
        if len(here) == OFFSET_BYTES * len(asked):
            # All of them exist, as nearly always.
            return Gathered(records, asked, reached)
        return Gathered(records, array("q", here).tolist(), reached)


def _unreadable(partition: Partition, offset: int) -> StorageBusy:
    """An unreadable record must not count as absent, as that would settle it."""
    return StorageBusy(f"record {offset} of {partition.id} cannot be read now")


def _clusters(offsets: Sequence[int]) -> Iterator[Sequence[int]]:
    if not offsets:
        return
    if offsets[-1] - offsets[0] < len(offsets) + WIDEST_GAP:
        yield offsets
        return
    gaps = map(sub, offsets[1:], offsets)
    start = 0
    for step in [step for step, gap in enumerate(gaps, 1) if gap > WIDEST_GAP]:
        yield offsets[start:step]
        start = step
    yield offsets[start:]
