"""A partition at work: gives offsets, hands records to group commit, and says how far they may be read."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from goqueue import codec
from goqueue.core.delay.delays import Delays
from goqueue.core.delay.events import Delayed
from goqueue.core.partition.watermark import Watermark
from goqueue.core.priority.lane_index import LaneIndex, LanesMarked
from goqueue.core.priority.stats import LaneFlow
from goqueue.core.producers.originals import count_originals
from goqueue.core.producers.window import BatchWritten, ProducerWindow
from goqueue.engine.alarm import DelayAlarm
from goqueue.engine.group_commit import Done, GroupCommit
from goqueue.engine.ports import AppendRecords, Clock, Entry, Log
from goqueue.engine.streams import Streams
from goqueue.errors import GoQueueError, InvalidRecord, OffsetOutOfRange, RecordTooLarge, StorageBusy
from goqueue.model.ids import InstantNs
from goqueue.model.log import Chunk, LogId
from goqueue.model.priority import NORMAL
from goqueue.model.record import Flag

__all__ = ["NO_IDS", "BatchIds", "Partition", "ProducerBatch", "delays_stream", "lanes_stream", "producers_stream"]

HELD_BYTES = 64 * 1024 * 1024


def producers_stream(log: LogId | str = "") -> str:
    """The stream in which a partition keeps what its producers have sent; without a log, what all such begin with."""
    return f"producers/{log}"


def lanes_stream(log: LogId | str = "") -> str:
    """The stream in which a partition keeps the priorities of its records."""
    return f"lanes/{log}"


def delays_stream(log: LogId | str = "") -> str:
    """The stream in which a partition keeps until when its records are hidden."""
    return f"delays/{log}"


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


class _Effects(NamedTuple):
    """What a batch changes besides the log, and what has to be taken back when it is refused."""

    batch: BatchWritten
    after: int
    ids: BatchIds
    delayed: Delayed | None


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
        lanes: LaneIndex,
        delays: Delays,
        alarm: DelayAlarm,
    ) -> None:
        self.id = log_id
        self.log = log
        self.producers = producers
        self.lanes = lanes
        self.enqueued = LaneFlow()
        self.delays = delays
        self._alarm = alarm
        self._commit = commit
        self._clock = clock
        self._streams = streams
        self._stream = producers_stream(log_id)
        self._lanes_stream = lanes_stream(log_id)
        self._delays_stream = delays_stream(log_id)
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
        dues: Sequence[int] | None = None,
        also: Entry = (),
        written: Callable[[], None] | None = None,
    ) -> BatchWritten:
        """Stamp a batch in place and have it written, with `also`, or neither; `done` says how it went.

        `dues` has an instant for each record, until which it is hidden; one that has passed means at once.
        """
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
        delayed = None if dues is None else self._decide_delays(base, stamped.count, dues)
        originals, events = ids.join(self.id.partition, base, now)
        count = stamped.count + count_originals(originals) if originals else stamped.count
        batch_written = BatchWritten(*(producer or (0, 0, 0)), count, base, now, originals)
        after = base + stamped.count
        entry: Entry = (AppendRecords(self.id, batch, after), *events, *also)
        if producer is not None:
            entry = (*entry, self._streams.event(self._stream, batch_written))
        if stamped.priorities is None:
            self.enqueued.note(NORMAL, stamped.count, now=InstantNs(now))
        else:
            for priority, number in Counter(stamped.priorities).items():
                self.enqueued.note(priority, number, now=InstantNs(now))
            marked = LanesMarked(base, stamped.priorities)
            entry = (*entry, self._streams.event(self._lanes_stream, marked))
            self.lanes.apply(marked)
        if delayed is not None:
            # Known before the records can be read, so there is no moment at which one of them is visible.
            entry = (*entry, self._streams.event(self._delays_stream, delayed))
            self.delays.apply(delayed)
        effects = _Effects(batch_written, after, ids, delayed)
        self._submit(entry, effects, len(batch), done, durable=durable, written=written)
        return batch_written

    def _decide_delays(self, base: int, count: int, dues: Sequence[int]) -> Delayed | None:
        if len(dues) != count:
            raise InvalidRecord(f"{len(dues)} instants for {count} records", hint="give one for each, 0 for at once")
        return self.delays.schedule(range(base, base + count), dues, now=self._clock.now_ns())

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
        self,
        entry: Entry,
        effects: "_Effects",
        size: int,
        done: Done,
        *,
        durable: bool,
        written: Callable[[], None] | None,
    ) -> None:
        batch, after, ids, delayed = effects
        pending = self._watermark.begin(after)

        def finished(refusal: GoQueueError | None) -> None:
            if refusal is None:
                moved = self._watermark.confirm(pending)
            else:
                moved = True
                self._refused += 1
                self._watermark.refuse(pending)
                self.producers.undo(batch)
                self._take_back(batch.base_offset, delayed)
                ids.refused()
            done(refusal)
            if delayed is not None and refusal is None:
                self.set_alarm()
            if moved and self._watchers:
                self._tell_watchers()

        try:
            self._commit.submit(entry, size, finished, durable=durable, written=written or ids.written)
        except GoQueueError:
            self._watermark.refuse(pending)
            self._take_back(batch.base_offset, delayed)
            raise
        self._next_offset, self._newest_ns = after, batch.timestamp_ns
        ids.begin()
        if batch.producer_id:
            self.producers.apply(batch)

    def _take_back(self, base_offset: int, delayed: Delayed | None) -> None:
        self.lanes.forget_from(base_offset)
        if delayed is not None:
            self.delays.undo(delayed)

    # Delays.

    def set_alarm(self) -> None:
        """Records are made visible when they are due; this says when to look."""
        due = self.delays.next_due()
        if due is not None:
            self._alarm.set(self, due)

    def forget_dropped(self) -> None:
        """Forget what is known of records that retention has taken."""
        start = self.log.start_offset
        self.lanes.forget_below(start)
        forgotten = self.delays.forget_below(start)
        if forgotten is not None:
            self.delays.apply(forgotten)

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
