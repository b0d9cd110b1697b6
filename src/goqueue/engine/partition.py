"""A partition at work: gives offsets, hands records to group commit, and says how far they may be read."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple, Protocol

import msgspec
from pyroaring import BitMap64

from goqueue import codec
from goqueue.core.delay.delays import Delays
from goqueue.core.delay.events import Cancelled, Delayed
from goqueue.core.delay.states import DelayState
from goqueue.core.partition.watermark import Pending, Watermark
from goqueue.core.priority.lane_index import LaneIndex, LanesMarked
from goqueue.core.priority.stats import LaneFlow
from goqueue.core.producers.originals import count_originals
from goqueue.core.producers.window import BatchWritten, ProducerWindow, written_together
from goqueue.core.transactions.outcomes import Closed, OutcomeEvent, Outcomes, Wrote
from goqueue.engine.alarm import DelayAlarm
from goqueue.engine.group_commit import Done, GroupCommit
from goqueue.engine.joint_append import JOINT_BYTES, JointAppend
from goqueue.engine.ports import AppendRecords, Clock, Entry, Log
from goqueue.engine.streams import Streams
from goqueue.engine.tally import TopicTally
from goqueue.errors import GoQueueError, InvalidRecord, OffsetOutOfRange, RecordTooLarge, StorageBusy
from goqueue.model.ids import InstantNs
from goqueue.model.log import Chunk, LogId
from goqueue.model.priority import NORMAL
from goqueue.model.record import Flag, Record
from goqueue.model.topic import Topic

__all__ = [
    "NO_IDS",
    "PARTITION_STREAMS",
    "BatchIds",
    "Marker",
    "Partition",
    "ProducerBatch",
    "Staged",
    "delays_stream",
    "lanes_stream",
    "outcomes_stream",
    "producers_stream",
]

HELD_BYTES = 64 * 1024 * 1024
CONTROL = int(Flag.CONTROL)
_stamp = codec.stamp_batch


def producers_stream(log: LogId | str = "") -> str:
    """The stream in which a partition keeps what its producers have sent; without a log, what all such begin with."""
    return f"producers/{log}"


def lanes_stream(log: LogId | str = "") -> str:
    """The stream in which a partition keeps the priorities of its records."""
    return f"lanes/{log}"


def delays_stream(log: LogId | str = "") -> str:
    """The stream in which a partition keeps until when its records are hidden."""
    return f"delays/{log}"


def outcomes_stream(log: LogId | str = "") -> str:
    """The stream in which a partition keeps which of its records belong to transactions, and how these ended."""
    return f"outcomes/{log}"


PARTITION_STREAMS = (producers_stream, lanes_stream, delays_stream, outcomes_stream)


class ProducerBatch:
    """Who sent a batch, and the number of its first record among that producer's in this partition."""

    __slots__ = ("epoch", "producer_id", "sequence")

    def __init__(self, producer_id: int, epoch: int, sequence: int) -> None:
        self.producer_id = producer_id
        self.epoch = epoch
        self.sequence = sequence


NOBODY = ProducerBatch(0, 0, 0)
"""For batches of those who do not number their records."""


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
    ids: BatchIds = NO_IDS
    delayed: Delayed | None = None
    outcomes: tuple[OutcomeEvent, ...] = ()
    cancelled: Cancelled | None = None
    size: int = 0
    """Bytes of records that somebody published."""


class Marker(NamedTuple):
    """The end of a transaction, as a record of the log that no reader is shown."""

    transaction: int
    producer_id: int
    epoch: int
    committed: bool

    def record(self) -> Record:
        value = {"transaction": self.transaction, "producer_id": self.producer_id, "epoch": self.epoch}
        flags = Flag.CONTROL | Flag.COMMIT if self.committed else Flag.CONTROL
        return Record(value=msgspec.json.encode(value), flags=flags)


class Staged(NamedTuple):
    """Records that have their offsets and can be written, with others in one entry if need be.

    Nothing may be staged for the same partition before one of these is called: `begin` when they were handed to
    group commit, which is to call `apply` once they are written and `finish` in the end; or `take_back` when that was
    refused.
    """

    operations: Entry
    begin: Callable[[], None]
    apply: Callable[[], None]
    finish: Done
    take_back: Callable[[], None]


