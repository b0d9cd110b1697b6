"""Read records by their offsets, which may lie side by side or far apart."""

import asyncio
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from operator import sub
from typing import NamedTuple

from goqueue import codec
from goqueue.engine.broker import Broker
from goqueue.engine.partition import Partition
from goqueue.engine.ports import Buffer
from goqueue.errors import OffsetOutOfRange, StorageBusy

__all__ = ["Gathered", "gather"]

READ_BYTES = 256 * 1024
LEAST_READ_BYTES = 1024
INLINE_BYTES = 64 * 1024
OFFSET_BYTES = 8
WIDEST_GAP = 16
"""Reading over a few records that are not wanted is cheaper than to begin anew behind them."""


class Gathered(NamedTuple):
    """Records as they lie in the log, in the order of their offsets, and which of those asked for are there."""

    records: bytes
    offsets: Sequence[int]
    reached: int
    """Everything asked for before this offset was looked for; less than all when the bytes did not suffice."""


async def gather(broker: Broker, partition: Partition, offsets: Sequence[int], max_bytes: int) -> Gathered:
    """At least one record, if there is any; the others within `max_bytes`."""
    if not offsets:
        return Gathered(b"", [], 0)
    typical = _typical_bytes(partition)
    if offsets[0] >= partition.log.tail_offset and typical * len(offsets) <= INLINE_BYTES:
        # It is still in memory, and to ask a thread would take longer than to read it.
        return _gather(broker, partition, offsets, max_bytes, typical)
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(broker.readers, _gather, broker, partition, offsets, max_bytes, typical)


def _typical_bytes(partition: Partition) -> int:
    """What a record takes, on average and a little more."""
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
    """Out of blocks that others come for as well; how many were looked for while there were blocks, and room."""
    start = 0
    while start < len(offsets) and picked.room > 0:
        block = broker.blocks.block(partition, offsets[start], typical)
        if block is None:
            break
        stop = bisect_left(offsets, block.end, start)
        picked.add(block.records, array("q", offsets[start:stop]).tobytes())
        start = stop
    return start


def _gather_cluster(partition: Partition, cluster: Sequence[int], picked: "_Picked", typical: int) -> int | None:
    """Read once over all of them; where it ended when there was no room for more."""
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
            # Retention has taken what lies before the start of the log.
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
    """Records found so far, and how much room there is for more."""

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
            # All of them are there, as nearly always.
            return Gathered(records, asked, reached)
        return Gathered(records, array("q", here).tolist(), reached)


def _unreadable(partition: Partition, offset: int) -> StorageBusy:
    """Never to be taken for a record that is not there: that would be done with."""
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
