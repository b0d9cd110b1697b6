"""Reopens storage on what a crash left, and compares it with the model."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from goqueue.adapters.disk.index import INDEX_INTERVAL
from goqueue.adapters.disk.store import DiskStore, StoreSettings
from goqueue.engine.ports import CreateLog, Log, StateEvent
from goqueue.model.log import LogId
from goqueue.model.record import Record
from goqueue.testing import Image, Platter, RecordingObserver, SeededEntropy, SimulatedFileSystem, crash_states
from goqueue.testing.disk_image import Change
from tests.simulation.model import Kept, LogState, RecoveredStreams, State, after, batch, split
from tests.simulation.workload import FOLDER, Workload

NEWCOMER = LogId("newcomer", 0)


class Reopened:
    """A store opened on some disk, with all it gave back."""

    def __init__(self, disk: SimulatedFileSystem, settings: StoreSettings, seed: int | str = 0) -> None:
        self.observer = RecordingObserver()
        recovered = RecoveredStreams()
        self.store = DiskStore(FOLDER, disk, SeededEntropy(f"reopened {seed}"), self.observer, settings)
        self.store.open(recovered)
        self.streams = recovered.streams

    def is_exactly(self, state: State, *, each_offset: bool = False) -> None:
        """Everything is there, nothing else is, and nothing is called damaged."""
        assert self.streams == state.streams
        assert set(self.store.logs()) == set(state.logs)
        for log, expected in state.logs.items():
            check_log(self.store.log(log), expected, each_offset=each_offset)
        assert self.observer.damage == []
        assert self.observer.journal_damage == []


def check_log(log: Log, expected: LogState, *, each_offset: bool = False) -> None:
    """The log holds exactly these records, and finds them by offset and by time."""
    assert (log.start_offset, log.next_offset) == (expected.start, expected.end)
    assert tuple(read_all(log)) == expected.records
    segments = log.segments
    assert all(a.next_offset == b.base_offset for a, b in pairwise(segments))
    step = 1 if each_offset else max(1, len(expected.records) // 4)
    for record in expected.records[::step]:
        chunk = log.read(record.offset, len(record.data), log.next_offset)
        assert chunk.first_offset == record.offset
        assert bytes(chunk.records[: len(record.data)]) == record.data
        assert log.offset_at(record.timestamp_ns, log.next_offset) == first_since(expected, record.timestamp_ns)


def first_since(state: LogState, timestamp_ns: int) -> int | None:
    return next((r.offset for r in state.records if r.timestamp_ns >= timestamp_ns), None)


def read_all(log: Log) -> list[Kept]:
    found: list[Kept] = []
    offset = log.start_offset
    while offset < log.next_offset:
        chunk = log.read(offset, 1 << 16, log.next_offset)
        found += split(chunk.records)
        assert chunk.next_offset > offset
        offset = chunk.next_offset
    return found


def write_on(store: DiskStore, state: State) -> State:
    """One more entry over all logs and a stream, synced."""
    logs = {**state.logs, NEWCOMER: LogState()} if NEWCOMER not in state.logs else dict(state.logs)
    appends = [batch(log, found, [Record(value=b"written on", key=b"k")]) for log, found in logs.items()]
    entry = (*(CreateLog(log) for log in logs.keys() - state.logs.keys()), *appends, StateEvent("after", b"on"))
    assert store.write([entry]) == [None]
    store.sync()
    return after(state, entry, {})


class Sweep:
    """Crashes a workload at every change it made to the disk, in many ways, and counts the states looked into."""

    def __init__(self, workload: Workload, seed: int | str = 0, *, singles_every: int = 1, **plan: Any) -> None:
        """With `singles_every` n, each unsynced change is kept alone and lost alone only at each nth point."""
        self._workload = workload
        self._singles_every = singles_every
        self._plan = plan
        self._each_offset = workload.settings.segment_bytes > INDEX_INTERVAL
        self._entropy = SeededEntropy(f"sweep {seed}")
        self._seen: set[int] = set()
        self.states = 0
        self.recoveries_cut = 0

    def run(self, *, cut_recovery_every: int = 0) -> int:
        """With `cut_recovery_every` n, the recovery of each nth state is itself cut off at each of its changes."""
        for number, platter in self._workload.crash_points():
            bounds = self._workload.bounds(number)
            where = f"after {number} changes, the last {self._workload.disk.changes[number - 1] if number else None}"
            singles = number % self._singles_every == 0
            for image in crash_states(platter, self._entropy, singles=singles, **self._plan):
                if not self._is_new(image, bounds):
                    continue
                recovery = self._look_into(image, bounds, where)
                if cut_recovery_every and self.states % cut_recovery_every == 0:
                    self._cut_recovery(image, recovery, bounds, where)
        return self.states

    def _is_new(self, image: Image, bounds: tuple[int, int]) -> bool:
        key = hash((frozenset((path, image.files.get(node)) for path, node in image.tree().items()), bounds))
        new = key not in self._seen
        self._seen.add(key)
        return new

    def _cut_recovery(self, image: Image, recovery: list[Change], bounds: tuple[int, int], where: str) -> None:
        self.recoveries_cut += 1
        platter = Platter(image)
        for number, change in enumerate(recovery):
            platter.apply(change)
            for state in crash_states(
                platter, self._entropy, exhaustive=2, singles=False, samples=2, cuts=1, sector=64
            ):
                if self._is_new(state, bounds):
                    self._look_into(state, bounds, f"{where}, recovery cut after its change {number}, {change}")

    def _look_into(self, image: Image, bounds: tuple[int, int], where: str) -> list[Change]:
        self.states += 1
        try:
            settings = self._workload.settings
            return look_into(image, self._workload.states, bounds, settings, each_offset=self._each_offset)
        except Exception as error:
            error.add_note(where)
            raise


def look_into(
    image: Image, states: Sequence[State], bounds: tuple[int, int], settings: StoreSettings, *, each_offset: bool
) -> list[Change]:
    """Open the disk, compare, write on, cut the power again and compare once more; gives what recovery changed."""
    promised, asked = bounds
    disk = SimulatedFileSystem(image)
    reopened = Reopened(disk, settings)
    lsn = reopened.store.written_lsn
    assert promised <= lsn <= asked, f"LSN {lsn} after the crash, promised {promised}, asked for {asked}"
    reopened.is_exactly(states[lsn], each_offset=each_offset)
    recovery = disk.changes.copy()
    written = write_on(reopened.store, states[lsn])
    again = Reopened(power_cut(image, disk.changes), settings, "again")
    assert again.store.written_lsn == lsn + 1
    again.is_exactly(written)
    return recovery


def power_cut(image: Image, changes: Sequence[Change]) -> SimulatedFileSystem:
    """The disk when nothing survived that was not synced."""
    platter = Platter(image)
    for change in changes:
        platter.apply(change)
    return SimulatedFileSystem(platter.image({}))
