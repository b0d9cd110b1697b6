"""Plain batches of one partition that come before the next write: they are written as one entry.

What an entry costs is the same for one record as for a thousand, and with many producers most batches are small.
"""

from goqueue.core.partition.watermark import Pending
from goqueue.core.producers.window import BatchWritten
from goqueue.engine.group_commit import Done, Submitted
from goqueue.engine.ports import AppendRecords, Entry, StateEvent
from goqueue.errors import GoQueueError
from goqueue.model.log import LogId

__all__ = ["JointAppend"]

JOINT_BYTES = 64 * 1024
"""Copying batches together pays as long as they are small."""


class JointAppend:
    """Takes more batches until group commit asks for the entry; all of them happen, or none."""

    __slots__ = ("_dones", "_events", "_is_open", "_log", "_parts", "batches", "durable", "pending", "size", "waiting")

    def __init__(self, log: LogId, pending: Pending, *, durable: bool) -> None:
        self._log = log
        self._parts: list[bytearray] = []
        self._events: list[StateEvent] = []
        self._dones: list[Done] = []
        self._is_open = True
        self.batches: list[BatchWritten] = []
        self.pending = pending
        self.durable = durable
        self.size = 0
        self.waiting: Submitted

    def takes(self, size: int, *, durable: bool) -> bool:
        """Whether a batch of that size may be added."""
        return self._is_open and self.durable is durable and self.size + size <= JOINT_BYTES

    def add(self, records: bytearray, batch: BatchWritten, event: StateEvent | None, done: Done) -> None:
        """Stamped records, which follow on those that are here."""
        self._parts.append(records)
        self._dones.append(done)
        self.batches.append(batch)
        self.size += len(records)
        if event is not None:
            self._events.append(event)

    def close(self) -> Entry:
        """The entry, to which nothing is added any more."""
        self._is_open = False
        # Only who writes the entry needs these; to be confirmed takes longer.
        parts, self._parts = self._parts, []
        records = parts[0] if len(parts) == 1 else b"".join(parts)
        return AppendRecords(self._log, records, self.pending.next_offset), *self._events

    def tell(self, refusal: GoQueueError | None) -> None:
        """Everyone whose batch is in it."""
        for done in self._dones:
            done(refusal)
