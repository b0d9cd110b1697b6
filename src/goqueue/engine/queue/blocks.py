"""Blocks of records that were read lately, for lanes: what one lane skips is what the others come for next.

Records of a lane lie scattered over the log, so a poll reads far more than it takes. Whole blocks are kept for the
polls to come: they save finding the place, reading and checking it. Records in the log do not change; whoever asks
knows which of them are still to be delivered.
"""

import threading
from collections import OrderedDict
from typing import NamedTuple

from goqueue.engine.partition import Partition
from goqueue.engine.ports import Buffer

__all__ = ["Block", "Blocks"]

BLOCK_RECORDS = 512
BLOCK_BYTES = 256 * 1024
MOST_BLOCKS = 64


class Block(NamedTuple):
    """All records there are of its offsets; those of the next one begin at `end`."""

    records: Buffer
    end: int


class Blocks:
    """The last ones read, at most 16 MiB. May be used from any thread."""

    def __init__(self) -> None:
        self._blocks: OrderedDict[tuple[Partition, int], Block] = OrderedDict()
        self._lock = threading.Lock()

    def block(self, partition: Partition, offset: int, typical_bytes: int) -> Block | None:
        """The block with this offset; None when it is not complete yet, or too large to be kept."""
        number = offset // BLOCK_RECORDS
        with self._lock:
            found = self._blocks.get((partition, number))
            if found is not None:
                self._blocks.move_to_end((partition, number))
                return found
        read = self._read(partition, number * BLOCK_RECORDS, (number + 1) * BLOCK_RECORDS, typical_bytes)
        if read is not None:
            with self._lock:
                self._blocks[partition, number] = read
                if len(self._blocks) > MOST_BLOCKS:
                    self._blocks.popitem(last=False)
        return read

    @staticmethod
    def _read(partition: Partition, first: int, end: int, typical_bytes: int) -> Block | None:
        if first < partition.log.start_offset or end > partition.high_watermark:
            return None
        for size in (min(typical_bytes * BLOCK_RECORDS, BLOCK_BYTES), BLOCK_BYTES):
            chunk = partition.log.read(first, size, end)
            if chunk.damage:
                # Only a plain read can say what that means.
                return None
            if chunk.next_offset >= end:
                return Block(chunk.records, end)
        return None
