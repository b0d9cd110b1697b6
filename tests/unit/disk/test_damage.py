"""Damage to a log: what is intact stays readable, what is not is reported, and writing goes on."""

import pytest

from goqueue.adapters.disk.store import StoreSettings
from goqueue.engine.ports import AppendRecords, CompactionPolicy, CreateLog, StateEvent
from goqueue.errors import DiskFull, LogReadOnly, StorageBusy, StorageFailed
from goqueue.model.record import Record
from goqueue.testing import Platter, SeededEntropy, SimulatedFileSystem, crash_states
from tests.unit.disk.making import (
    KIB,
    MIB,
    RECORD_BYTES,
    SMALL_FILES,
    UNLIMITED,
    A,
    B,
    DiskDriver,
    flip,
    numbered,
    stamped,
    time_of,
)


@pytest.fixture
def driver(tmp_path):
    made = DiskDriver(tmp_path / "data")
    made.create(A)
    made.fill(12)
    made.checkpoint()
    yield made
    made.store.close()


def test_a_flipped_bit_in_one_record_leaves_all_the_others_readable(tmp_path):
    """Record 10 of 2,790: the other 2,789 are there, also after a restart."""
    driver = DiskDriver(tmp_path / "big", StoreSettings(segment_bytes=MIB, journal_file_bytes=MIB))
    driver.create(A)
    driver.fill(279)
    driver.checkpoint()
    flip(driver.log_file(), 10 * RECORD_BYTES + 50)
    for _ in range(2):
        assert driver.offsets() == [offset for offset in range(2790) if offset != 10]
        (damage,) = {str(damage) for damage in driver.reports.damage}
        assert "offsets 10 to 10" in damage
        assert driver.log().next_offset == 2790
        driver.reopen()
    driver.fill(1)
    assert driver.offsets()[-1] == 2799
    driver.store.close()


def test_a_read_over_damage_says_what_is_missing_and_goes_on_behind_it(driver):
    flip(driver.log_file(), 5 * RECORD_BYTES + 3)
    before = driver.log().read(0, MIB, UNLIMITED)
    assert (before.first_offset, before.next_offset) == (0, 5)
    behind = driver.log().read(5, MIB, UNLIMITED)
    (damage,) = behind.damage
    assert behind.first_offset == 6
    assert (damage.position, damage.length) == (5 * RECORD_BYTES, RECORD_BYTES)
    assert (damage.first_offset, damage.last_offset) == (5, 5)
    assert damage.file == str(driver.log_file())
    assert driver.reports.damage == [damage]


def test_a_time_is_found_behind_damage(driver):
    flip(driver.log_file(), 5 * RECORD_BYTES + 3)
    assert driver.log().offset_at(time_of(5), UNLIMITED) == 6
    assert driver.log().offset_at(time_of(20), UNLIMITED) == 20


def test_a_damaged_end_of_a_segment_leads_on_to_the_next(driver):
    first, second, *_ = driver.log().segments
    flip(driver.log_file(), first.size - 1)
    assert driver.offsets() == [n for n in range(120) if n != second.base_offset - 1]
    chunk = driver.log().read(second.base_offset - 1, MIB, UNLIMITED)
    assert chunk.first_offset == second.base_offset
    assert len(chunk.damage) == 1


def test_a_file_cut_short_loses_only_what_was_cut(driver):
    path = driver.log_file()
    path.write_bytes(path.read_bytes()[: 20 * RECORD_BYTES + 7])
    for _ in range(2):
        assert driver.offsets() == [*range(20), *range(30, 120)]
        driver.reopen()


@pytest.mark.parametrize("which", [0, 1, -1])
def test_a_segment_file_that_is_gone_is_reported_and_writing_goes_on(driver, which):
    info = driver.log().segments[which]
    driver.store.close()
    driver.log_file(info.base_offset).unlink()
    driver.reopen()
    (damage,) = driver.reports.damage
    assert (damage.first_offset, damage.last_offset) == (info.base_offset, info.next_offset - 1)
    assert damage.reason == "file is missing"
    lost = range(info.base_offset, info.next_offset)
    assert driver.offsets() == [n for n in range(120) if n not in lost]
    driver.fill(2)
    driver.checkpoint()
    driver.reopen()
    assert driver.offsets() == [n for n in range(140) if n not in lost]


