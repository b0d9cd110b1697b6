"""The data folder as a neighbour in the system: its lock, its open files, its memory, and what it never touches."""

import gc
import os
import signal
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from goqueue import codec
from goqueue.adapters.disk.files import OsFileSystem
from goqueue.adapters.disk.store import DiskStore, StoreSettings
from goqueue.engine.ports import AppendRecords, CreateLog, DeleteLog
from goqueue.errors import DataFolderInUse, InvalidRequest
from goqueue.model.log import LogId
from goqueue.model.record import Record
from goqueue.model.topic import topic_name
from goqueue.testing import RecordingObserver, SeededEntropy
from tests.unit.disk.making import (
    KIB,
    MIB,
    RECORD_BYTES,
    UNLIMITED,
    A,
    DiskDriver,
    Remembered,
    numbered,
    stamped,
    time_of,
)

# --- one process at a time

OPEN_IN_ANOTHER_PROCESS = """
import sys
from goqueue.adapters.disk.files import OsFileSystem
from goqueue.adapters.disk.store import DiskStore, StoreSettings
from goqueue.errors import GoQueueError
from goqueue.testing import RecordingObserver, SeededEntropy

class Nothing:
    def restore(self, stream, snapshot): pass
    def apply(self, event): pass

store = DiskStore(sys.argv[1], OsFileSystem(), SeededEntropy(), RecordingObserver(), StoreSettings())
try:
    store.open(Nothing())
    print("open", *store.logs(), flush=True)
    sys.stdin.readline()
    store.close()
except GoQueueError as error:
    print(error.code, error.hint, flush=True)
"""


@pytest.fixture
def another_process():
    """Starts a process that opens a folder, says how it went, and keeps it open until it is told to go on."""
    started: list[subprocess.Popen[str]] = []

    def start(folder: Path) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", OPEN_IN_ANOTHER_PROCESS, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_a_second_process_on_the_folder_is_refused_and_told_what_to_do(tmp_path, another_process):
    driver = DiskDriver(tmp_path / "data")
    driver.create(A)
    answer = another_process(tmp_path / "data").stdout.readline()
    assert answer.startswith("data_folder_in_use")
    assert "--data" in answer
    driver.fill(1)
    assert driver.offsets() == list(range(10))
    driver.store.close()


def test_a_folder_held_by_another_process_is_refused_until_that_one_ends(tmp_path, another_process):
    holder = another_process(tmp_path / "data")
    assert holder.stdout.readline() == "open\n"
    with pytest.raises(DataFolderInUse, match="another process"):
        DiskDriver(tmp_path / "data")
    holder.communicate("\n")
    driver = DiskDriver(tmp_path / "data")
    driver.store.close()


def test_a_killed_process_leaves_no_lock_behind(tmp_path, another_process):
    holder = another_process(tmp_path / "data")
    assert holder.stdout.readline() == "open\n"
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    driver = DiskDriver(tmp_path / "data")
    driver.store.close()


def test_closing_lets_another_process_open_the_folder(tmp_path, another_process):
    driver = DiskDriver(tmp_path / "data")
    driver.create(A)
    driver.store.close()
    assert another_process(tmp_path / "data").stdout.readline() == f"open {A}\n"


# --- open files


def open_files(folder: Path) -> list[str]:
    links = []
    for name in os.listdir("/proc/self/fd"):
        try:
            links.append(os.readlink(f"/proc/self/fd/{name}"))
        except FileNotFoundError:
            continue
    return [link for link in links if link.startswith(str(folder))]


needs_proc = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts open files in /proc")


@needs_proc
def test_hundreds_of_segments_need_few_open_files(tmp_path):
    settings = StoreSettings(segment_bytes=2 * KIB, journal_file_bytes=MIB, open_sealed_segments=10)
    driver = DiskDriver(tmp_path / "data", settings)
    driver.create(A)
    # The active segment, two journal files, the lock: and the sealed ones.
    bound = 10 + 4
    for _ in range(4):
        driver.fill(100)
        driver.checkpoint()
        assert driver.offsets(start=driver.log().next_offset - 10)
        assert len(open_files(tmp_path)) <= bound
    assert len(driver.bases()) > 300
    for _ in range(2):
        assert driver.offsets() == list(range(4000))
        assert len(open_files(tmp_path)) <= bound
        driver.reopen()
    for offset in range(0, 4000, 61):
        driver.log().read(offset, KIB, UNLIMITED)
        driver.log().offset_at(offset, UNLIMITED)
    assert len(open_files(tmp_path)) <= bound
    driver.store.close()
    assert open_files(tmp_path) == []


@needs_proc
@pytest.mark.parametrize("how", ["dropped", "deleted", "compacted"])
def test_files_that_were_removed_are_not_held_open(tmp_path, how):
    """A file that is open keeps its room on the disk, whatever its folder says."""
    driver = DiskDriver(tmp_path / "data")
    driver.create(A)
    for n in range(60):
        driver.append([Record(value=bytes(1000), key=b"k%d" % (n % 3))])
    driver.checkpoint()
    driver.offsets()
    files = len(list(tmp_path.rglob("*.log")))
    if how == "dropped":
        driver.drop(*driver.bases())
    elif how == "deleted":
        driver.do(DeleteLog(A))
    else:
        driver.compact()
        driver.offsets()
    assert how == "compacted" or len(list(tmp_path.rglob("*.log"))) < files
    assert [name for name in open_files(tmp_path) if "deleted" in name and "/logs/" in name] == []
    driver.store.close()


