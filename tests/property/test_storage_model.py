"""Whatever is done to a data folder, in whatever order, it answers as a few lists in memory would."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from goqueue import codec
from goqueue.adapters.disk.store import DiskStore, StoreSettings
from goqueue.adapters.memory.store import MemoryDisk, MemoryStore
from goqueue.engine.ports import (
    AppendRecords,
    CompactionPolicy,
    CreateLog,
    DeleteLog,
    DropSegments,
    Operation,
    SlowWork,
    StateEvent,
    Storage,
)
from goqueue.errors import LogExists, StorageBusy, UnknownLog
from goqueue.model.log import LogId
from goqueue.model.record import Record
from goqueue.testing import RecordingObserver, SeededEntropy, SimulatedFileSystem
from tests.unit.disk.making import MIB, UNLIMITED, Remembered

LOGS = [LogId("a", 0), LogId("a", 1), LogId("b.c", 0)]
STREAMS = ["s", "t"]
SEGMENT_BYTES = 1024

logs = st.sampled_from(LOGS)
times = st.integers(0, 40)
records = st.builds(
    Record,
    value=st.none() | st.binary(max_size=300),
    key=st.sampled_from([None, b"", b"k1", b"k2", b"k3"]),
    timestamp_ns=st.integers(1, 40),
)
batches = st.lists(records, min_size=1, max_size=6)
offsets = st.integers(0, 120)
limits = offsets | st.just(UNLIMITED)


class Kept:
    """A log as it should be: the records in it by offset, and where it ends."""

    def __init__(self) -> None:
        self.records: dict[int, Record] = {}
        self.end = 0

    def add(self, batch: list[Record]) -> None:
        for record in codec.decode(encoded(self.end, batch)):
            self.records[record.offset] = record
        self.end += len(batch)

    def between(self, start: int, limit: int) -> list[Record]:
        return [record for offset, record in sorted(self.records.items()) if start <= offset < limit]


def encoded(base_offset: int, batch: list[Record]) -> bytes:
    data = bytearray(codec.encode(batch))
    codec.stamp(data, base_offset, 1, True)
    return bytes(data)


@dataclass
class _Checkpointing:
    work: SlowWork
    snapshots: dict[str, bytes | None]
    lsn: int
    ran: bool = False


@dataclass
class _Compacting:
    work: SlowWork
    log: LogId
    kept: Kept
    policy: CompactionPolicy
    ran: bool = False


class StorageMachine(RuleBasedStateMachine):
    """Runs beside the model; `stop` and `make` are what differs between the disk and its twin."""

    make: Callable[[], Storage]

    def __init__(self) -> None:
        super().__init__()
        self.logs: dict[LogId, Kept] = {}
        self.lsn = 0
        self.events: list[tuple[int, tuple[str, bytes]]] = []
        self.snapshots: dict[str, bytes] = {}
        self.checkpoint_lsn = 0
        self.checkpointing: _Checkpointing | None = None
        self.compacting: _Compacting | None = None
        self.prepare()
        self.store = self.make()
        self.store.open(Remembered())

    def prepare(self) -> None:
        raise NotImplementedError

    # Writing.

    def write(self, *operations: Operation) -> None:
        assert self.store.write([operations]) == [None]
        self.lsn += 1

    @initialize()
    def begin_with_a_log(self) -> None:
        self.write(CreateLog(LOGS[0]))
        self.logs[LOGS[0]] = Kept()

    @rule(log=logs, batch=batches)
    def append(self, log: LogId, batch: list[Record]) -> None:
        kept = self.logs.get(log)
        if kept is None:
            (refusal,) = self.store.write([(AppendRecords(log, encoded(0, batch), len(batch)),)])
            assert isinstance(refusal, UnknownLog)
            return
        self.write(AppendRecords(log, encoded(kept.end, batch), kept.end + len(batch)))
        kept.add(batch)

    @rule(log=logs, count=st.integers(3, 30), key=st.sampled_from([None, b"k1"]))
    def append_many(self, log: LogId, count: int, key: bytes | None) -> None:
        for number in range(count):
            if log in self.logs:
                self.append(log, [Record(value=bytes(60), key=key, timestamp_ns=1 + number)])

    @rule(batch=batches, payload=st.binary(max_size=50), stream=st.sampled_from(STREAMS))
    def append_to_all_with_an_event(self, batch: list[Record], payload: bytes, stream: str) -> None:
        operations: list[Operation] = [
            AppendRecords(log, encoded(kept.end, batch), kept.end + len(batch)) for log, kept in self.logs.items()
        ]
        self.write(StateEvent(stream, payload), *operations)
        self.events.append((self.lsn, (stream, payload)))
        for kept in self.logs.values():
            kept.add(batch)

    @rule(data=st.data(), size=st.integers(1, 5))
    def write_a_group(self, data: st.DataObject, size: int) -> None:
        """Several entries in one call, each building on the one before it, and some of them wrong."""
        entries, wanted = [], []
        for _ in range(size):
            log, batch = data.draw(logs), data.draw(batches)
            kept = self.logs.get(log)
            if kept is None:
                entries.append((CreateLog(log), AppendRecords(log, encoded(0, batch), len(batch))))
                kept = self.logs[log] = Kept()
            elif data.draw(st.integers(0, 3)) == 0:
                entries.append((StateEvent("s", b"never"), AppendRecords(log, encoded(kept.end + 1, batch), 1000)))
                wanted.append(StorageBusy)
                continue
            else:
                entries.append((AppendRecords(log, encoded(kept.end, batch), kept.end + len(batch)),))
            wanted.append(type(None))
            self.lsn += 1
            kept.add(batch)
        assert [type(outcome) for outcome in self.store.write(entries)] == wanted

    @rule(log=logs)
    def create(self, log: LogId) -> None:
        if log in self.logs:
            (refusal,) = self.store.write([(StateEvent("s", b"never"), CreateLog(log))])
            assert isinstance(refusal, LogExists)
            return
        self.write(CreateLog(log))
        self.logs[log] = Kept()

    @precondition(lambda self: self.logs)
    @rule(data=st.data(), again=st.booleans())
    def delete(self, data: st.DataObject, again: bool) -> None:
        log = data.draw(st.sampled_from(sorted(self.logs)))
        self.write(StateEvent("s", b"gone"), DeleteLog(log))
        self.events.append((self.lsn, ("s", b"gone")))
        del self.logs[log]
        if again:
            self.create(log)

    @precondition(lambda self: self.logs)
    @rule(data=st.data())
    def drop(self, data: st.DataObject) -> None:
        log = data.draw(st.sampled_from(sorted(self.logs)))
        segments = self.store.log(log).segments
        if segments:
            count = data.draw(st.integers(1, len(segments)))
            first = data.draw(st.sampled_from([0, 0, 0, len(segments) - count]))
            chosen = segments[first : first + count]
            self.write(DropSegments(log, tuple(segment.base_offset for segment in chosen)))
            kept = self.logs[log].records
            for segment in chosen:
                for offset in range(segment.base_offset, segment.next_offset):
                    kept.pop(offset, None)

    # Slow work: one of each kind at a time, with anything in between. What a stopped store had begun is never finished.

    @precondition(lambda self: self.checkpointing is None)
    @rule(streams=st.dictionaries(st.sampled_from(STREAMS), st.booleans()))
    def begin_checkpoint(self, streams: dict[str, bool]) -> None:
        snapshots = {
            name: b"%s at %d" % (name.encode(), self.lsn) if there else None for name, there in streams.items()
        }
        self.checkpointing = _Checkpointing(self.store.begin_checkpoint(snapshots), snapshots, self.lsn)

    @precondition(lambda self: self.checkpointing and not self.checkpointing.ran)
    @rule()
    def run_checkpoint(self) -> None:
        self.checkpointing.work.run()
        self.checkpointing.ran = True
        merged = self.snapshots | self.checkpointing.snapshots
        self.snapshots = {stream: payload for stream, payload in merged.items() if payload is not None}
        self.checkpoint_lsn = self.checkpointing.lsn

    @precondition(lambda self: self.checkpointing and self.checkpointing.ran)
    @rule()
    def finish_checkpoint(self) -> None:
        self.store.finish_checkpoint(self.checkpointing.work)
        self.checkpointing = None

    @precondition(lambda self: self.checkpointing is None)
    @rule()
    def checkpoint(self) -> None:
        self.begin_checkpoint({"s": True})
        self.run_checkpoint()
        self.finish_checkpoint()

    @precondition(lambda self: self.logs and self.compacting is None)
    @rule(data=st.data(), limit=limits, horizon=times)
    def begin_compaction(self, data: st.DataObject, limit: int, horizon: int) -> None:
        log = data.draw(st.sampled_from(sorted(self.logs)))
        policy = CompactionPolicy(limit, horizon)
        work = self.store.begin_compaction(log, policy)
        if work is not None:
            self.compacting = _Compacting(work, log, self.logs[log], policy)

    @precondition(lambda self: self.compacting and not self.compacting.ran)
    @rule()
    def run_compaction(self) -> None:
        self.compacting.work.run()
        self.compacting.ran = True

    @precondition(lambda self: self.compacting and self.compacting.ran)
    @rule()
    def finish_compaction(self) -> None:
        done, self.compacting = self.compacting, None
        self.store.finish_compaction(done.work)
        assert self.store.written_lsn >= self.lsn
        self.lsn = self.store.written_lsn
        if self.logs.get(done.log) is done.kept:
            self.check_compacted(done.log, done.kept, done.policy)

    @precondition(lambda self: self.logs and self.checkpointing is None and self.compacting is None)
    @rule(data=st.data(), horizon=times)
    def compact(self, data: st.DataObject, horizon: int) -> None:
        self.checkpoint()
        self.begin_compaction(data, UNLIMITED, horizon)
        if self.compacting is not None:
            self.run_compaction()
            self.finish_compaction()

    def check_compacted(self, log: LogId, kept: Kept, policy: CompactionPolicy) -> None:
        """Compaction may take less than it could, but nothing that must stay; the model takes over what it took."""
        left = {record.offset: record for record in self.read_all(log)}
        newest = {record.key: offset for offset, record in sorted(kept.records.items()) if record.key is not None}
        for offset, record in kept.records.items():
            if offset in left:
                continue
            assert record.key is not None
            assert offset < policy.limit_offset
            assert newest[record.key] > offset or (
                record.value is None and record.timestamp_ns < policy.drop_tombstones_before_ns
            )
        assert all(kept.records[offset] == record for offset, record in left.items())
        kept.records = left

    # Stopping.

    @rule(kill=st.booleans())
    def restart(self, kill: bool) -> None:
        self.stop(kill)
        self.checkpointing = self.compacting = None
        recovered = Remembered()
        self.store = self.make()
        self.store.open(recovered)
        assert recovered.snapshots == self.snapshots
        assert recovered.events == [event for lsn, event in self.events if lsn > self.checkpoint_lsn]
        assert self.store.written_lsn == self.lsn

    def stop(self, kill: bool) -> None:
        raise NotImplementedError

    # Looking.

    @precondition(lambda self: self.logs)
    @rule(data=st.data(), start=offsets, max_bytes=st.integers(0, 3000), limit=limits)
    def read(self, data: st.DataObject, start: int, max_bytes: int, limit: int) -> None:
        log = data.draw(st.sampled_from(sorted(self.logs)))
        wanted = self.logs[log].between(start, limit)
        chunk = self.store.log(log).read(start, max_bytes, limit)
        found = codec.decode(chunk.records)
        assert found == wanted[: len(found)]
        assert chunk.damage == ()
        assert bool(found) == bool(wanted)
        assert len(found) == 1 or len(chunk.records) <= max_bytes
        if found:
            assert (chunk.first_offset, chunk.next_offset) == (found[0].offset, found[-1].offset + 1)

    @precondition(lambda self: self.logs)
    @rule(data=st.data(), time=times, limit=limits)
    def seek_time(self, data: st.DataObject, time: int, limit: int) -> None:
        log = data.draw(st.sampled_from(sorted(self.logs)))
        wanted = next((r.offset for r in self.logs[log].between(0, limit) if r.timestamp_ns >= time), None)
        assert self.store.log(log).offset_at(time, limit) == wanted

    def read_all(self, log: LogId) -> list[Record]:
        found: list[Record] = []
        start = 0
        while (chunk := self.store.log(log).read(start, MIB, UNLIMITED)).records:
            assert chunk.damage == ()
            found += codec.decode(chunk.records)
            start = chunk.next_offset
        return found

    @invariant()
    def the_logs_are_those_of_the_model(self) -> None:
        assert set(self.store.logs()) == set(self.logs)
        assert self.store.written_lsn == self.lsn
        for log, kept in self.logs.items():
            found = self.store.log(log)
            segments = found.segments
            assert found.next_offset == kept.end
            assert found.size == sum(segment.size for segment in segments)
            assert all(s.base_offset <= s.next_offset for s in segments)
            assert all(s.next_offset <= t.base_offset for s, t in itertools.pairwise(segments))

    def teardown(self) -> None:
        for log, kept in self.logs.items():
            assert self.read_all(log) == kept.between(0, UNLIMITED)
        self.restart(kill=True)
        for log, kept in self.logs.items():
            assert self.read_all(log) == kept.between(0, UNLIMITED)
        self.store.close()


class DiskMachine(StorageMachine):
    def prepare(self) -> None:
        self.files = SimulatedFileSystem()
        self.entropy = SeededEntropy()
        self.observer = RecordingObserver()
        sizes = StoreSettings(segment_bytes=SEGMENT_BYTES, journal_file_bytes=8 * 1024, open_sealed_segments=2)
        self.make = lambda: DiskStore("data", self.files, self.entropy, self.observer, sizes)

    def stop(self, kill: bool) -> None:
        if kill:
            self.files.kill()
        else:
            self.store.close()

    @invariant()
    def nothing_is_reported(self) -> None:
        observer = self.observer
        assert observer.damage == observer.journal_damage == observer.dropped == []
        assert observer.failed_logs == observer.failures == []


class MemoryMachine(StorageMachine):
    def prepare(self) -> None:
        self.disk = MemoryDisk()
        self.make = lambda: MemoryStore(self.disk, segment_bytes=SEGMENT_BYTES)

    def stop(self, kill: bool) -> None:
        self.store.close()


@pytest.mark.parametrize(("machine", "examples"), [(DiskMachine, 60), (MemoryMachine, 20)], ids=["disk", "memory"])
def test_storage_answers_as_its_model_does(machine, examples):
    run_state_machine_as_test(machine, settings=settings(max_examples=examples, stateful_step_count=40))