class Partition:
    """One owner on the event loop; nothing here waits."""

    def __init__(
        self,
        topic: Topic,
        log_id: LogId,
        log: Log,
        commit: GroupCommit,
        clock: Clock,
        streams: Streams,
        producers: ProducerWindow,
        lanes: LaneIndex,
        delays: Delays,
        outcomes: Outcomes,
        alarm: DelayAlarm,
        tally: TopicTally,
    ) -> None:
        self.topic = topic
        """As it is set up now."""
        self.id = log_id
        self.tally = tally
        self.log = log
        self.producers = producers
        self.lanes = lanes
        self.enqueued = LaneFlow()
        self.delays = delays
        self.outcomes = outcomes
        self._alarm = alarm
        self._commit = commit
        self._clock = clock
        self._now_ns = clock.now_ns
        self._streams = streams
        self._stream = producers_stream(log_id)
        self._lanes_stream = lanes_stream(log_id)
        self._delays_stream = delays_stream(log_id)
        self._outcomes_stream = outcomes_stream(log_id)
        self._next_offset = log.next_offset
        self._has_strayed = False
        """Offsets were given to records that did not come to be in the log."""
        self._watermark = Watermark(log.next_offset)
        self._newest_ns = max((segment.max_timestamp_ns for segment in log.segments), default=0)
        self._watchers: set[Callable[[], None]] = set()
        self.held: list[Callable[[], None]] = []
        """Publishes that are put off."""
        self._held_bytes = 0
        self._refused = 0
        self._joint: JointAppend | None = None
        """To which plain batches are added as long as it takes them."""

    @property
    def high_watermark(self) -> int:
        return self._watermark.offset

    @property
    def stable_offset(self) -> int:
        """How far readers of committed records may go: up to the first one whose transaction has not ended."""
        return self.outcomes.stable(self._watermark.offset)

    @property
    def next_offset(self) -> int:
        """Where the next batch begins. After a refused append, offsets go on from what is really in the log."""
        if self._has_strayed and self._watermark.is_idle:
            self._has_strayed = False
            self._next_offset = self.log.next_offset
        return self._next_offset

    # Writing.

    def append(
        self,
        batch: bytearray,
        done: Done,
        durable: bool,
        max_value_bytes: int = codec.MAX_VALUE,
        producer: ProducerBatch | None = None,
        ids: BatchIds = NO_IDS,
        dues: Sequence[int] | None = None,
        transaction: int | None = None,
        also: Entry = (),
        written: Callable[[], None] | None = None,
    ) -> BatchWritten:
        """Stamp a batch in place and have it written, with `also`, or neither; `done` says how it went.

        `dues` has an instant for each record, until which it is hidden; one that has passed means at once. Records of
        a transaction are hidden until it commits.
        """
        # Time may be set back; the order of timestamps in a partition is not.
        now: int = self._now_ns()
        if now < self._newest_ns:
            now = self._newest_ns
        base = self.next_offset if self._has_strayed else self._next_offset
        added, _, largest_value, flags, priorities = _stamp(batch, base, now)
        if largest_value > max_value_bytes:
            raise RecordTooLarge(f"a value of {largest_value} bytes, the limit of {self.id.topic} is {max_value_bytes}")
        if flags & CONTROL:
            raise InvalidRecord("control records are the broker's own", hint="publish records without that flag")
        is_plain = priorities is None and ids is NO_IDS and dues is None and transaction is None
        if is_plain and not also and written is None:
            by = producer or NOBODY
            plain = BatchWritten(by.producer_id, by.epoch, by.sequence, added, base, now)
            self._append_plain(batch, plain, producer is not None, base + added, done, durable)
            self._newest_ns = now
            return plain
        delayed = None if dues is None else self._decide_delays(base, added, dues)
        originals, events = ids.join(self.id.partition, base, now)
        count = added + count_originals(originals) if originals else added
        batch_written = _written_by(producer, count, base, now, originals)
        after = base + added
        entry: Entry = (AppendRecords(self.id, batch, after), *events, *also)
        if producer is not None:
            entry = (*entry, self._streams.event(self._stream, batch_written))
        if priorities is None:
            self.enqueued.note(NORMAL, added, now=InstantNs(now))
        else:
            for priority, number in Counter(priorities).items():
                self.enqueued.note(priority, number, now=InstantNs(now))
            marked = LanesMarked(base, priorities)
            entry = (*entry, self._streams.event(self._lanes_stream, marked))
            self.lanes.apply(marked)
        # These are known before the records can be read, so there is no moment at which one of them is visible.
        if delayed is not None:
            entry = (*entry, self._streams.event(self._delays_stream, delayed))
            self.delays.apply(delayed)
        outcomes: tuple[OutcomeEvent, ...] = ()
        if transaction is not None:
            wrote = Wrote(transaction, base, added)
            entry = (*entry, self._streams.event(self._outcomes_stream, wrote))
            self.outcomes.apply(wrote)
            outcomes = (wrote,)
        staged = self._stage(entry, _Effects(batch_written, after, ids, delayed, outcomes, size=len(batch)), done)
        self._submit(staged, len(batch), durable=durable, written=written or staged.apply)
        return batch_written

    def _append_plain(
        self,
        records: bytearray,
        batch: BatchWritten,
        is_numbered: bool,
        next_offset: int,
        done: Done,
        durable: bool,
    ) -> None:
        """In one entry with others that come before the next write."""
        joint, size = self._joint, len(records)
        if joint is None or joint.durable != durable or joint.size + size > JOINT_BYTES:
            joint = self._begin_joint(size, durable)
        else:
            self._commit.grow(joint.waiting, size)
        joint.add(records, batch, is_numbered, next_offset, done)
        if is_numbered:
            self.producers.remember(batch)
        self._next_offset = next_offset

    def _begin_joint(self, size: int, durable: bool) -> JointAppend:
        joint = JointAppend(self._watermark.begin(self._next_offset), durable)
        try:
            joint.waiting = self._commit.submit(
                partial(self._close_joint, joint), size, partial(self._finish_joint, joint), durable
            )
        except GoQueueError:
            self._refuse(joint.pending)
            raise
        self._joint = joint
        return joint

    def _close_joint(self, joint: JointAppend) -> Entry:
        """The entry, to which nothing is added any more."""
        if self._joint is joint:
            self._joint = None
        # As the class does it, in one step less for each entry.
        append = tuple.__new__(AppendRecords, (self.id, joint.take_records(), joint.pending.next_offset))
        if not joint.numbered:
            return (append,)
        return append, self._streams.event(self._stream, written_together(joint.numbered))

    def _finish_joint(self, joint: JointAppend, refusal: GoQueueError | None) -> None:
        if refusal is None:
            moved = self._watermark.confirm(joint.pending)
        else:
            moved = True
            self._refused += 1
            self._refuse(joint.pending)
            for batch in joint.batches:
                self.producers.undo(batch)
        joint.tell(refusal)
        if moved and self._watchers:
            self._tell_watchers()
        if refusal is None:
            # Nobody waits for these figures, so they come last.
            count = joint.pending.next_offset - joint.batches[0].base_offset
            self.tally.published_records += count
            self.tally.published_bytes += joint.size
            self.enqueued.note(NORMAL, count, now=InstantNs(joint.batches[-1].timestamp_ns))

    def _refuse(self, pending: Pending) -> None:
        self._has_strayed = True
        self._watermark.refuse(pending)

    def stage_markers(self, markers: Sequence[Marker]) -> Staged:
        """The records that end transactions in this partition, and what their ends mean for the records before."""
        now = max(self._clock.now_ns(), self._newest_ns)
        base = self.next_offset
        batch = bytearray(codec.encode([one.record() for one in markers]))
        after = base + codec.stamp(batch, base, now).count
        closed = tuple(Closed(one.transaction, one.committed, offset) for offset, one in enumerate(markers, base))
        entry: Entry = (AppendRecords(self.id, batch, after),)
        cancelled = self._cancel_delays([one.transaction for one in markers if not one.committed])
        if cancelled is not None:
            entry = (*entry, self._streams.event(self._delays_stream, cancelled))
        for event in closed:
            entry = (*entry, self._streams.event(self._outcomes_stream, event))
            # The end counts once the marker is below the high watermark, so it may be applied before it is written.
            self.outcomes.apply(event)
        written = BatchWritten(0, 0, 0, len(markers), base, now)
        return self._stage(entry, _Effects(written, after, outcomes=closed, cancelled=cancelled))

    def _cancel_delays(self, aborted: Sequence[int]) -> Cancelled | None:
        """What was never written is not going to be due."""
        if not aborted or not self.delays.has_any:
            return None
        offsets = BitMap64.union(BitMap64(), *map(self.outcomes.offsets, aborted))
        pending = self.delays.by_state(offsets)[DelayState.PENDING]
        return self.delays.cancel(*pending) if pending else None

    def _decide_delays(self, base: int, count: int, dues: Sequence[int]) -> Delayed | None:
        if len(dues) != count:
            raise InvalidRecord(f"{len(dues)} instants for {count} records", hint="give one for each, 0 for at once")
        return self.delays.schedule(range(base, base + count), dues, now=self._clock.now_ns())

    def append_nothing(self, count: int, done: Done, *, producer: ProducerBatch | None, ids: BatchIds) -> BatchWritten:
        """As `append`, when each of the records is there already; also then a producer's numbers go on."""
        base, now = self.next_offset, max(self._clock.now_ns(), self._newest_ns)
        originals, _ = ids.join(self.id.partition, base, now)
        written = _written_by(producer, count, base, now, originals)
        if producer is None:
            self._commit.when_durable(done)
            return written

        # What the producer sends next comes behind this.
        self._joint = None
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
        self.producers.remember(written)
        return written

    def _stage(self, entry: Entry, effects: "_Effects", done: Done | None = None) -> Staged:
        batch, after, ids, delayed = effects[:4]
        pending = self._watermark.begin(after)
        self._joint = None

        def finish(refusal: GoQueueError | None) -> None:
            if refusal is None:
                moved = self._watermark.confirm(pending)
                if effects.size:
                    self.tally.published_records += after - batch.base_offset
                    self.tally.published_bytes += effects.size
            else:
                moved = True
                self._refused += 1
                self._refuse(pending)
                self.producers.undo(batch)
                self._take_back(effects)
                ids.refused()
            if done is not None:
                done(refusal)
            if delayed is not None and refusal is None:
                self.set_alarm()
            if moved and self._watchers:
                self._tell_watchers()

        def begin() -> None:
            self._next_offset, self._newest_ns = after, batch.timestamp_ns
            ids.begin()
            if batch.producer_id:
                self.producers.remember(batch)

        def apply() -> None:
            ids.written()
            if effects.cancelled is not None:
                self.delays.apply(effects.cancelled)

        def take_back() -> None:
            self._refuse(pending)
            self._take_back(effects)

        return Staged(entry, begin, apply, finish, take_back)

    def _submit(self, staged: Staged, size: int, *, durable: bool, written: Callable[[], None]) -> None:
        try:
            self._commit.submit(staged.operations, size, staged.finish, durable=durable, written=written)
        except GoQueueError:
            staged.take_back()
            raise
        staged.begin()

    def _take_back(self, effects: "_Effects") -> None:
        self.lanes.forget_from(effects.batch.base_offset)
        if effects.delayed is not None:
            self.delays.undo(effects.delayed)
        for event in reversed(effects.outcomes):
            self.outcomes.undo(event)

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
        self.outcomes.forget_below(start)
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

    def read(self, offset: int, max_bytes: int, end: int) -> Chunk:
        """Records from `offset` on, before `end`. May block on the disk, so it is run in a thread."""
        self.check_offset(offset)
        return self.log.read(offset, max_bytes, end)

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


def _written_by(
    producer: ProducerBatch | None, count: int, base_offset: int, timestamp_ns: int, originals: bytes = b""
) -> BatchWritten:
    by = producer or NOBODY
    return BatchWritten(by.producer_id, by.epoch, by.sequence, count, base_offset, timestamp_ns, originals)
