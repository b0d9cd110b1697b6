"""Staged append: stamped records of one partition that share a journal entry with other operations."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from goqueue.core.partition.watermark import Pending
from goqueue.core.producers.window import BatchWritten
from goqueue.engine.ports import Entry
from goqueue.errors import GoQueueError

if TYPE_CHECKING:
    from goqueue.engine.partition import Partition
    from goqueue.engine.state_log import Decision

__all__ = ["NO_IDS", "BatchIds", "StagedAppend"]


class BatchIds(Protocol):
    """The record ids of a batch. Between `begin` and `end` they are visible to other batches."""

    def join(self, partition: int, base_offset: int, timestamp_ns: int) -> "tuple[bytes, Decision]":
        """The originals of records that are no longer in the batch, and the events of those that are."""

    def begin(self) -> None: ...
    def end(self) -> None:
        """The batch is written or was refused; may be called again when its sync fails."""


class _NoIds:
    """For batches without ids."""

    def join(self, partition: int, base_offset: int, timestamp_ns: int) -> "tuple[bytes, Decision]":
        return b"", ()

    def begin(self) -> None:
        pass

    end = begin


NO_IDS = _NoIds()


class StagedAppend:
    """Implements `goqueue.engine.state_log.Append`; `operations` and `events` are written together.

    The events are applied when they are written, before the records become readable, so a delayed record or one of an
    open transaction is never visible too early.
    """

    __slots__ = ("_partition", "batch", "events", "finished", "ids", "next_offset", "operations", "pending", "size")

    def __init__(
        self, partition: "Partition", batch: BatchWritten, operations: Entry, events: "Decision", pending: Pending
    ) -> None:
        self._partition = partition
        self.batch = batch
        self.operations = operations
        self.events = events
        self.pending = pending
        self.next_offset = pending.next_offset
        self.size = 0
        """Bytes of records that clients published; those of the broker itself do not count."""
        self.ids: BatchIds = NO_IDS
        self.finished: Callable[[], None] | None = None
        """Called once the append is confirmed."""

    def begin(self) -> None:
        self._partition.begin_staged(self)

    def withdraw(self) -> None:
        self._partition.withdraw_staged(self)

    def written(self) -> None:
        self.ids.end()

    def finish(self, refusal: GoQueueError | None) -> None:
        self._partition.finish_staged(self, refusal)
