"""A partition at work: gives offsets, hands records to group commit, and says how far they may be read."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from goqueue import codec
from goqueue.core.partition.watermark import Watermark
from goqueue.core.producers.originals import count_originals
from goqueue.core.producers.window import BatchWritten, ProducerWindow
from goqueue.engine.group_commit import Done, GroupCommit
from goqueue.engine.ports import AppendRecords, Clock, Entry, Log
from goqueue.engine.streams import Streams
from goqueue.errors import GoQueueError, InvalidRecord, OffsetOutOfRange, RecordTooLarge, StorageBusy
from goqueue.model.log import Chunk, LogId
from goqueue.model.record import Flag

__all__ = ["NO_IDS", "BatchIds", "Partition", "ProducerBatch", "producers_stream"]

HELD_BYTES = 64 * 1024 * 1024


def producers_stream(log: LogId | str = "") -> str:
    """The stream in which a partition keeps what its producers have sent; without a log, what all such begin with."""
    return f"producers/{log}"


class ProducerBatch(NamedTuple):
    """Who sent a batch, and the number of its first record among that producer's in this partition."""

    producer_id: int
    epoch: int
    sequence: int


class BatchIds(Protocol):
    """What goes with a batch whose records may have ids; is told how the batch fares."""

    def join(self, partition: int, base_offset: int, timestamp_ns: int) -> tuple[bytes, Entry]:
        """Originals of records that are not in the batch any more, and what is written with those that are."""

    def begin(self) -> None: ...
    def written(self) -> None: ...
    def refused(self) -> None: ...


class _NoIds:
    """For batches without ids."""

    def join(self, partition: int, base_offset: int, timestamp_ns: int) -> tuple[bytes, Entry]:
        return b"", ()

    def begin(self) -> None:
        pass

    written = refused = begin


NO_IDS = _NoIds()


class Partition:
    """One owner on the event loop; nothing here waits."""

    def __init__(
        self,
        log_id: LogId,
        log: Log,
        commit: GroupCommit,
        clock: Clock,
        streams: Streams,
        producers: ProducerWindow,
    ) -> None:
        self.id = log_id
        self.log = log
        self.producers = producers
        self._commit = commit
        self._clock = clock
        self._streams = streams
        self._stream = producers_stream(log_id)
        self._next_offset = log.next_offset
        self._watermark = Watermark(log.next_offset)
        self._newest_ns = max((segment.max_timestamp_ns for segment in log.segments), default=0)
        self._watchers: set[Callable[[], None]] = set()
        self.held: list[Callable[[], None]] = []
        """Publishes that are put off."""
        self._held_bytes = 0
        self._refused = 0

    @property
    def high_watermark(self) -> int:
        return self._watermark.offset

    @property
    def next_offset(self) -> int:
        """Where the next batch begins. After a refused append, offsets go on from what is really in the log."""
        return self.log.next_offset if self._watermark.is_idle else self._next_offset

    # Writing.

    def append(
        self,
        batch: bytearray,
        done: Done,
        *,
        durable: bool,
        max_value_bytes: int = codec.MAX_VALUE,
        producer: ProducerBatch | None = None,
        ids: BatchIds = NO_IDS,
    ) -> BatchWritten:
        """Stamp a batch in place and have it written; `done` says how it went."""
        # Time may be set back; the order of timestamps in a partition is not.
        now = max(self._clock.now_ns(), self._newest_ns)
        base = self.next_offset
        stamped = codec.stamp(batch, base, now)
        if stamped.largest_value > max_value_bytes:
            raise RecordTooLarge(
                f"a value of {stamped.largest_value} bytes, the limit of {self.id.topic} is {max_value_bytes}"
            )
        if stamped.flags & Flag.CONTROL:
            raise InvalidRecord("control records are the broker's own", hint="publish records without that flag")
        originals, events = ids.join(self.id.partition, base, now)
        count = stamped.count + count_originals(originals) if originals else stamped.count
        written = BatchWritten(*(producer or (0, 0, 0)), count, base, now, originals)
        after = base + stamped.count
        entry: Entry = (AppendRecords(self.id, batch, after), *events)
        if producer is not None:
            entry = (*entry, self._streams.event(self._stream, written))
        self._submit(entry, written, after, len(batch), done, durable=durable, ids=ids)
        return written

    def append_nothing(self, count: int, done: Done, *, producer: ProducerBatch | None, ids: BatchIds) -> BatchWritten:
        """As `append`, when each of the records is there already; also then a producer's numbers go on."""
        base, now = self.next_offset, max(self._clock.now_ns(), self._newest_ns)
        originals, _ = ids.join(self.id.partition, base, now)
        written = BatchWritten(*(producer or (0, 0, 0)), count, base, now, originals)
        if producer is None:
            self._commit.when_durable(done)
            return written

        refused_before = self._refused

        def finished(refusal: GoQueueError | None) -> None:
            if refusal is None and self._refused != refused_before:
                # Perhaps one of the same producer, whose numbers come first.
                refusal = StorageBusy("a batch before this one was refused")
            if refusal is not None:
                self.producers.undo(written)
            done(refusal)

        entry = (self._streams.event(self._stream, written),)
        self._commit.submit(entry, len(originals), finished, durable=True)
        self.producers.apply(written)
        return written

    def _submit(
        self, entry: Entry, batch: BatchWritten, after: int, size: int, done: Done, *, durable: bool, ids: BatchIds
    ) -> None:
        pending = self._watermark.begin(after)

        def finished(refusal: GoQueueError | None) -> None:
            if refusal is None:
                moved = self._watermark.confirm(pending)
            else:
                moved = True
                self._refused += 1
                self._watermark.refuse(pending)
                self.producers.undo(batch)
                ids.refused()
            done(refusal)
            if moved and self._watchers:
                self._tell_watchers()

        try:
            self._commit.submit(entry, size, finished, durable=durable, written=ids.written)
        except GoQueueError:
            self._watermark.refuse(pending)
            raise
        self._next_offset, self._newest_ns = after, batch.timestamp_ns
        ids.begin()
        if batch.producer_id:
            self.producers.apply(batch)

    # Waiting to be written.

    def hold(self, again: Callable[[], None], size: int) -> None:
        """Put off a publish, and with it all that come after it, until `resume`."""
        if self.held and self._held_bytes + size > HELD_BYTES:
            raise StorageBusy(f"{self._held_bytes} bytes wait to be written to {self.id}")
        self.held.append(again)
        self._held_bytes += size

    def resume(self) -> None:
        """Go on with what was put off, in order; some of it may be put off again."""
        held, self.held, self._held_bytes = self.held, [], 0
        for again in held:
            again()

    # Reading.

    def read(self, offset: int, max_bytes: int) -> Chunk:
        """Confirmed records from `offset` on. May block on the disk, so it is run in a thread."""
        self.check_offset(offset)
        return self.log.read(offset, max_bytes, self.high_watermark)

    def check_offset(self, offset: int) -> None:
        low, high = self.log.start_offset, self.high_watermark
        if not low <= offset <= high:
            raise OffsetOutOfRange(f"offset {offset} is outside {low} to {high} of {self.id}")

    def watch(self, watcher: Callable[[], None]) -> None:
        """Call the watcher whenever more may be read, until `unwatch`."""
        self._watchers.add(watcher)

    def unwatch(self, watcher: Callable[[], None]) -> None:
        self._watchers.discard(watcher)

    def _tell_watchers(self) -> None:
        for watcher in tuple(self._watchers):
            watcher()
