"""Partition: assigns offsets, submits records to group commit and tracks how far they may be read."""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

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
from goqueue.core.transactions.outcomes import Closed, Outcomes, Wrote
from goqueue.engine.alarm import DelayAlarm
from goqueue.engine.group_commit import Done
from goqueue.engine.joint_append import JOINT_BYTES, JointAppend
from goqueue.engine.ports import AppendRecords, Clock, Entry, Log
from goqueue.engine.staged_append import NO_IDS, BatchIds, StagedAppend
from goqueue.engine.state_log import Also, Owner, StateLog
from goqueue.engine.tally import TopicTally
from goqueue.errors import GoQueueError, InvalidRecord, OffsetOutOfRange, RecordTooLarge, StorageBusy, UnknownTopic
from goqueue.model.ids import InstantNs
from goqueue.model.log import Chunk, LogId
from goqueue.model.priority import NORMAL
from goqueue.model.record import Flag, Record
from goqueue.model.topic import Topic

__all__ = [
    "PARTITION_STREAMS",
    "Marker",
    "Partition",
    "ProducerBatch",
    "delays_stream",
    "lanes_stream",
    "outcomes_stream",
    "producers_stream",
]

HELD_BYTES = 64 * 1024 * 1024
CONTROL = int(Flag.CONTROL)
_stamp = codec.stamp_batch


def producers_stream(log: LogId | str = "") -> str:
    """The stream of the partition's producer windows. Without a log, the prefix of all such streams."""
    return f"producers/{log}"


def lanes_stream(log: LogId | str = "") -> str:
    """The stream of the priorities of the partition's records."""
    return f"lanes/{log}"


def delays_stream(log: LogId | str = "") -> str:
    """The stream of the due times of the partition's records."""
    return f"delays/{log}"


def outcomes_stream(log: LogId | str = "") -> str:
    """The stream that says which records belong to transactions and how those ended."""
    return f"outcomes/{log}"


PARTITION_STREAMS = (producers_stream, lanes_stream, delays_stream, outcomes_stream)


class ProducerBatch:
    """The producer of a batch, its epoch, and the sequence number of the batch's first record."""

    __slots__ = ("epoch", "producer_id", "sequence")

    def __init__(self, producer_id: int, epoch: int, sequence: int) -> None:
        self.producer_id = producer_id
        self.epoch = epoch
        self.sequence = sequence


NOBODY = ProducerBatch(0, 0, 0)
"""For batches without sequence numbers."""


class Marker(NamedTuple):
    """The end of a transaction, as a control record that readers never see."""

    transaction: int
    producer_id: int
    epoch: int
    committed: bool

    def record(self) -> Record:
        value = {"transaction": self.transaction, "producer_id": self.producer_id, "epoch": self.epoch}
        flags = Flag.CONTROL | Flag.COMMIT if self.committed else Flag.CONTROL
        return Record(value=msgspec.json.encode(value), flags=flags)


class _Stamped(NamedTuple):
    """The offsets and the timestamp of a stamped batch."""

    base: int
    now: int
    added: int
    priorities: bytes | None


