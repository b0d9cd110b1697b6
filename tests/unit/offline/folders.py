"""Data folders as a broker leaves them, for the tests of tools for folders at rest, and their expected content."""

from functools import cache
from pathlib import Path
from typing import NamedTuple

from goqueue import codec
from goqueue.adapters.disk.files import FileSystem, OsFileSystem
from goqueue.adapters.disk.store import DiskStore, StoreSettings
from goqueue.adapters.entropy import SystemEntropy
from goqueue.engine.ports import AppendRecords, CreateLog, Entry, StateEvent, Storage
from goqueue.model.log import LogId
from goqueue.model.record import Record
from goqueue.offline.data_folder import DataFolder
from goqueue.offline.repair.repair import Repair, RepairOutcome
from goqueue.offline.verify.verification import Verification, verify
from goqueue.testing import Image, Platter, RecordingObserver, SimulatedFileSystem
from goqueue.testing.power_cut import KEPT

ORDERS, AUDIT, QUIET = LogId("orders", 0), LogId("audit", 3), LogId("quiet", 0)
SMALL = StoreSettings(segment_bytes=500, journal_file_bytes=4096)
T0 = 1_700_000_000_000_000_000
SECOND = 1_000_000_000


class Kept:
    """A recovery that writes down what it is given."""

    def __init__(self) -> None:
        self.snapshots: list[tuple[str, bytes]] = []
        self.events: list[bytes] = []

    def restore(self, stream: str, snapshot: bytes) -> None:
        self.snapshots.append((stream, snapshot))

    def apply(self, event: StateEvent) -> None:
        self.events.append(event.payload)


class Content(NamedTuple):
    """Everything a data folder stands for."""

    records: dict[str, dict[int, bytes | None]]
    next_offsets: dict[str, int]
    snapshots: list[tuple[str, bytes]]
    events: list[bytes]


def opened(path: str, files: FileSystem | None = None, kept: Kept | None = None) -> DiskStore:
    store = DiskStore(path, files or OsFileSystem(), SystemEntropy(), RecordingObserver(), SMALL)
    store.open(kept or Kept())
    return store


def batch(offset: int, count: int, *, value: bytes | None = None, keys: int = 3) -> bytes:
    """Records of which number n is stamped T0 plus n seconds."""
    parts = bytearray()
    for number in range(offset, offset + count):
        text = value if value is not None else b"record %d" % number
        one = bytearray(codec.encode([Record(value=text, key=b"key %d" % (number % keys))]))
        codec.stamp(one, number, T0 + number * SECOND)
        parts += one
    return bytes(parts)


def write(store: Storage, *entries: Entry) -> None:
    assert store.write(entries) == [None] * len(entries)
    store.sync()


def append(store: Storage, log: LogId, count: int, **how: object) -> AppendRecords:
    offset = store.log(log).next_offset if log in store.logs() else 0
    return AppendRecords(log, batch(offset, count, **how), offset + count)  # type: ignore[arg-type]


def checkpoint(store: Storage, snapshots: dict[str, bytes]) -> None:
    work = store.begin_checkpoint(snapshots)
    work.run()
    store.finish_checkpoint(work)


def fill(store: Storage) -> None:
    """Two logs and one that is empty, several segments, a checkpoint, and records and state events behind it."""
    write(store, (CreateLog(ORDERS), CreateLog(AUDIT), CreateLog(QUIET), StateEvent("catalog of tests", b"first")))
    for _ in range(3):
        write(store, (append(store, ORDERS, 4),))
    write(store, (append(store, AUDIT, 2),))
    checkpoint(store, {"catalog of tests": b"as of the checkpoint"})
    for number in (1, 2):
        write(store, (append(store, ORDERS, 4), StateEvent("catalog of tests", b"event %d" % number)))
    write(store, (append(store, AUDIT, 2),))


def build(path: Path | str, files: FileSystem | None = None) -> None:
    store = opened(str(path), files)
    fill(store)
    store.close()


def content_of(path: Path | str, files: FileSystem | None = None) -> Content:
    """Open the folder as the broker does, read everything, and see that every log still takes a record."""
    kept = Kept()
    store = opened(str(path), files, kept)
    records: dict[str, dict[int, bytes | None]] = {}
    ends = {}
    for log in store.logs():
        found, offset, end = store.log(log), store.log(log).start_offset, store.log(log).next_offset
        records[str(log)] = {}
        while offset < end:
            chunk = found.read(offset, 1 << 20, end)
            assert not chunk.damage
            records[str(log)] |= {record.offset: record.value for record in codec.decode(chunk.records)}
            assert chunk.next_offset > offset
            offset = chunk.next_offset
        ends[str(log)] = end
    for log in store.logs():
        write(store, (append(store, log, 1),))
    store.close()
    return Content(records, ends, kept.snapshots, kept.events)


EVERYTHING = Content(
    {
        str(ORDERS): {number: b"record %d" % number for number in range(20)},
        str(AUDIT): {number: b"record %d" % number for number in range(4)},
        str(QUIET): {},
    },
    {str(ORDERS): 20, str(AUDIT): 4, str(QUIET): 0},
    [("catalog of tests", b"as of the checkpoint")],
    [b"event 1", b"event 2"],
)


def checked(path: Path | str, files: FileSystem | None = None) -> Verification:
    return verify(DataFolder(files or OsFileSystem(), str(path)))


def repaired(path: Path | str, files: FileSystem | None = None, label: str = "now") -> RepairOutcome:
    folder = DataFolder(files or OsFileSystem(), str(path))
    return Repair(folder, SystemEntropy(), RecordingObserver(), label=label).run(verify(folder))


def flip(path: Path, position: int, bit: int = 0) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 1 << bit
    path.write_bytes(content)


def files_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


@cache
def sound_image() -> Image:
    """The disk after `build`, in memory."""
    disk, platter = SimulatedFileSystem(), Platter()
    build("data", disk)
    for change in disk.changes:
        platter.apply(change)
    return platter.image({}, KEPT)


def sound_folder(parent: Path) -> Path:
    """A folder as the broker leaves it, not open in any process."""
    for name, content in sound_image().contents().items():
        path = parent / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return parent / "data"


def segment(data: Path, log: LogId, base_offset: int, suffix: str = ".log") -> Path:
    return data / "logs" / log.topic / str(log.partition) / f"{base_offset:020d}{suffix}"
