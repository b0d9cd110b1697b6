"""Producer window of one partition: a repeated batch is recognised and answered like the first time.

A producer numbers its records in each partition. The last five batches of each producer are remembered, as many as a
client may have in flight; an older repeat, or a gap, is refused. The producers idle for longest are forgotten when
there are too many, or after the configured retention. A forgotten producer needs a new identity: treated as a new one,
it could write a batch twice.
"""

from collections import OrderedDict
from collections.abc import Container, Sequence

import msgspec

from goqueue.core.producers.originals import count_originals
from goqueue.errors import OutOfOrderSequence, ProducerFenced, UnknownProducer
from goqueue.model.ids import InstantNs

__all__ = ["BatchWritten", "ProducerEvent", "ProducerWindow", "written_together"]

BATCHES_REMEMBERED = 5
PRODUCERS_REMEMBERED = 20_000


class BatchWritten(msgspec.Struct, frozen=True, array_like=True):
    """A producer's batch is in the log, except for records that are repetitions, whose originals are noted.

    Sequence number and count are those of the batch as it was sent.
    """

    producer_id: int
    epoch: int
    sequence: int
    count: int
    base_offset: int
    timestamp_ns: int
    originals: bytes = b""

    @property
    def next_offset(self) -> int:
        """The offset after the written records, of which there may be none."""
        return self.base_offset + self.count - count_originals(self.originals)


ProducerEvent = BatchWritten | bytes
"""A batch, or several written together."""

_Together = tuple[BatchWritten, ...]
_encode = msgspec.msgpack.Encoder().encode
_decode_together = msgspec.msgpack.Decoder(_Together).decode


def written_together(batches: Sequence[BatchWritten]) -> ProducerEvent:
    """One event for batches that are written as one entry: the cost of an event is the same for one as for many."""
    return batches[0] if len(batches) == 1 else _encode(batches)


class _Producer:
    """State of one producer in a partition; there is always at least one batch."""

    __slots__ = ("batches", "epoch", "next_sequence")

    def __init__(self, epoch: int) -> None:
        self.epoch = epoch
        self.batches: list[BatchWritten] = []
        self.next_sequence = 0
        """The expected sequence number."""


class ProducerWindow:
    """`check` decides, `apply` remembers."""

    def __init__(self) -> None:
        self._producers: OrderedDict[int, _Producer] = OrderedDict()

    def __len__(self) -> int:
        return len(self._producers)

    def check(self, producer_id: int, epoch: int, sequence: int) -> BatchWritten | None:
        """The original of a repeated batch, or None when it is the next one; anything else is an error."""
        known = self._producers.get(producer_id)
        if known is None:
            if sequence:
                raise UnknownProducer(
                    f"producer {producer_id} sent record {sequence}, and nothing is known here of those before it: "
                    "it was silent for too long",
                    hint="ask for a new producer id; expiry.producers_retention_ms says how long a silent one is known",
                )
            return None
        if epoch > known.epoch:
            return None
        if epoch < known.epoch:
            raise ProducerFenced(f"producer {producer_id} has a newer epoch, {known.epoch}, than {epoch}")
        if sequence == known.next_sequence:
            return None
        for batch in known.batches:
            if batch.sequence == sequence:
                return batch
        raise OutOfOrderSequence(f"producer {producer_id} sent record {sequence}, expected was {known.next_sequence}")

    def apply(self, event: ProducerEvent) -> None:
        if isinstance(event, BatchWritten):
            self.remember(event)
            return
        for batch in _decode_together(event):
            self.remember(batch)

    def remember(self, batch: BatchWritten) -> None:
        known = self._producers.get(batch.producer_id)
        if known is None or batch.epoch > known.epoch:
            known = self._producers[batch.producer_id] = _Producer(batch.epoch)
        known.batches.append(batch)
        if len(known.batches) > BATCHES_REMEMBERED:
            del known.batches[0]
        known.next_sequence = batch.sequence + batch.count
        self._producers.move_to_end(batch.producer_id)
        if len(self._producers) > PRODUCERS_REMEMBERED:
            self._producers.popitem(last=False)

    def undo(self, batch: BatchWritten) -> None:
        """The batch was not written after all: sent again, it must not pass for a repeat.

        Later batches of the producer are removed with it, as they would be out of order now.
        """
        known = self._producers.get(batch.producer_id)
        if known is None or batch not in known.batches:
            return
        while known.batches.pop() != batch:
            pass
        # When it is sent again, it is the expected one.
        known.next_sequence = batch.sequence
        if not known.batches:
            del self._producers[batch.producer_id]

    def forget_silent(self, before: InstantNs, in_use: Container[int] = ()) -> int:
        """Forget producers idle since then, except those in use; returns how many."""
        silent = []
        for producer_id, known in self._producers.items():
            # Ordered by last use, the oldest first.
            if known.batches[-1].timestamp_ns > before:
                break
            if producer_id not in in_use:
                silent.append(producer_id)
        for producer_id in silent:
            del self._producers[producer_id]
        return len(silent)

    def snapshot(self) -> tuple[BatchWritten, ...]:
        return tuple(batch for known in self._producers.values() for batch in known.batches)

    def restore(self, batches: tuple[BatchWritten, ...]) -> None:
        self._producers.clear()
        for batch in batches:
            self.remember(batch)
