"""Block cache: recently read blocks of the log, shared by priority lanes.

The records of a lane are scattered over the log, so a poll reads far more than it takes. Whole blocks are kept for
later polls, which saves seeking, reading and verifying them again. Records in the log do not change; the caller knows
which of them are still to be delivered.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

from goqueue import codec
from goqueue.engine.partition import Partition
from goqueue.engine.ports import Buffer
from goqueue.errors import CorruptBatch

__all__ = ["Block", "Blocks", "Picked", "is_complete", "pick_from_block", "widths_of"]

Picked = tuple[bytes, bytes]
"""Records, and the offsets of those that were found, packed as 64-bit integers."""

WIDTHS = (2048, 512, 128)
"""Offsets in a block, the most that fit: starting a read is what makes small blocks expensive."""
BLOCK_BYTES = 512 * 1024
MOST_BLOCKS = 32


class Block(NamedTuple):
    """All existing records from `first` up to, not including, `end`."""

    records: Buffer
    first: int
    end: int


def widths_of(typical_bytes: int) -> Sequence[int]:
    """Possible widths for records of this size, the widest first: near the end of the log only narrow blocks are
    complete."""
    return [width for width in WIDTHS if width * typical_bytes <= BLOCK_BYTES]


class Blocks:
    """The blocks read last, at most 16 MiB. Thread-safe."""

    def __init__(self) -> None:
        self._blocks: OrderedDict[tuple[Partition, int, int], Block] = OrderedDict()
        self._lock = threading.Lock()

    def block(self, partition: Partition, offset: int, width: int, typical_bytes: int) -> Block | None:
        """The block of that width with this offset; None if it is not complete yet, or too large to be kept."""
        key = (partition, width, offset // width)
        with self._lock:
            found = self._blocks.get(key)
            if found is not None:
                self._blocks.move_to_end(key)
                return found
        read = read_block(partition, offset, width, typical_bytes)
        if read is not None:
            with self._lock:
                self._blocks[key] = read
                if len(self._blocks) > MOST_BLOCKS:
                    self._blocks.popitem(last=False)
        return read

    def forget(self, partition: Partition) -> None:
        """Drop the blocks of a closed partition, which would keep its state in memory."""
        with self._lock:
            for key in [key for key in self._blocks if key[0] is partition]:
                del self._blocks[key]


def is_complete(partition: Partition, offset: int, width: int) -> bool:
    """Whether all records of the block of that width with this offset are written, and none is dropped."""
    first = offset - offset % width
    return first >= partition.log.start_offset and first + width <= partition.high_watermark


def pick_from_block(partition: Partition, first: int, end: int, wanted: bytes, typical_bytes: int) -> Picked | None:
    """The records of a block with these packed offsets, and which of the offsets were found.

    Usually all are found, and the rest of the block need not be verified. None if the block cannot be read in one go.
    """
    with suppress(CorruptBatch):
        found = codec.pick(partition.log.peek(first, _likely_bytes(end - first, typical_bytes)), wanted)
        if found[1] == wanted:
            return found
    block = read_block(partition, first, end - first, typical_bytes)
    return None if block is None else codec.pick(block.records, wanted)


def _likely_bytes(width: int, typical_bytes: int) -> int:
    """The typical size is above the average, so usually less is enough."""
    return min(7 * typical_bytes * width // 8, BLOCK_BYTES)


def read_block(partition: Partition, offset: int, width: int, typical_bytes: int) -> Block | None:
    """Like `Blocks.block`, without caching."""
    if not is_complete(partition, offset, width):
        return None
    first = offset - offset % width
    end = first + width
    for size in (_likely_bytes(width, typical_bytes), BLOCK_BYTES):
        chunk = partition.log.read(first, size, end)
        if chunk.damage:
            # Only a plain read can report the damage.
            return None
        if chunk.next_offset >= end:
            return Block(chunk.records, first, end)
    return None