def test_a_lost_file_is_reported_also_when_the_journal_still_has_its_end(driver):
    driver.fill(1)
    driver.checkpoint()
    driver.fill(1)
    last = driver.log().segments[-1]
    assert (last.base_offset, last.next_offset) == (120, 140)
    driver.store.close()
    driver.log_file(last.base_offset).unlink()
    driver.reopen()
    (damage,) = driver.reports.damage
    assert (damage.first_offset, damage.last_offset, damage.reason) == (120, 129, "file is missing")
    assert driver.offsets() == [*range(120), *range(130, 140)]


def test_bytes_behind_the_end_are_cut_and_reported(driver):
    last = driver.bases()[-1]
    driver.store.close()
    with driver.log_file(last).open("ab") as file:
        file.write(b"never confirmed")
    driver.reopen()
    assert driver.reports.dropped == [(str(A), 15)]
    driver.fill(1)
    assert driver.offsets() == list(range(130))


def test_a_segment_that_nobody_knows_is_removed_and_reported(driver):
    driver.store.close()
    driver.log_file(5000).write_bytes(b"left behind")
    driver.reopen()
    assert driver.reports.dropped == [(str(A), 11)]
    assert not driver.log_file(5000).exists()


def test_a_damaged_segment_is_not_compacted(driver):
    flip(driver.log_file(), 5 * RECORD_BYTES + 3)
    content = driver.log_file().read_bytes()
    driver.compact()
    assert driver.log_file().read_bytes() == content
    assert driver.offsets() == [n for n in range(120) if n != 5]


# --- failures while writing


@pytest.fixture
def disk():
    return SimulatedFileSystem()


@pytest.fixture
def simulated(disk):
    made = DiskDriver("data", SMALL_FILES, disk)
    made.create(A, B)
    made.fill(1)
    return made


def test_a_failing_journal_refuses_everything_and_leaves_no_trace(simulated, disk):
    disk.fail("write", matching="*.journal")
    other = StateEvent("s", b"never"), CreateLog(A._replace(partition=9))
    outcomes = simulated.store.write([other, (CreateLog(A._replace(partition=8)),)])
    assert [type(outcome) for outcome in outcomes] == [StorageFailed, StorageFailed]
    assert set(simulated.store.logs()) == {A, B}
    assert simulated.reports.failures == [outcomes[0]]
    assert simulated.store.failure is outcomes[0]
    assert simulated.offsets() == list(range(10))


@pytest.mark.parametrize("step", ["write", "open"])
def test_a_failing_log_refuses_its_own_entries_only(simulated, disk, step):
    simulated.fill(2, log=B)
    disk.fail(step, matching="*/orders/1/*.log")
    simulated.fill(1, log=A)
    # Two batches are in the first segment: the fourth needs a new one, so that there is something to open as well.
    refusals = [
        simulated.write(AppendRecords(B, stamped(base, numbered(base, 10)), base + 10)) for base in (20, 30, 40)
    ]
    assert isinstance(refusals[-1], LogReadOnly)
    assert simulated.log(B).failure is refusals[-1]
    simulated.fill(1, log=A)
    kept = 20 if step == "write" else 30
    for _ in range(2):
        assert simulated.offsets(A) == list(range(30))
        assert simulated.offsets(B) == list(range(kept))
        disk.heal()
        simulated.reopen()
    simulated.fill(1, log=B)
    assert simulated.offsets(B) == list(range(kept + 10))


def plain(log, base):
    """Records and what goes with them, as publishing writes them."""
    return AppendRecords(log, stamped(base, numbered(base, 10)), base + 10), StateEvent(
        "s", b"%s %d" % (log.topic.encode(), base)
    )


