"""Plain batches of one partition that come before the next write: they are written as one entry.

What an entry costs is the same for one record as for a thousand, and with many producers most batches are small.
"""

from goqueue.core.partition.watermark import Pending
from goqueue.core.producers.window import BatchWritten
from goqueue.engine.group_commit import Done, Submitted
from goqueue.errors import GoQueueError

__all__ = ["JOINT_BYTES", "JointAppend"]

JOINT_BYTES = 64 * 1024
"""Copying batches together pays as long as they are small."""


class JointAppend:
    """Takes more batches until group commit asks for the entry; all of them happen, or none."""

    __slots__ = ("_dones", "_parts", "batches", "durable", "numbered", "pending", "size", "waiting")

    def __init__(self, pending: Pending, durable: bool) -> None:
        self._parts: list[bytearray] = []
        self._dones: list[Done] = []
        self.batches: list[BatchWritten] = []
        self.numbered: list[BatchWritten] = []
        """Those of producers that number their records."""
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
        """Stamped records, which follow on those that are here, up to that offset."""
        self._parts.append(records)
        self._dones.append(done)
        self.batches.append(batch)
        if is_numbered:
            self.numbered.append(batch)
        self.size += len(records)
        self.pending.next_offset = next_offset

    def take_records(self) -> bytes | bytearray:
        """All of them. Only who writes them needs them; to be confirmed takes longer."""
        parts, self._parts = self._parts, []
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def tell(self, refusal: GoQueueError | None) -> None:
        """Everyone whose batch is in it."""
        for done in self._dones:
            done(refusal)