class Partition:
    """A partition has one owner on the event loop; no method waits."""

    def __init__(
        self,
        topic: Topic,
        log_id: LogId,
        log: Log,
        state_log: StateLog,
        clock: Clock,
        producers: ProducerWindow,
        lanes: LaneIndex,
        delays: Delays,
        outcomes: Outcomes,
        alarm: DelayAlarm,
        tally: TopicTally,
    ) -> None:
        self.topic = topic
        """The topic as currently configured."""
        self.id = log_id
        self.tally = tally
        self.log = log
        self.producers = producers
        self.lanes = lanes
        self.enqueued = LaneFlow()
        self.delays = delays
        self.outcomes = outcomes
        self._alarm = alarm
        self._state_log = state_log
        self._commit = state_log.commit
        self._clock = clock
        self._now_ns = clock.now_ns
        self._streams = state_log.streams
        self._stream = producers_stream(log_id)
        self._lanes_stream = lanes_stream(log_id)
        self._delays_stream = delays_stream(log_id)
        self._outcomes_stream = outcomes_stream(log_id)
        self._next_offset = log.next_offset
        self.is_closed = False
        """The topic was deleted; another one may have its name."""
        self._has_strayed = False
        """True if offsets were assigned to records that were not written to the log."""
        self._watermark = Watermark(log.next_offset)
        self._newest_ns = max((segment.max_timestamp_ns for segment in log.segments), default=0)
        self._watchers: set[Callable[[], None]] = set()
        self.held: list[Callable[[], None]] = []
        """Publishes that are put off."""
        self._held_bytes = 0
        self._refused = 0
        self._joint: JointAppend | None = None
        """Takes plain batches until it is full or group commit asks for its entry."""

    @property
    def high_watermark(self) -> int:
        return self._watermark.offset

    @property
    def stable_offset(self) -> int:
        """Last stable offset: the end for readers of committed records, at the first record of an open transaction."""
        return self.outcomes.stable(self._watermark.offset)

    @property
    def next_offset(self) -> int:
        """The offset of the next batch. After a refused append, offsets continue at the end of the log."""
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
    ) -> BatchWritten:
        """Stamp a batch in place and submit it; `done` is called with the outcome.

        `dues` has a due time for each record, which is hidden until then. A due time in the past means at once.
        """
        # The clock may be set back; timestamps in a partition never decrease.
        now: int = self._now_ns()
        if now < self._newest_ns:
            now = self._newest_ns
        base = self.next_offset if self._has_strayed else self._next_offset
        added, _, largest_value, flags, priorities = _stamp(batch, base, now)
        if largest_value > max_value_bytes or flags & CONTROL:
            self._refuse_batch(largest_value, max_value_bytes)
        if priorities is None and ids is NO_IDS and dues is None:
            by = producer or NOBODY
            plain = BatchWritten(by.producer_id, by.epoch, by.sequence, added, base, now)
            self._append_plain(batch, plain, producer is not None, base + added, done, durable)
            self._newest_ns = now
            return plain
        staged = self._stage(batch, _Stamped(base, now, added, priorities), producer, ids, dues, None)
        self._state_log.submit((), Also(appends=(staged,), durable=durable), done)
        return staged.batch

    def stage(
        self,
        batch: bytearray,
        *,
        max_value_bytes: int = codec.MAX_VALUE,
        producer: ProducerBatch | None = None,
        dues: Sequence[int] | None = None,
        transaction: int | None = None,
    ) -> StagedAppend:
        """Like `append`, for records that share a journal entry with other operations.

        Records of a transaction are hidden until it commits.
        """
        if self.is_closed:
            raise UnknownTopic(f"{self.id.topic} was deleted")
        base, now = self.next_offset, max(self._now_ns(), self._newest_ns)
        added, _, largest_value, flags, priorities = _stamp(batch, base, now)
        if largest_value > max_value_bytes or flags & CONTROL:
            self._refuse_batch(largest_value, max_value_bytes)
        return self._stage(batch, _Stamped(base, now, added, priorities), producer, NO_IDS, dues, transaction)

    def _refuse_batch(self, largest_value: int, max_value_bytes: int) -> None:
        if largest_value > max_value_bytes:
            raise RecordTooLarge(f"a value of {largest_value} bytes, the limit of {self.id.topic} is {max_value_bytes}")
        raise InvalidRecord("control records are the broker's own", hint="publish records without that flag")

    def _stage(
        self,
        records: bytearray,
        stamped: "_Stamped",
        producer: ProducerBatch | None,
        ids: BatchIds,
        dues: Sequence[int] | None,
        transaction: int | None,
    ) -> StagedAppend:
        base, now, added, priorities = stamped
        delayed = None if dues is None else self._decide_delays(base, added, dues)
        originals, known = ids.join(self.id.partition, base, now)
        count = added + count_originals(originals) if originals else added
        batch = _written_by(producer, count, base, now, originals)
        operations: Entry = (AppendRecords(self.id, records, base + added),)
        if producer is not None:
            operations = (*operations, self._streams.event(self._stream, batch))
        events = [*known]
        if priorities is not None:
            events.append((self._state_log.owner(self._lanes_stream), LanesMarked(base, priorities)))
        if delayed is not None:
            events.append((self._state_log.owner(self._delays_stream), delayed))
        if transaction is not None:
            events.append((self._state_log.owner(self._outcomes_stream), Wrote(transaction, base, added)))
        staged = StagedAppend(self, batch, operations, events, self._watermark.begin(base + added))
        staged.size, staged.ids = len(records), ids
        counts = {NORMAL: added} if priorities is None else Counter(priorities)

        def finished() -> None:
            for priority, number in counts.items():
                self.enqueued.note(priority, number, now=InstantNs(now))
            self.tally.published_records += added
            self.tally.published_bytes += len(records)
            if delayed is not None:
                self.set_alarm()

        staged.finished = finished
        return staged

    def _append_plain(
        self,
        records: bytearray,
        batch: BatchWritten,
        is_numbered: bool,
        next_offset: int,
        done: Done,
        durable: bool,
    ) -> None:
        """Add the batch to the entry that is open, or to a new one."""
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
        """Close the entry: nothing is added to it from here on."""
        if self._joint is joint:
            self._joint = None
        append = AppendRecords(self.id, joint.take_records(), joint.pending.next_offset)
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
            # No caller waits for these figures, so they come last.
            count = joint.pending.next_offset - joint.batches[0].base_offset
            self.tally.published_records += count
            self.tally.published_bytes += joint.size
            self.enqueued.note(NORMAL, count, now=InstantNs(joint.batches[-1].timestamp_ns))

    def _refuse(self, pending: Pending) -> None:
        self._has_strayed = True
        self._watermark.refuse(pending)

    def stage_markers(self, markers: Sequence[Marker]) -> StagedAppend:
        """Stage the control records that end transactions, and their effect on the records before them."""
        now = max(self._clock.now_ns(), self._newest_ns)
        base = self.next_offset
        batch = bytearray(codec.encode([one.record() for one in markers]))
        after = base + codec.stamp(batch, base, now).count
        outcomes = self._state_log.owner(self._outcomes_stream)
        events: list[tuple[Owner, Any]] = [
            (outcomes, Closed(one.transaction, one.committed, offset)) for offset, one in enumerate(markers, base)
        ]
        cancelled = self._cancel_delays([one.transaction for one in markers if not one.committed])
        if cancelled is not None:
            events.append((self._state_log.owner(self._delays_stream), cancelled))
        written = BatchWritten(0, 0, 0, len(markers), base, now)
        operations: Entry = (AppendRecords(self.id, batch, after),)
        return StagedAppend(self, written, operations, events, self._watermark.begin(after))

    def begin_staged(self, staged: StagedAppend) -> None:
        """Note that the append was submitted. Until then nothing else may be staged; later appends follow it."""
        self._joint = None
        self._next_offset, self._newest_ns = staged.next_offset, staged.batch.timestamp_ns
        staged.ids.begin()
        if staged.batch.producer_id:
            self.producers.remember(staged.batch)

    def withdraw_staged(self, staged: StagedAppend) -> None:
        """Note that the append could not be submitted."""
        self._refuse(staged.pending)

    def finish_staged(self, staged: StagedAppend, refusal: GoQueueError | None) -> None:
        if refusal is None:
            moved = self._watermark.confirm(staged.pending)
            if staged.finished is not None:
                staged.finished()
        else:
            moved = True
            self._refused += 1
            self._refuse(staged.pending)
            self.producers.undo(staged.batch)
            staged.ids.end()
        if moved and self._watchers:
            self._tell_watchers()

    def _cancel_delays(self, aborted: Sequence[int]) -> Cancelled | None:
        """Cancel the delays of aborted records: they never become due."""
        if not aborted or not self.delays.has_any:
            return None
        offsets = BitMap64.union(BitMap64(), *map(self.outcomes.offsets, aborted))
        pending = self.delays.by_state(offsets)[DelayState.PENDING]
        return self.delays.cancel(*pending) if pending else None

    def _decide_delays(self, base: int, count: int, dues: Sequence[int]) -> Delayed | None:
        if len(dues) != count:
            raise InvalidRecord(
                f"there must be one due time per record, got {len(dues)} for {count}", hint="use 0 for at once"
            )
        return self.delays.schedule(range(base, base + count), dues, now=self._clock.now_ns())

    def append_nothing(self, count: int, done: Done, *, producer: ProducerBatch | None, ids: BatchIds) -> BatchWritten:
        """Like `append`, when every record is a duplicate. The sequence numbers of the producer advance all the
        same."""
        base, now = self.next_offset, max(self._clock.now_ns(), self._newest_ns)
        originals, _ = ids.join(self.id.partition, base, now)
        written = _written_by(producer, count, base, now, originals)
        if producer is None:
            self._commit.when_durable(done)
            return written

        # Later batches of the producer must follow this one.
        self._joint = None
        refused_before = self._refused

        def finished(refusal: GoQueueError | None) -> None:
            if refusal is None and self._refused != refused_before:
                # The refused batch may be of the same producer, whose sequence numbers come first.
                refusal = StorageBusy("a batch before this one was refused")
            if refusal is not None:
                self.producers.undo(written)
            done(refusal)

        entry = (self._streams.event(self._stream, written),)
        self._commit.submit(entry, len(originals), finished, durable=True)
        self.producers.remember(written)
        return written

    # Delays.

    def set_alarm(self) -> None:
        """Schedule the next firing of delayed records."""
        due = self.delays.next_due()
        if due is not None:
            self._alarm.set(self, due)

    def forget_dropped(self) -> None:
        """Forget the state of records that retention dropped."""
        start = self.log.start_offset
        self.lanes.forget_below(start)
        self.outcomes.forget_below(start)
        self.delays.forget_below(start)

    # Held publishes.

    def hold(self, again: Callable[[], None], size: int) -> None:
        """Put off a publish, and with it all later ones, until `resume`."""
        if self.held and self._held_bytes + size > HELD_BYTES:
            raise StorageBusy(f"{self._held_bytes} bytes wait to be written to {self.id}")
        self.held.append(again)
        self._held_bytes += size

    def resume(self) -> None:
        """Continue the publishes that were put off, in order; some may be put off again."""
        held, self.held, self._held_bytes = self.held, [], 0
        for again in held:
            again()

    # Reading.

    def read(self, offset: int, max_bytes: int, end: int) -> Chunk:
        """Read records from `offset` up to `end`. Run in a thread, as it may block on the disk."""
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
