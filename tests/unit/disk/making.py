"""Records, stores and watchers that the storage tests are made of."""

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from goqueue import codec
from goqueue.adapters.disk.files import FileSystem, OsFileSystem
from goqueue.adapters.disk.store import DiskStore, StoreSettings
from goqueue.engine.ports import AppendRecords, CompactionPolicy, CreateLog, DropSegments, Log, Storage
from goqueue.errors import GoQueueError
from goqueue.model.log import Chunk, LogId
from goqueue.model.record import Record
from goqueue.testing import RecordingObserver, SeededEntropy

A, B = LogId("orders", 0), LogId("orders", 1)
KIB = 1024
MIB = 1024 * KIB
T0 = 1_700_000_000_000_000_000
STEP_NS = 10
"""Record n of a log made by `numbered` is stamped T0 + n * STEP_NS."""
UNLIMITED = 1 << 62
RECORD_BYTES = 134
SMALL_FILES = StoreSettings(segment_bytes=4 * KIB, journal_file_bytes=MIB)


def time_of(offset: int) -> int:
    return T0 + offset * STEP_NS


def stamped(base_offset: int, records: Sequence[Record]) -> bytes:
    """The records as a log holds them; those without a timestamp get the time of their offset."""
    batch = bytearray()
    for offset, record in enumerate(records, base_offset):
        one = bytearray(codec.encode([record]))
        codec.stamp(one, offset, time_of(offset), True)
        batch += one
    return bytes(batch)


def numbered(base_offset: int, count: int, *, size: int = 100) -> list[Record]:
    """Records without a key whose value begins with their offset; of RECORD_BYTES each, unless told otherwise."""
    return [Record(value=b"%d " % offset + bytes(size - len(b"%d " % offset)))
            for offset in range(base_offset, base_offset + count)]  # fmt: skip


class Remembered:
    """A recovery that writes down what it is given."""

    def __init__(self) -> None:
        self.snapshots: dict[str, bytes] = {}
        self.events: list[tuple[str, bytes]] = []

    def restore(self, stream: str, snapshot: bytes) -> None:
        assert stream not in self.snapshots
        assert not self.events, "snapshots come before events"
        self.snapshots[stream] = snapshot

    def apply(self, event) -> None:
        self.events.append((event.stream, event.payload))


class Driver:
    """A store and the steps that tests take with it."""

    def __init__(self, make: Callable[[], Storage]) -> None:
        self._make = make
        self.recovered = Remembered()
        self.store = make()
        self.store.open(self.recovered)

    def reopen(self) -> None:
        self.store.close()
        self.recovered = Remembered()
        self.store = self._make()
        self.store.open(self.recovered)

    def another(self) -> Storage:
        """A second store on the same place, not open yet."""
        return self._make()

    def log(self, log: LogId = A) -> Log:
        return self.store.log(log)

    def write(self, *operations) -> GoQueueError | None:
        (outcome,) = self.store.write([operations])
        return outcome

    def do(self, *operations) -> None:
        assert self.write(*operations) is None

    def create(self, *logs: LogId) -> None:
        self.do(*(CreateLog(log) for log in logs))

    def append(self, records: Sequence[Record], log: LogId = A) -> None:
        base = self.log(log).next_offset
        self.do(AppendRecords(log, stamped(base, records), base + len(records)))

    def fill(self, batches: int, *, per_batch: int = 10, size: int = 100, log: LogId = A) -> None:
        """Append numbered records; with 10 of 100 bytes each, three batches fill a segment of 4 KiB."""
        for _ in range(batches):
            self.append(numbered(self.log(log).next_offset, per_batch, size=size), log)

    def drop(self, *base_offsets: int, log: LogId = A) -> None:
        self.do(DropSegments(log, base_offsets))

    def bases(self, log: LogId = A) -> tuple[int, ...]:
        return tuple(segment.base_offset for segment in self.log(log).segments)

    def checkpoint(self, snapshots: Mapping[str, bytes | None] | None = None) -> None:
        work = self.store.begin_checkpoint(snapshots or {})
        work.run()
        self.store.finish_checkpoint(work)

    def compact(self, *, limit_offset: int = UNLIMITED, drop_tombstones_before_ns: int = 0, log: LogId = A) -> bool:
        """Compact what may be compacted; says whether there was anything to do."""
        self.checkpoint()
        work = self.store.begin_compaction(log, CompactionPolicy(limit_offset, drop_tombstones_before_ns))
        if work is None:
            return False
        work.run()
        self.store.finish_compaction(work)
        return True

    def chunks(
        self, log: LogId = A, *, start: int = 0, max_bytes: int = MIB, limit_offset: int = UNLIMITED
    ) -> list[Chunk]:
        """Everything from `start` on, read as a consumer does."""
        return read_on(self.log(log), start, max_bytes, limit_offset)

    def records(self, log: LogId = A, **where: int) -> list[Record]:
        return [record for chunk in self.chunks(log, **where) for record in codec.decode(chunk.records)]

    def offsets(self, log: LogId = A, **where: int) -> list[int]:
        return [record.offset for record in self.records(log, **where)]


def read_on(log: Log, start: int, max_bytes: int = MIB, limit_offset: int = UNLIMITED) -> list[Chunk]:
    chunks = []
    while (chunk := log.read(start, max_bytes, limit_offset)).records:
        assert chunk.next_offset > start
        chunks.append(chunk)
        start = chunk.next_offset
    return chunks


class DiskDriver(Driver):
    """A store in a folder, with what its observer was told."""

    def __init__(
        self, folder: Path, settings: StoreSettings = SMALL_FILES, files: FileSystem | None = None, entropy=None
    ) -> None:
        self.folder = folder
        self.reports = RecordingObserver()
        self.entropy = entropy or SeededEntropy()
        super().__init__(lambda: DiskStore(str(folder), files or OsFileSystem(), self.entropy, self.reports, settings))

    def log_file(self, base_offset: int = 0, log: LogId = A, suffix: str = ".log") -> Path:
        return self.folder / "logs" / log.topic / str(log.partition) / f"{base_offset:020d}{suffix}"

    def journal_files(self) -> list[str]:
        return sorted(os.listdir(self.folder / "journal"))


def flip(path: Path, position: int, mask: int = 0x01) -> None:
    """Flip bits of one byte of a file."""
    content = bytearray(path.read_bytes())
    content[position] ^= mask
    path.write_bytes(content)