@needs_proc
def test_a_refused_opening_leaves_no_file_open(tmp_path):
    driver = DiskDriver(tmp_path / "data")
    driver.create(A)
    driver.fill(4)
    driver.store.close()
    for path in driver.folder.glob("checkpoint*"):
        path.write_bytes(b"")
    for _ in range(3):
        with pytest.raises(Exception, match="checkpoint"):
            driver.reopen()
    assert open_files(tmp_path) == []


# --- memory and time do not grow with the log


class CountingFiles(OsFileSystem):
    """Counts the bytes that are read."""

    def __init__(self) -> None:
        self.bytes_read = 0

    def open(self, path: str, *, create: bool = False):
        file = super().open(path, create=create)
        read = file.read

        def counted(position: int, length: int) -> bytes:
            data = read(position, length)
            self.bytes_read += len(data)
            return data

        file.read = counted
        return file


SIZES = StoreSettings(segment_bytes=128 * KIB, journal_file_bytes=MIB, open_sealed_segments=4)
BATCH = 200


def fill_up_to(driver: DiskDriver, count: int) -> None:
    """As the broker does: many batches, a checkpoint every now and then."""
    template = stamped(0, numbered(0, BATCH))
    while (base := driver.log().next_offset) < count:
        batch = bytearray(template)
        codec.stamp(batch, base, time_of(base))
        driver.do(AppendRecords(A, batch, base + BATCH))
        if base % (50 * BATCH) == 0:
            driver.checkpoint({"s": b"state"})
    driver.checkpoint({"s": b"state"})


def memory_in_use() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def test_memory_does_not_grow_with_the_log(tmp_path):
    tracemalloc.start()
    try:
        before = memory_in_use()
        driver = DiskDriver(tmp_path / "data", SIZES)
        driver.create(A)
        fill_up_to(driver, 50_000)
        small = memory_in_use() - before
        fill_up_to(driver, 200_000)
        large = memory_in_use() - before
        driver.reopen()
        reopened = memory_in_use() - before
    finally:
        tracemalloc.stop()
    # 150,000 records of 20 MB more, but all that a sealed segment costs is its name and its bounds.
    added_segments = 150_000 * RECORD_BYTES // (128 * KIB)
    assert len(driver.bases()) > added_segments
    assert large < small + 1500 * added_segments
    assert reopened < large + 100_000
    driver.store.close()


def test_opening_reads_no_more_of_a_log_four_times_as_long(tmp_path):
    driver = DiskDriver(tmp_path / "data", SIZES)
    driver.create(A)
    costs = []
    for count in (25_000, 100_000):
        fill_up_to(driver, count)
        driver.store.close()
        files = CountingFiles()
        store = DiskStore(str(driver.folder), files, SeededEntropy(), RecordingObserver(), SIZES)
        store.open(Remembered())
        assert store.log(A).next_offset == count
        store.close()
        costs.append(files.bytes_read)
        driver.reopen()
    small, large = costs
    assert large < small + MIB, "a journal file more or less, not the log"
    assert large < 4 * MIB
    driver.store.close()


# --- names


HOSTILE = ["../../esc", "..", ".", "", "a/b", "/etc", "a\0b", "a\\b", "é", "a b", "a\n", "x" * 250, "../" * 30 + "tmp"]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_that_could_leave_the_folder_is_no_topic_name(name):
    """The store makes folders of the names it is given: `topic_name`, at the edge, is what keeps it in its place."""
    with pytest.raises(InvalidRequest):
        topic_name(name)


@pytest.mark.parametrize("name", ["...", "..a", "a..", "-", "_", "__internal", "x" * 249, "lock", "checkpoint", "CON"])
def test_whatever_is_a_topic_name_stays_in_the_logs_folder(tmp_path, name):
    driver = DiskDriver(tmp_path / "place" / "data")
    around = {path for path in tmp_path.rglob("*") if "journal" not in path.parts}
    log = LogId(topic_name(name), 7)
    driver.do(CreateLog(log))
    driver.append(numbered(0, 3), log)
    driver.checkpoint()
    driver.reopen()
    assert bytes(driver.log(log).read(0, MIB, UNLIMITED).records) == stamped(0, numbered(0, 3))
    made = {path for path in tmp_path.rglob("*") if "journal" not in path.parts} - around
    assert made
    assert all(path.is_relative_to(driver.folder / "logs") for path in made)
    driver.do(DeleteLog(log))
    assert {path for path in tmp_path.rglob("*") if "journal" not in path.parts} == around
    driver.store.close()


def test_a_name_of_the_longest_kind_comes_back_after_reopening(tmp_path):
    driver = DiskDriver(tmp_path / "data")
    log = LogId("x" * 249, 9999)
    driver.do(CreateLog(log))
    driver.append(numbered(0, 1), log)
    driver.reopen()
    assert driver.store.logs() == (log,)
    driver.store.close()
