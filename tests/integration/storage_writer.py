"""A process to be killed: writes entries to a real folder as a broker does, and prints what it was promised.

Entry n appends to some of the logs and carries the event "n". What it appends follows from n and the offsets alone,
so that the test can tell from the number of the last entry what every log must hold.
"""

import sys
import threading
from collections import deque
from collections.abc import Iterator

from goqueue import codec
from goqueue.adapters.disk.files import OsFileSystem
from goqueue.adapters.disk.store import DiskStore, StoreSettings
from goqueue.adapters.entropy import SystemEntropy
from goqueue.engine.ports import AppendRecords, CompactionPolicy, CreateLog, DropSegments, Entry, StateEvent
from goqueue.model.log import LogId
from goqueue.model.record import Record
from goqueue.testing import RecordingObserver

SETTINGS = StoreSettings(segment_bytes=48 * 1024, journal_file_bytes=64 * 1024, open_sealed_segments=4)
LOGS = [LogId("alpha", 0), LogId("alpha", 1), LogId("beta", 0), LogId("gamma", 7)]
STREAM = "count"
CHECKPOINT_EVERY = 40
SEGMENTS_KEPT = 4


class Count:
    """The state of the stream: the number of the last entry."""

    def __init__(self) -> None:
        self.value = 0

    def restore(self, stream: str, snapshot: bytes) -> None:
        assert stream == STREAM
        self.value = int(snapshot)

    def apply(self, event: StateEvent) -> None:
        assert int(event.payload) == self.value + 1, "an event is missing, or came twice"
        self.value += 1


def open_store(folder: str, count: Count, observer: RecordingObserver) -> DiskStore:
    store = DiskStore(folder, OsFileSystem(), SystemEntropy(), observer, SETTINGS)
    store.open(count)
    return store


def value(log: LogId, offset: int) -> bytes:
    return f"{log}:{offset}:".encode() * (1 + (offset * 7 + len(log.topic)) % 60)


def records_of(number: int) -> Iterator[tuple[LogId, int]]:
    """How many records entry `number` appends to which logs."""
    for index, log in enumerate(LOGS):
        if number % (index + 1) == 0:
            yield log, 1 + (number + index) % 5


def entry(number: int, ends: dict[LogId, int]) -> Entry:
    appends = []
    for log, records in records_of(number):
        start = ends[log]
        batch = bytearray(codec.encode([Record(value=value(log, start + n)) for n in range(records)]))
        codec.stamp(batch, start, 1_700_000_000_000_000_000 + number)
        ends[log] = start + records
        appends.append(AppendRecords(log, bytes(batch), ends[log]))
    return (*appends, StateEvent(STREAM, str(number).encode()))


class Writer:
    """Writes in one thread, syncs in a second and makes checkpoints in a third, until killed."""

    def __init__(self, folder: str) -> None:
        self._count = Count()
        self._store = open_store(folder, self._count, RecordingObserver())
        if not self._store.logs():
            assert self._store.write([tuple(map(CreateLog, LOGS))]) == [None]
        self._written: deque[tuple[int, int]] = deque()
        self._wake_up = threading.Event()

    def run(self) -> None:
        threading.Thread(target=self._sync, daemon=True).start()
        store = self._store
        ends = {log: store.log(log).next_offset for log in LOGS}
        checkpoint: tuple[threading.Thread, object] | None = None
        while True:
            group = [entry(self._count.value + 1 + n, ends) for n in range(1 + self._count.value % 4)]
            assert store.write(group) == [None] * len(group)
            self._count.value += len(group)
            self._written.append((store.written_lsn, self._count.value))
            self._wake_up.set()
            if checkpoint is None and self._count.value % CHECKPOINT_EVERY < len(group):
                work = store.begin_checkpoint({STREAM: str(self._count.value).encode()})
                thread = threading.Thread(target=work.run, daemon=True)
                thread.start()
                checkpoint = thread, work
            elif checkpoint is not None and not checkpoint[0].is_alive():
                store.finish_checkpoint(checkpoint[1])  # type: ignore[arg-type]
                checkpoint = None
                self._clean_up()

    def _clean_up(self) -> None:
        for log in LOGS:
            old = [segment.base_offset for segment in self._store.log(log).segments[:-SEGMENTS_KEPT]]
            if old:
                assert self._store.write([(DropSegments(log, tuple(old)),)]) == [None]
            work = self._store.begin_compaction(log, CompactionPolicy(1 << 62, 0))
            if work is not None:
                work.run()
                self._store.finish_compaction(work)

    def _sync(self) -> None:
        while True:
            self._wake_up.wait()
            self._wake_up.clear()
            durable = self._store.sync()
            promised = 0
            while self._written and self._written[0][0] <= durable:
                promised = self._written.popleft()[1]
            if promised:
                print(promised, flush=True)


if __name__ == "__main__":
    Writer(sys.argv[1]).run()
