"""Ranges that the disk cannot read: an error that may pass, then damage like any other; the rest stays readable."""

import pytest

from goqueue import codec
from goqueue.adapters.disk.store import StoreSettings
from goqueue.errors import ReadFailed
from goqueue.model.log import LogId
from tests.simulation.workload import FOLDER, Workload

A = LogId("a", 0)
SIZES = StoreSettings(segment_bytes=4 << 20, journal_file_bytes=1 << 20)
FILE = f"{FOLDER}/logs/a/0/{0:020d}.log"


@pytest.fixture
def work() -> Workload:
    """A log with 200 records of about 1 KB."""
    made = Workload("unreadable", SIZES)
    made.create(A)
    for _ in range(20):
        made.write((made.append(A, *[1000] * 10),))
    made.sync()
    return made


def read_on(work: Workload, offset: int) -> list[int]:
    found: list[int] = []
    while (chunk := work.store.log(A).read(offset, 64 * 1024, 200)).records:
        found += [record.offset for record in codec.decode(bytes(chunk.records))]
        offset = chunk.next_offset
    return found


def test_a_read_that_fails_is_an_error_with_a_code_that_names_the_range_and_is_counted(work: Workload) -> None:
    work.disk.make_unreadable(FILE, 8192, 8193)
    log = work.store.log(A)
    before = [record.offset for record in codec.decode(bytes(log.read(0, 64 * 1024, 200).records))]
    assert before == list(range(7))
    with pytest.raises(ReadFailed, match="offsets 7 to ") as failure:
        log.read(7, 64 * 1024, 200)
    assert (failure.value.code, failure.value.is_passing) == ("read_failed", True)
    assert FILE in failure.value.message
    assert work.observer.failed_reads == [A]
    assert [damage.first_offset for damage in work.observer.damage] == [7]


def test_a_disk_that_recovers_gives_every_record(work: Workload) -> None:
    work.disk.make_unreadable(FILE, 8192, 8193)
    with pytest.raises(ReadFailed):
        work.store.log(A).read(7, 64 * 1024, 200)
    work.disk.heal()
    assert read_on(work, 7) == list(range(7, 200))


def test_a_small_range_that_stays_unreadable_is_skipped_as_damage(work: Workload) -> None:
    work.disk.make_unreadable(FILE, 8192, 8193)
    for _ in range(3):
        with pytest.raises(ReadFailed):
            work.store.log(A).read(7, 64 * 1024, 200)
    found = read_on(work, 7)
    assert found == list(range(found[0], 200))
    assert 7 < found[0] <= 13
    assert work.store.log(A).offset_at(0, 200) == 0


def test_a_disk_that_reads_nothing_never_has_records_skipped() -> None:
    work = Workload("dead", SIZES)
    work.create(A)
    for _ in range(30):
        work.write((work.append(A, *[50_000] * 2),))
    work.sync()
    work.disk.make_unreadable(FILE, 0, 1 << 40)
    for _ in range(10):
        with pytest.raises(ReadFailed):
            work.store.log(A).read(0, 64 * 1024, 60)


def test_an_index_that_cannot_be_read_is_built_again(work: Workload) -> None:
    work.checkpoint()
    work.restart()
    for suffix in ("index", "timeindex"):
        work.disk.make_unreadable(FILE.replace(".log", f".{suffix}"), 0, 1 << 40)
    assert read_on(work, 150) == list(range(150, 200))


@pytest.mark.parametrize("name", ["checkpoint", "checkpoint.copy"])
def test_a_copy_of_the_checkpoint_that_cannot_be_read_is_reported_and_the_other_is_used(
    work: Workload, name: str
) -> None:
    work.checkpoint()
    work.disk.make_unreadable(f"{FOLDER}/{name}", 0, 1 << 40)
    work.restart()
    assert read_on(work, 0) == list(range(200))
    assert work.observer.damaged_files == [f"{FOLDER}/{name}"]