@pytest.mark.parametrize("error", [5, 28], ids=["broken", "full"])
def test_of_a_group_that_meets_a_failing_log_all_others_are_written(simulated, disk, error):
    simulated.fill(2, log=B)
    disk.fail("write", error, matching="*/orders/1/*.log")
    outcomes = simulated.store.write([plain(A, 10), plain(B, 20), plain(A, 20), plain(B, 30)])
    refused = LogReadOnly if error == 5 else DiskFull
    assert [type(outcome) for outcome in outcomes] == [type(None), refused, type(None), refused]
    assert (simulated.log(B).failure is None) == (error == 28)
    disk.heal()
    for _ in range(2):
        assert simulated.offsets(A) == list(range(30))
        assert simulated.offsets(B) == list(range(20))
        simulated.reopen()
    assert [payload for _, payload in simulated.recovered.events] == [b"orders 10", b"orders 20"]


def test_of_a_group_only_those_are_refused_that_do_not_follow_on_what_is_there(simulated):
    outcomes = simulated.store.write([plain(A, 10), plain(A, 30), plain(B, 0), plain(A, 20)])
    assert [type(outcome) for outcome in outcomes] == [type(None), StorageBusy, type(None), type(None)]
    for _ in range(2):
        assert simulated.offsets(A) == list(range(30))
        assert simulated.offsets(B) == list(range(10))
        simulated.reopen()


def test_records_that_the_journal_did_not_take_are_not_there(simulated, disk):
    disk.fail("write", matching="*.journal")
    outcomes = simulated.store.write([plain(A, 10), plain(B, 0)])
    assert [type(outcome) for outcome in outcomes] == [StorageFailed, StorageFailed]
    assert simulated.reports.failures == [outcomes[0]]
    disk.heal()
    for _ in range(2):
        assert simulated.offsets(A) == list(range(10))
        assert simulated.offsets(B) == []
        simulated.reopen()


def test_a_checkpoint_that_finds_no_room_says_so_and_can_be_repeated(simulated, disk):
    disk.fail("write", 28, matching="data/checkpoint*")
    work = simulated.store.begin_checkpoint({"s": b"1"})
    with pytest.raises(DiskFull):
        work.run()
    simulated.fill(1)
    simulated.checkpoint({"s": b"2"})
    simulated.reopen()
    assert simulated.recovered.snapshots == {"s": b"2"}
    assert simulated.offsets() == list(range(20))


def test_a_compaction_that_finds_no_room_says_so_and_leaves_the_log_as_it_is(simulated, disk):
    simulated.fill(12)
    simulated.checkpoint()
    disk.fail("write", 28, matching="*.cleaned")
    work = simulated.store.begin_compaction(A, CompactionPolicy(UNLIMITED, 0))
    with pytest.raises(DiskFull):
        work.run()
    simulated.reopen()
    assert simulated.offsets() == list(range(130))
    assert not any(name.endswith(".cleaned") for name in disk.list("data/logs/orders/0"))


def test_a_power_cut_at_any_step_of_a_compaction_loses_no_record_that_must_stay(disk):
    sizes = StoreSettings(segment_bytes=KIB, journal_file_bytes=8 * KIB)
    driver = DiskDriver("data", sizes, disk)
    driver.create(A)
    for rounds in (1, 2):
        for n in range(16):
            driver.append([Record(value=bytes(200), key=None if n % 7 == 0 else b"k%d" % (n % 2))])
        driver.checkpoint()
        before = len(disk.changes)
        work = driver.store.begin_compaction(A, CompactionPolicy(UNLIMITED, 0))
        work.run()
        assert rounds == 1 or any(len(cleaned.base_offsets) > 1 for cleaned in work.cleaned)
        driver.store.finish_compaction(work)
    must_stay = set(driver.offsets())
    platter = Platter()
    for number, change in enumerate(disk.changes):
        platter.apply(change)
        if number < before:
            continue
        for image in crash_states(platter, SeededEntropy(number), exhaustive=2, singles=False, cuts=1):
            after = DiskDriver("data", sizes, SimulatedFileSystem(image))
            assert set(after.offsets()) >= must_stay
            assert after.reports.damage == []
            after.store.close()


def test_small_batches_and_large_ones_share_a_segment_bound(simulated):
    simulated.fill(30, per_batch=1)
    simulated.fill(3, per_batch=40)
    sizes = [segment.size for segment in simulated.log().segments]
    assert all(size <= 4 * KIB or size == 40 * RECORD_BYTES for size in sizes)
