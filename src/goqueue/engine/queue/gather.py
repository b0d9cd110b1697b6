"""Read records by their offsets, which may lie side by side or far apart."""

import asyncio
from array import array
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from goqueue import codec
from goqueue.engine.broker import Broker
from goqueue.engine.partition import Partition
from goqueue.errors import OffsetOutOfRange, StorageBusy

__all__ = ["Gathered", "gather"]

READ_BYTES = 256 * 1024
LEAST_READ_BYTES = 1024
INLINE_BYTES = 64 * 1024
WIDEST_GAP = 16
"""Reading over a few records that are not wanted is cheaper than to begin anew behind them."""


class Gathered(NamedTuple):
    """Records as they lie in the log, in the order of their offsets, and which of those asked for are there."""

    records: bytes
    offsets: list[int]
    reached: int
    """Everything asked for before this offset was looked for; less than all when the bytes did not suffice."""


async def gather(broker: Broker, partition: Partition, offsets: Sequence[int], max_bytes: int) -> Gathered:
    """At least one record, if there is any; the others within `max_bytes`."""
    if not offsets:
        return Gathered(b"", [], 0)
    typical = _typical_bytes(partition)
    if offsets[0] >= partition.log.tail_offset and typical * len(offsets) <= INLINE_BYTES:
        # It is still in memory, and to ask a thread would take longer than to read it.
        return _gather(partition, offsets, max_bytes, typical)
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(broker.readers, _gather, partition, offsets, max_bytes, typical)


def _typical_bytes(partition: Partition) -> int:
    """What a record takes, on average and a little more."""
    log = partition.log
    return 5 * log.size // (4 * max(1, log.next_offset - log.start_offset)) + 1


def _gather(partition: Partition, offsets: Sequence[int], max_bytes: int, typical: int) -> Gathered:
    parts: list[bytes] = []
    found: list[int] = []
    size = 0
    for cluster in _clusters(offsets):
        wanted = array("q", cluster).tobytes()
        at, end = cluster[0], cluster[-1] + 1
        while at < end:
            if size >= max_bytes:
                return Gathered(b"".join(parts), found, at)
            try:
                likely = LEAST_READ_BYTES + typical * (end - at)
                chunk = partition.log.read(at, min(READ_BYTES, likely, max_bytes - size), end)
            except OffsetOutOfRange:
                if at >= partition.log.start_offset:
                    raise _unreadable(partition, at) from None
                # Retention has taken what lies before the start of the log.
                at = partition.log.start_offset
                continue
            if chunk.records:
                records, here = codec.pick(chunk.records, wanted)
                parts.append(records)
                found += array("q", here)
                size += len(records)
            if chunk.next_offset <= at:
                raise _unreadable(partition, at)
            at = chunk.next_offset
    return Gathered(b"".join(parts), found, offsets[-1] + 1 if offsets else 0)


def _unreadable(partition: Partition, offset: int) -> StorageBusy:
    """Never to be taken for a record that is not there: that would be done with."""
    return StorageBusy(f"record {offset} of {partition.id} cannot be read now")


def _clusters(offsets: Sequence[int]) -> Iterator[Sequence[int]]:
    start = 0
    for step in range(1, len(offsets)):
        if offsets[step] - offsets[step - 1] > WIDEST_GAP:
            yield offsets[start:step]
            start = step
    if offsets:
        yield offsets[start:]
