"""Joint append: plain batches of one partition, written as one journal entry.

An entry costs the same for one record as for a thousand, and with many producers most batches are small.
"""

from goqueue.core.partition.watermark import Pending
from goqueue.core.producers.window import BatchWritten
from goqueue.engine.group_commit import Done, Submitted
from goqueue.errors import GoQueueError

__all__ = ["JOINT_BYTES", "JointAppend"]

JOINT_BYTES = 64 * 1024
"""Copying batches together pays off only while they are small."""


class JointAppend:
    """Takes batches until group commit asks for the entry; all of them are written, or none."""

    __slots__ = ("_dones", "_parts", "batches", "durable", "numbered", "pending", "size", "waiting")

    def __init__(self, pending: Pending, durable: bool) -> None:
        self._parts: list[bytearray] = []
        self._dones: list[Done] = []
        self.batches: list[BatchWritten] = []
        self.numbered: list[BatchWritten] = []
        """Batches with sequence numbers."""
        self.pending = pending
        self.durable = durable
        self.size = 0
        self.waiting: Submitted

    def add(
        self,
        records: bytearray,
        batch: BatchWritten,
        is_numbered: bool,
        next_offset: int,
        done: Done,
    ) -> None:
        """Add stamped records that follow the last batch and end before `next_offset`."""
        self._parts.append(records)
        self._dones.append(done)
        self.batches.append(batch)
        if is_numbered:
            self.numbered.append(batch)
        self.size += len(records)
        self.pending.next_offset = next_offset

    def take_records(self) -> bytes | bytearray:
        """Take the records out: only the write needs them, and confirmation comes later."""
        parts, self._parts = self._parts, []
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def tell(self, refusal: GoQueueError | None) -> None:
        """Report the outcome to every batch."""
        for done in self._dones:
            done(refusal)
