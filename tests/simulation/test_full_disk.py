"""A disk without a free byte: the store opens after any crash, frees space, and takes writes again when it can."""

import pytest

from goqueue.adapters.disk.store import DiskStore, StoreSettings
from goqueue.engine.ports import CreateLog, DeleteLog, DropSegments
from goqueue.errors import DiskFull
from goqueue.model.log import LogId
from goqueue.testing import RecordingObserver, SeededEntropy, SimulatedFileSystem
from tests.simulation.check import check_log
from tests.simulation.model import RecoveredStreams
from tests.simulation.workload import FOLDER, Workload

A, B = LogId("a", 0), LogId("b", 0)
SIZES = StoreSettings(segment_bytes=4096, journal_file_bytes=16 * 1024)


def fill(disk: SimulatedFileSystem, left: int = 0) -> None:
    """Let somebody else take all room but `left` bytes."""
    disk.capacity = 1 << 40
    disk.capacity = disk.capacity - disk.space("").free + left


def full_workload() -> Workload:
    """Two logs, with records that only the journal makes durable, on a disk that has become full."""
    work = Workload("full", SIZES)
    work.create(A, B)
    work.write((work.append(A, 3000),))
    work.checkpoint()
    for _ in range(6):
        work.write((work.append(A, 1500), work.append(B, 700), work.event("s")))
    work.sync()
    fill(work.disk)
    return work


def shows_its_state(work: Workload) -> None:
    assert set(work.store.logs()) == set(work.state.logs)
    for log, expected in work.state.logs.items():
        check_log(work.store.log(log), expected)


def test_a_store_that_was_killed_opens_and_reads_and_takes_writes_once_there_is_room() -> None:
    work = full_workload()
    work.kill_and_restart()
    shows_its_state(work)
    assert work.refused((work.append(A, 900),)) == ["disk_full"]
    shows_its_state(work)
    work.disk.capacity += 100_000
    work.write((work.append(A, 900), work.event("s")))
    work.sync()
    work.kill_and_restart()
    shows_its_state(work)


def test_one_kill_after_another_needs_no_more_room() -> None:
    work = full_workload()
    for _ in range(40):
        work.write((work.event("s"),))
        work.sync()
        work.kill_and_restart()
    shows_its_state(work)


def test_a_log_is_deleted_and_segments_are_dropped_and_both_make_room() -> None:
    work = full_workload()
    work.kill_and_restart()
    work.write((DropSegments(A, (work.store.log(A).segments[0].base_offset,)),))
    assert work.disk.space("").free > 0
    fill(work.disk)
    work.write((DeleteLog(A), work.event("s")))
    assert work.disk.space("").free > 4000
    work.write((work.append(B, 1000),))
    work.sync()
    work.kill_and_restart()
    shows_its_state(work)


def test_what_was_removed_is_not_written_again_by_a_start_on_a_full_disk() -> None:
    """The journal still holds the records, and their room has been used since."""
    work = full_workload()
    dropped = tuple(segment.base_offset for segment in work.store.log(B).segments[:-1])
    assert dropped
    work.write((DropSegments(B, dropped),))
    work.write((DeleteLog(A),))
    work.write((CreateLog(A), work.append(A, 500)))
    work.sync()
    fill(work.disk)
    work.kill_and_restart()
    shows_its_state(work)
    assert work.observer.damage == []
    fill(work.disk)
    work.kill_and_restart()
    shows_its_state(work)


def test_entries_without_records_are_written_beside_records_that_are_refused() -> None:
    work = full_workload()
    outcomes = work.refused((work.append(A, 900),), (work.event("s"),))
    assert outcomes == ["disk_full", None]


def test_removals_have_room_in_the_journal_when_nothing_else_has() -> None:
    work = full_workload()
    while work.refused((work.event("s", 500),)) == [None]:
        pass
    assert work.refused((work.append(B, 1),), (work.event("s", 500),)) == ["disk_full", "disk_full"]
    assert work.store.write([(DropSegments(A, (work.store.log(A).segments[0].base_offset,)),)]) == [None]
    assert work.store.write([(DeleteLog(A),)]) == [None]


@pytest.mark.slow
def test_a_start_needs_no_room_wherever_the_process_was_killed() -> None:
    work = full_workload()
    fill(work.disk, left=20_000)
    for _ in range(4):
        work.write((work.append(A, 1500), work.event("s")))
    work.write((DeleteLog(A),))
    work.checkpoint()
    work.write((work.append(B, 300), work.event("s")))
    work.sync()
    for number, platter in work.crash_points():
        disk = platter.page_cache()
        fill(disk)
        promised, asked = work.bounds(number)
        if promised == 0:
            continue
        store = DiskStore(FOLDER, disk, SeededEntropy(1), RecordingObserver(), SIZES)
        store.open(RecoveredStreams())
        assert promised <= store.written_lsn <= asked
        for log, expected in work.states[store.written_lsn].logs.items():
            check_log(store.log(log), expected)
        store.close()


def test_a_new_data_folder_on_a_full_disk_is_refused_with_its_path_and_a_hint() -> None:
    disk = SimulatedFileSystem()
    disk.capacity = 0
    with pytest.raises(DiskFull, match=FOLDER) as refused:
        DiskStore(FOLDER, disk, SeededEntropy(1), RecordingObserver(), SIZES).open(RecoveredStreams())
    assert "free space" in (refused.value.hint or "")
