"""Blocks of records that were read lately, for lanes: what one lane skips is what the others come for next.

Records of a lane lie scattered over the log, so a poll reads far more than it takes. Whole blocks are kept for the
polls to come: they save finding the place, reading and checking it. Records in the log do not change; whoever asks
knows which of them are still to be delivered.
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
"""How many offsets a block may have, as many as fit: to begin a read is what makes small ones dear."""
BLOCK_BYTES = 512 * 1024
MOST_BLOCKS = 32


class Block(NamedTuple):
    """All records there are of its offsets; those of the next one begin at `end`."""

    records: Buffer
    first: int
    end: int


def widths_of(typical_bytes: int) -> Sequence[int]:
    """How many records of that size may be a block, the most first: near the end of the log there is none so wide."""
    return [width for width in WIDTHS if width * typical_bytes <= BLOCK_BYTES]


class Blocks:
    """The last ones read, at most 16 MiB. May be used from any thread."""

    def __init__(self) -> None:
        self._blocks: OrderedDict[tuple[Partition, int, int], Block] = OrderedDict()
        self._lock = threading.Lock()

    def block(self, partition: Partition, offset: int, width: int, typical_bytes: int) -> Block | None:
        """The block of that width with this offset; None when it is not complete yet, or too large to be kept."""
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
        """The partition is closed: what is kept of it would keep all of its state in memory."""
        with self._lock:
            for key in [key for key in self._blocks if key[0] is partition]:
                del self._blocks[key]


def is_complete(partition: Partition, offset: int, width: int) -> bool:
    """Whether all records are written of the block of that width with this offset, and none is gone."""
    first = offset - offset % width
    return first >= partition.log.start_offset and first + width <= partition.high_watermark


def pick_from_block(partition: Partition, first: int, end: int, wanted: bytes, typical_bytes: int) -> Picked | None:
    """The records of a block that have these offsets, packed, and which of the offsets those are.

    Most often all of them are there, and then nothing else of the block has to be checked. None when the block cannot
    be read at once.
    """
    with suppress(CorruptBatch):
        found = codec.pick(partition.log.peek(first, _likely_bytes(end - first, typical_bytes)), wanted)
        if found[1] == wanted:
            return found
    block = read_block(partition, first, end - first, typical_bytes)
    return None if block is None else codec.pick(block.records, wanted)


def _likely_bytes(width: int, typical_bytes: int) -> int:
    """What is typical is more than the average; most often less than that will do."""
    return min(7 * typical_bytes * width // 8, BLOCK_BYTES)


def read_block(partition: Partition, offset: int, width: int, typical_bytes: int) -> Block | None:
    """As `Blocks.block`, without keeping it."""
    if not is_complete(partition, offset, width):
        return None
    first = offset - offset % width
    end = first + width
    for size in (_likely_bytes(width, typical_bytes), BLOCK_BYTES):
        chunk = partition.log.read(first, size, end)
        if chunk.damage:
            # Only a plain read can say what that means.
            return None
        if chunk.next_offset >= end:
            return Block(chunk.records, first, end)
    return None
