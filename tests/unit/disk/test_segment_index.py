"""The index files of a segment are a view of its log: whatever happens to them, reading answers the same."""

import pytest

from goqueue.adapters.disk.index import ENTRY_SIZE, INDEX_INTERVAL
from goqueue.adapters.disk.segment_index import OFFSETS_SUFFIX, TIMES_SUFFIX
from goqueue.adapters.disk.store import StoreSettings
from goqueue.model.record import Record
from tests.unit.disk.making import KIB, MIB, UNLIMITED, A, DiskDriver, time_of

RECORDS = 1200
"""A little more than one segment holds."""

SUFFIXES = [OFFSETS_SUFFIX, TIMES_SUFFIX]


@pytest.fixture
def driver(tmp_path):
    """A log of two segments, the first of them sealed and with its index on disk."""
    made = DiskDriver(tmp_path / "data", StoreSettings(segment_bytes=156 * KIB, journal_file_bytes=MIB))
    made.create(A)
    made.fill(RECORDS // 10 + 1)
    made.checkpoint()
    assert len(made.bases()) == 2
    yield made
    made.store.close()


def assert_reads_right(driver: DiskDriver) -> None:
    log = driver.log()
    assert driver.offsets(max_bytes=50 * KIB) == list(range(log.next_offset))
    for offset in range(0, log.next_offset, 97):
        assert log.read(offset, KIB, UNLIMITED).first_offset == offset
        assert log.offset_at(time_of(offset), UNLIMITED) == offset
    assert driver.reports.damage == []


def test_there_is_one_entry_per_four_kibibytes(driver):
    size = driver.log_file().stat().st_size
    for suffix in SUFFIXES:
        entries = driver.log_file(suffix=suffix).stat().st_size // ENTRY_SIZE - 1
        assert size // (INDEX_INTERVAL + 134) <= entries <= size // INDEX_INTERVAL + 1
    assert_reads_right(driver)


def test_a_sealed_segment_is_found_through_its_index_without_walking_it(driver):
    driver.reopen()
    driver.log().read(0, KIB, UNLIMITED)
    log_file = driver.log_file()
    content = log_file.read_bytes()
    # Nothing between the second and the last entry is looked at, so damage there goes unnoticed by this read.
    log_file.write_bytes(content[:8000] + bytes(100_000) + content[108_000:])
    driver.reopen()
    chunk = driver.log().read(1100, KIB, UNLIMITED)
    assert (chunk.first_offset, chunk.damage) == (1100, ())


@pytest.mark.parametrize("gone", [[OFFSETS_SUFFIX], [TIMES_SUFFIX], SUFFIXES], ids=["offsets", "times", "both"])
def test_a_missing_index_is_built_again(driver, gone):
    driver.store.close()
    for suffix in gone:
        driver.log_file(suffix=suffix).unlink()
    driver.reopen()
    assert_reads_right(driver)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("length", [0, 1, 15, 16, 17, 32, 100, 500])
def test_an_index_cut_short_is_completed(driver, suffix, length):
    driver.store.close()
    path = driver.log_file(suffix=suffix)
    path.write_bytes(path.read_bytes()[:length])
    driver.reopen()
    assert_reads_right(driver)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_flipped_bit_anywhere_in_an_index_changes_no_answer(driver, suffix):
    path = driver.log_file(suffix=suffix)
    intact = path.read_bytes()
    for position in range(0, len(intact), 31):
        driver.store.close()
        damaged = bytearray(intact)
        damaged[position] ^= 1 << position % 8
        path.write_bytes(damaged)
        driver.reopen()
        for offset in (0, 1, 31, 400, 800, 1199):
            assert driver.log().read(offset, KIB, UNLIMITED).first_offset == offset
            assert driver.log().offset_at(time_of(offset), UNLIMITED) == offset


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_index_of_nothing_but_noise_changes_no_answer(driver, suffix):
    driver.store.close()
    path = driver.log_file(suffix=suffix)
    path.write_bytes(bytes(n * 151 % 256 for n in range(path.stat().st_size)))
    driver.reopen()
    assert_reads_right(driver)


def test_an_index_that_points_beyond_the_log_is_cut(driver):
    """As after a power cut that kept the index but not the log behind it."""
    driver.store.close()
    indexes = {suffix: driver.log_file(suffix=suffix).read_bytes() for suffix in SUFFIXES}
    short = DiskDriver(driver.folder.parent / "short", StoreSettings(segment_bytes=MIB, journal_file_bytes=MIB))
    short.create(A)
    short.fill(50)
    short.checkpoint()
    short.store.close()
    for suffix, content in indexes.items():
        short.log_file(suffix=suffix).write_bytes(content)
    short.reopen()
    assert_reads_right(short)
    short.fill(50)
    assert_reads_right(short)
    short.store.close()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_rebuilt_index_of_a_sealed_segment_is_kept(driver, suffix):
    intact = driver.log_file(suffix=suffix).read_bytes()
    for content in (b"", intact[:200], intact[:320] + b"noise" + intact[325:]):
        driver.store.close()
        driver.log_file(suffix=suffix).write_bytes(content)
        driver.reopen()
        assert_reads_right(driver)
        assert driver.log_file(suffix=suffix).read_bytes() == intact


def test_a_compacted_segment_gets_an_index_when_it_is_first_read(driver):
    driver.append([Record(value=b"old", key=b"k")] * 2)
    driver.fill(130)
    driver.compact()
    compacted = driver.bases()[1]
    assert not driver.log_file(compacted, suffix=OFFSETS_SUFFIX).exists()
    assert len(driver.offsets()) == driver.log().next_offset - 1
    for suffix in SUFFIXES:
        assert driver.log_file(compacted, suffix=suffix).stat().st_size > 30 * ENTRY_SIZE
    driver.reopen()
    assert driver.log().read(1300, KIB, UNLIMITED).first_offset == 1300


def test_index_entries_are_in_the_order_of_the_log_whatever_the_batches(tmp_path):
    driver = DiskDriver(tmp_path / "other", StoreSettings(segment_bytes=MIB, journal_file_bytes=MIB))
    driver.create(A)
    for n in range(200):
        driver.fill(1, per_batch=1 + n * 7 % 40, size=30 + n * 13 % 300)
    driver.checkpoint()
    driver.reopen()
    log = driver.log()
    for offset in range(0, log.next_offset, 11):
        assert log.read(offset, KIB, UNLIMITED).first_offset == offset
    content = driver.log_file(suffix=OFFSETS_SUFFIX).read_bytes()
    entries = [content[at : at + 12] for at in range(ENTRY_SIZE, len(content), ENTRY_SIZE)]
    assert len(entries) >= 64
    assert entries == sorted(entries)
    driver.store.close()
