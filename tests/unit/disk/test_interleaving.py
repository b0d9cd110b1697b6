"""What one thread finds when another was faster: each test lets the other act at the worst moment."""

import pytest

from goqueue import codec
from goqueue.adapters.disk.store import StoreSettings
from goqueue.engine.ports import CompactionPolicy, DeleteLog
from goqueue.model.record import Record
from goqueue.testing import SimulatedFileSystem
from tests.unit.disk.making import KIB, MIB, UNLIMITED, A, DiskDriver, numbered, read_on, time_of

SIZES = StoreSettings(segment_bytes=16 * KIB, journal_file_bytes=MIB, open_sealed_segments=2)
FOLDER = "data/logs/orders/0"


@pytest.fixture
def disk():
    return SimulatedFileSystem()


@pytest.fixture
def driver(disk):
    made = DiskDriver("data", SIZES, disk)
    made.create(A)
    made.fill(60)
    assert len(made.bases()) > 4
    return made


def keyed(driver: DiskDriver, count: int) -> None:
    """Records of 1 KiB with three keys, about 15 in a segment."""
    for n in range(count):
        driver.append([Record(value=bytes(1000), key=b"k%d" % (n % 3))])


def compaction(driver: DiskDriver):
    driver.checkpoint()
    return driver.store.begin_compaction(A, CompactionPolicy(UNLIMITED, 0))


# --- a checkpoint syncs what is being removed


def test_a_log_deleted_while_a_checkpoint_syncs_it_stays_deleted(driver, disk):
    disk.before("sync", lambda: driver.do(DeleteLog(A)), matching=f"{FOLDER}/*.log", skip=2)
    driver.checkpoint()
    assert not disk.exists(FOLDER)
    driver.reopen()
    assert driver.store.logs() == ()


def test_segments_dropped_while_a_checkpoint_syncs_them_leave_no_index_behind(driver, disk):
    gone = driver.bases()[:2]
    disk.before("sync", lambda: driver.drop(*gone), matching=f"{FOLDER}/*.log")
    driver.checkpoint()
    assert not [name for name in disk.list(FOLDER) for base in gone if name.startswith(f"{base:020d}")]


def test_a_log_created_again_never_meets_the_index_of_the_deleted_one(driver, disk):
    def delete_and_create():
        driver.do(DeleteLog(A))
        driver.create(A)
        for n in range(30):
            driver.append([Record(value=bytes(1000 + n), timestamp_ns=5 + n)])

    disk.before("sync", delete_and_create, matching=f"{FOLDER}/*.log")
    driver.checkpoint()
    driver.checkpoint()
    driver.reopen()
    assert driver.offsets() == list(range(30))
    assert [driver.log().offset_at(5 + n, UNLIMITED) for n in range(30)] == list(range(30))


# --- a compaction works on what is being removed


@pytest.mark.parametrize("step", ["open", "write", "sync"])
@pytest.mark.parametrize("again", [False, True], ids=["deleted", "created again"])
def test_a_log_deleted_while_a_compaction_writes_stays_deleted(driver, disk, step, again):
    def delete():
        driver.do(DeleteLog(A))
        if again:
            driver.create(A)
            driver.append(numbered(0, 5))

    keyed(driver, 40)
    work = compaction(driver)
    disk.before(step, delete, matching="*.cleaned")
    work.run()
    driver.store.finish_compaction(work)
    for _ in range(2):
        assert driver.store.logs() == ((A,) if again else ())
        assert not again or driver.offsets() == list(range(5))
        driver.reopen()
    assert again or not disk.exists(FOLDER)


def test_segments_dropped_while_a_compaction_reads_them_stay_dropped(driver, disk):
    keyed(driver, 60)
    work = compaction(driver)
    gone = driver.bases()[1]
    disk.before("open", lambda: driver.drop(gone), matching="*.cleaned")
    work.run()
    driver.store.finish_compaction(work)
    for _ in range(2):
        assert gone not in driver.bases()
        assert driver.offsets()[0] == 0
        assert not any(name.endswith(".cleaned") for name in disk.list(FOLDER))
        driver.reopen()


def test_what_a_drop_kept_a_compaction_from_doing_is_done_by_the_next_one(driver, disk):
    driver.drop(*driver.bases())
    keyed(driver, 60)
    driver.compact()
    keyed(driver, 60)
    work = compaction(driver)
    work.run()
    driver.drop(driver.bases()[0])
    driver.store.finish_compaction(work)
    assert not any(name.endswith(".cleaned") for name in disk.list(FOLDER))
    driver.compact()
    sealed = driver.bases()[-1]
    assert len([offset for offset in driver.offsets() if offset < sealed]) == 3


# --- a reader looks at what is being removed


def test_a_reader_finds_the_records_of_a_segment_that_is_replaced_under_its_eyes(driver, disk):
    driver.drop(*driver.bases())
    keyed(driver, 90)
    driver.compact()
    keyed(driver, 90)
    wanted = {key: record.offset for record in driver.records() if (key := record.key)}
    for segment in driver.log().segments[:-1]:
        work = compaction(driver)
        if work is None:
            break
        work.run()
        name = f"{FOLDER}/{segment.base_offset:020d}.log"
        disk.before("open", lambda work=work: driver.store.finish_compaction(work), matching=name)
        chunks = read_on(driver.log(), segment.base_offset)
        disk.heal()
        found = {record.key: record.offset for chunk in chunks for record in codec.decode(chunk.records)}
        assert found == wanted
        keyed(driver, 30)
        wanted = {key: record.offset for record in driver.records() if (key := record.key)}
    assert driver.reports.damage == []


@pytest.mark.parametrize("what", ["*.log", "*.index", "*.timeindex"])
def test_a_reader_of_a_segment_that_is_dropped_under_its_eyes_goes_on_behind_it(driver, disk, what):
    driver.checkpoint()
    driver.reopen()
    second, third = driver.bases()[1:3]
    disk.before("open", lambda: driver.drop(second), matching=f"{FOLDER}/{second:020d}{what[1:]}")
    chunk = driver.log().read(second, KIB, UNLIMITED)
    assert chunk.damage == ()
    assert chunk.first_offset in (second, third)
    assert driver.log().offset_at(time_of(second), UNLIMITED) == third
    assert driver.reports.damage == []


def test_a_reader_of_a_log_that_is_deleted_under_its_eyes_gets_nothing(driver, disk):
    driver.checkpoint()
    driver.reopen()
    log = driver.log()
    disk.before("open", lambda: driver.do(DeleteLog(A)), matching=f"{FOLDER}/{0:020d}.log")
    assert log.read(0, KIB, UNLIMITED).damage == ()
    assert log.offset_at(0, UNLIMITED) is None
    assert driver.reports.damage == []


def test_records_that_are_not_written_yet_are_not_passed_over(driver, disk):
    log = driver.log()
    end = log.next_offset
    seen = []
    disk.before("write", lambda: seen.append(log.read(end, KIB, UNLIMITED)), matching=f"{FOLDER}/*.log")
    driver.append(numbered(end, 5))
    assert [(bytes(chunk.records), chunk.next_offset) for chunk in seen] == [(b"", end)]
    assert driver.offsets(start=end) == list(range(end, end + 5))
