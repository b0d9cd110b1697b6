"""Drives a store on a simulated disk, and writes down what it was asked and what it promised at which point."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from goqueue.adapters.disk.compaction import CompactionWork
from goqueue.adapters.disk.store import DiskStore, StoreSettings
from goqueue.engine.ports import (
    AppendRecords,
    CompactionPolicy,
    CreateLog,
    DeleteLog,
    DropSegments,
    Entry,
    Log,
    SlowWork,
    StateEvent,
)
from goqueue.model.log import LogId
from goqueue.model.record import Record
from goqueue.testing import Platter, RecordingObserver, SeededEntropy
from tests.simulation.model import LogState, RecoveredStreams, State, after, batch, compacted

FOLDER = "data"
TINY = StoreSettings(segment_bytes=700, journal_file_bytes=1500, open_sealed_segments=2)


class Workload:
    """`states[n]` is what storage holds after the entry with LSN n; `acknowledged` and `begun` tell when."""

    def __init__(self, seed: int | str = 0, settings: StoreSettings = TINY) -> None:
        self.settings = settings
        self.entropy = SeededEntropy(f"workload {seed}")
        self.states = [State()]
        self.observer = RecordingObserver()
        self._start(Platter())
        self.open()

    def _start(self, platter: Platter) -> None:
        self._before = platter
        self.disk = platter.page_cache()
        self._begun = [-1] * len(self.states)
        self._acknowledged = [(0, 0)]

    # What a crash may leave.

    def crash_points(self) -> Iterator[tuple[int, Platter]]:
        """The disk after each number of changes."""
        platter = self._before.copy()
        yield 0, platter
        for number, change in enumerate(self.disk.changes, 1):
            platter.apply(change)
            yield number, platter

    def resume(self, platter: Platter, changes: int) -> None:
        """Go on with what a crash after that many changes left on the disk."""
        promised, asked = self.bounds(changes)
        self._start(platter)
        self.store = DiskStore(FOLDER, self.disk, self.entropy, self.observer, self.settings)
        recovered = RecoveredStreams()
        self.store.open(recovered)
        lsn = self.store.written_lsn
        assert promised <= lsn <= asked, f"LSN {lsn} after the crash, promised {promised}, asked for {asked}"
        assert recovered.streams == self.states[lsn].streams
        del self.states[lsn + 1 :]
        del self._begun[lsn + 1 :]
        # What recovery found is what readers see from now on: it must stay, whoever was told of it before.
        self._acknowledged = [(0, promised), (len(self.disk.changes), lsn)]

    def bounds(self, changes: int) -> tuple[int, int]:
        """After that many changes to the disk: the last LSN that was promised, and the last that was asked for."""
        promised = self._acknowledged[bisect_right(self._acknowledged, (changes, 1 << 60)) - 1][1]
        return promised, bisect_left(self._begun, changes, lo=1) - 1

    @property
    def state(self) -> State:
        return self.states[-1]

    # Life cycle.

    def open(self) -> None:
        self.store = DiskStore(FOLDER, self.disk, self.entropy, self.observer, self.settings)
        recovered = RecoveredStreams()
        self.store.open(recovered)
        assert recovered.streams == self.state.streams
        assert self.store.written_lsn == len(self.states) - 1

    def restart(self) -> None:
        """Stop in good order and start again; nothing was lost, as the page cache stays."""
        self.store.close()
        self.open()

    def kill_and_restart(self) -> None:
        self.disk.kill()
        self.open()

    # Writing.

    def write(self, *entries: Entry) -> None:
        """All of these in one group."""
        for entry in entries:
            segments = {log: self.store.log(log).segments for log in self.store.logs()}
            self._begun.append(len(self.disk.changes))
            self.states.append(after(self.state, entry, segments))
        assert self.store.write(entries) == [None] * len(entries)
        assert self.store.written_lsn == len(self.states) - 1
        if any(isinstance(operation, DeleteLog | DropSegments) for entry in entries for operation in entry):
            # Removals are durable when the call returns, as files are gone by then.
            removals = [n for n, entry in enumerate(entries) if isinstance(entry[0], DeleteLog | DropSegments)]
            self._acknowledge(len(self.states) - len(entries) + removals[-1])

    def refused(self, *entries: Entry) -> list[str | None]:
        """Write a group of which some may be refused; gives the codes. Accepted ones count only when all were."""
        lsn, changes = self.store.written_lsn, len(self.disk.changes)
        codes = [refusal and refusal.code for refusal in self.store.write(entries)]
        if any(codes):
            assert "storage_failed" in codes or self.store.written_lsn == lsn + codes.count(None)
        else:
            for entry in entries:
                self._begun.append(changes)
                self.states.append(after(self.state, entry, {}))
        return codes

    def sync(self) -> None:
        self._acknowledge(self.store.sync())

    def _acknowledge(self, lsn: int) -> None:
        self._acknowledged.append((len(self.disk.changes), lsn))

    def create(self, *logs: LogId) -> None:
        self.write(tuple(CreateLog(log) for log in logs))

    def append(
        self, log: LogId, *sizes: int, keys: Sequence[bytes | None] = (None,), at: int | None = None
    ) -> AppendRecords:
        """A batch of records of these sizes for the end of a log, or for an offset behind what is not written yet."""
        state = self.state.logs.get(log, LogState()) if at is None else LogState(end=at)
        records = [self.record(size, keys[n % len(keys)]) for n, size in enumerate(sizes)]
        return batch(log, state, records)

    def record(self, size: int, key: bytes | None = None) -> Record:
        return Record(value=None if size < 0 else self.entropy.token_bytes(size), key=key)

    def event(self, stream: str, size: int = 12) -> StateEvent:
        return StateEvent(stream, self.entropy.token_bytes(size))

    # Checkpoints and compaction.

    def begin_checkpoint(self) -> SlowWork:
        return self.store.begin_checkpoint(self.state.snapshots())

    def checkpoint(self) -> None:
        work = self.begin_checkpoint()
        work.run()
        self.store.finish_checkpoint(work)

    def begin_compaction(self, log: LogId, drop_tombstones_before_ns: int = 0) -> CompactionWork:
        policy = CompactionPolicy(self.state.logs[log].end, drop_tombstones_before_ns)
        work = self.store.begin_compaction(log, policy)
        assert isinstance(work, CompactionWork)
        return work

    def finish_compaction(self, work: CompactionWork, drop_tombstones_before_ns: int = 0) -> int:
        """Returns how many groups of segments were replaced."""
        log = work.log.id
        covered = range(work.clean_before)
        segments = {s.base_offset: s for s in work.log.segments}
        before = len(self.states)
        for bases in (cleaned.base_offsets for cleaned in work.cleaned if self._is_current(work.log)):
            if any(base not in segments for base in bases):
                continue
            rewritten = range(segments[bases[0]].base_offset, segments[bases[-1]].next_offset)
            state = compacted(self.state.logs[log], covered, rewritten, drop_tombstones_before_ns)
            self._begun.append(len(self.disk.changes))
            self.states.append(self.state.with_log(log, state))
        self.store.finish_compaction(work)
        assert self.store.written_lsn == len(self.states) - 1
        if len(self.states) > before:
            self._acknowledge(len(self.states) - 1)
        return len(self.states) - before

    def _is_current(self, log: Log) -> bool:
        """Not deleted, and not made again under the same name."""
        return any(self.store.log(name) is log for name in self.store.logs())

    def compact(self, log: LogId, drop_tombstones_before_ns: int = 0) -> int:
        work = self.begin_compaction(log, drop_tombstones_before_ns)
        work.run()
        return self.finish_compaction(work, drop_tombstones_before_ns)

    def compact_if_possible(self, log: LogId) -> int:
        work = self.store.begin_compaction(log, CompactionPolicy(self.state.logs[log].end, 0))
        if not isinstance(work, CompactionWork):
            return 0
        work.run()
        return self.finish_compaction(work)
