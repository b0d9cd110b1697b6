"""What a failing or full disk does to writes: who is refused, with which code, and what is there after a restart."""

import errno
from collections.abc import Callable

import pytest

from goqueue.adapters.disk.store import StoreSettings
from goqueue.engine.ports import CreateLog, DeleteLog, DropSegments, Entry
from goqueue.errors import DiskFull, GoQueueError, LogReadOnly, StorageFailed
from goqueue.model.log import LogId
from goqueue.testing import Platter, SimulatedFileSystem
from goqueue.testing.disk_image import FileSynced
from goqueue.testing.power_cut import KEPT
from goqueue.testing.simulated_disk import Step
from tests.simulation.check import Reopened, check_log
from tests.simulation.model import State, after
from tests.simulation.workload import TINY, Workload

A, B, C = LogId("a", 0), LogId("b", 0), LogId("c", 0)
A_FILES, B_FILES = "*/logs/a/*", "*/logs/b/*"
JOURNAL, LOGS = "*/journal/*", "*/logs/*"
ROOMY = StoreSettings(segment_bytes=1 << 20, journal_file_bytes=1 << 16)
REFUSALS = [(errno.EIO, LogReadOnly, "log_read_only"), (errno.ENOSPC, DiskFull, "disk_full")]


@pytest.fixture
def work() -> Workload:
    """Logs a and b with synced records, a checkpoint behind them, and some more that only the journal makes durable."""
    made = Workload("faults", ROOMY)
    made.create(A, B)
    made.write((made.append(A, 100, 50), made.append(B, 80), made.event("s")))
    made.checkpoint()
    made.write((made.append(A, 70), made.append(B, 60), made.event("s")))
    made.sync()
    return made


def is_unchanged(work: Workload) -> None:
    """The store still shows exactly what it did before the refused write."""
    for log, expected in work.state.logs.items():
        check_log(work.store.log(log), expected)
    assert set(work.store.logs()) == set(work.state.logs)


def survivors(work: Workload) -> list[Reopened]:
    """Stores opened after the process was killed, after a power cut, and after one that kept everything written."""
    platter = Platter()
    for change in work.disk.changes:
        platter.apply(change)
    disks = [platter.page_cache(), *(SimulatedFileSystem(platter.image({}, fate)) for fate in (KEPT,))]
    return [Reopened(disk, work.settings) for disk in (*disks, SimulatedFileSystem(platter.image({})))]


def stays_after_restart(work: Workload, state: State | None = None) -> None:
    for reopened in survivors(work):
        reopened.is_exactly(state or work.state)


# A log that cannot be written.


@pytest.mark.parametrize(("code", "kind", "name"), REFUSALS)
def test_a_failed_log_write_refuses_the_entry_and_leaves_no_trace(
    work: Workload, code: int, kind: type[GoQueueError], name: str
) -> None:
    work.disk.fail("write", code, matching=A_FILES)
    assert work.refused((work.append(A, 90), work.event("s"))) == [name]
    is_unchanged(work)
    work.write((work.append(B, 30), work.event("s")))
    work.sync()
    stays_after_restart(work)


def test_after_a_failed_write_the_log_is_read_only_and_says_so_while_others_go_on(work: Workload) -> None:
    work.disk.fail("write", errno.EIO, matching=A_FILES)
    work.refused((work.append(A, 90),))
    assert [log for log, _ in work.observer.failed_logs] == [A]
    assert isinstance(work.store.log(A).failure, LogReadOnly)
    work.disk.heal()
    assert work.refused((work.append(A, 90),), (work.append(B, 40),)) == ["log_read_only", None]
    assert work.store.log(B).failure is None


def test_a_log_accepts_writes_again_once_the_disk_has_room(work: Workload) -> None:
    work.disk.fail("write", errno.ENOSPC, matching=A_FILES, times=2)
    for _ in range(2):
        assert work.refused((work.append(A, 90),)) == ["disk_full"]
        is_unchanged(work)
    work.write((work.append(A, 95), work.append(B, 3)))
    work.sync()
    assert work.observer.failed_logs == []
    stays_after_restart(work)


@pytest.mark.parametrize(("code", "kind", "name"), REFUSALS)
@pytest.mark.parametrize("failing", [A_FILES, B_FILES])
def test_an_entry_over_two_logs_leaves_no_trace_in_either(
    work: Workload, code: int, kind: type[GoQueueError], name: str, failing: str
) -> None:
    work.disk.fail("write", code, matching=failing)
    assert work.refused((work.append(A, 90), work.append(B, 90), work.event("s"))) == [name]
    is_unchanged(work)
    stays_after_restart(work)


def test_the_other_log_of_a_refused_entry_takes_writes_again_at_once(work: Workload) -> None:
    work.disk.fail("write", errno.EIO, matching=A_FILES)
    work.refused((work.append(A, 90), work.append(B, 90)))
    assert work.store.log(B).failure is None
    assert [log for log, _ in work.observer.failed_logs] == [A]
    work.write((work.append(B, 91),))
    work.sync()
    stays_after_restart(work)


def test_a_refusal_takes_with_it_what_follows_on_the_same_logs_in_the_group_and_nothing_else(work: Workload) -> None:
    work.create(C)
    both = (work.append(A, 90), work.append(B, 90))
    behind = (work.append(B, 10, at=both[1].next_offset),)
    work.disk.fail("write", errno.EIO, matching=A_FILES)
    assert work.refused(both, behind, (work.append(C, 10),)) == ["log_read_only", "log_read_only", None]
    assert work.store.log(C).next_offset == 1
    assert work.store.log(B).next_offset == work.state.logs[B].end


def test_a_log_made_in_a_refused_entry_is_not_there_and_can_be_made_later(work: Workload) -> None:
    work.disk.fail("write", errno.EIO, matching=A_FILES)
    made = (CreateLog(C), work.append(C, 20), work.append(A, 20))
    follows = (work.append(C, 10, at=1),)
    assert work.refused(made, follows) == ["log_read_only", "log_read_only"]
    is_unchanged(work)
    work.disk.heal()
    work.write((CreateLog(C), work.append(C, 21)))
    work.sync()
    stays_after_restart(work)


@pytest.mark.parametrize(("code", "kind", "name"), REFUSALS)
@pytest.mark.parametrize(
    ("step", "where"),
    [
        ("make_dir", "*/logs/c*"),
        ("open", "*/logs/c/0/*.log"),
        ("truncate", "*/logs/c/0/*.log"),
        ("sync_dir", "*/logs/c*"),
    ],
)
def test_a_segment_that_cannot_be_made_refuses_the_entry(
    work: Workload, code: int, kind: type[GoQueueError], name: str, step: Step, where: str
) -> None:
    work.disk.fail(step, code, matching=where)
    assert work.refused((CreateLog(C), work.append(C, 20), work.append(A, 10))) == [name]
    is_unchanged(work)
    work.write((work.append(A, 11),))
    work.write((CreateLog(C), work.append(C, 21)))
    work.sync()
    stays_after_restart(work)


@pytest.mark.parametrize(("code", "kind", "name"), REFUSALS)
@pytest.mark.parametrize("step", ["open", "write"])
def test_a_roll_that_fails_goes_back_to_the_segment_before(
    code: int, kind: type[GoQueueError], name: str, step: Step
) -> None:
    work = Workload("roll", TINY)
    work.create(A, B)
    work.write((work.append(A, 300, 200), work.append(B, 10)))
    work.sync()
    work.disk.fail(step, code, matching="*/logs/a/0*")
    assert work.refused((work.append(A, 250), work.append(B, 10))) == [name]
    is_unchanged(work)
    assert len(work.store.log(A).segments) == 1
    work.write((work.append(B, 500),))
    if kind is DiskFull:
        work.write((work.append(A, 260),))
    work.sync()
    stays_after_restart(work)
    work.checkpoint()
    stays_after_restart(work)


# A journal that cannot be written.


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
def test_a_failed_journal_write_stops_all_writing(work: Workload, code: int) -> None:
    work.disk.fail("write", code, matching=JOURNAL)
    lost = (work.append(A, 90), work.append(B, 90), work.event("s"))
    assert work.refused(lost, (work.event("s"),)) == ["storage_failed"] * 2
    assert len(work.observer.failures) == 1
    is_unchanged(work)
    assert work.refused((work.append(B, 20),)) == ["storage_failed"]
    with pytest.raises(StorageFailed):
        work.sync()


def test_an_entry_refused_by_a_failed_journal_write_may_come_back_whole_but_never_in_part(work: Workload) -> None:
    """The outcome is unknown: the failed write may have reached the disk. Every other refusal is final."""
    found = set()
    for length in range(40, 400, 20):
        twin = Workload("faults", ROOMY)
        twin.create(A, B)
        twin.write((twin.append(A, 70), twin.append(B, 60), twin.event("s")))
        twin.sync()
        before = twin.state
        # Half of a failing write lands, so of two entries the first may be whole on the disk.
        first, second = (twin.append(A, 40), twin.event("s")), (twin.append(B, length),)
        twin.disk.fail("write", errno.EIO, matching=JOURNAL)
        assert twin.refused(first, second) == ["storage_failed"] * 2
        allowed = [before, after(before, first, {}), after(after(before, first, {}), second, {})]
        for reopened in survivors(twin):
            lsn = reopened.store.written_lsn - len(twin.states) + 1
            reopened.is_exactly(allowed[lsn])
            found.add(lsn)
    assert found == {0, 1}


@pytest.mark.parametrize("step", ["allocate", "open", "write"])
def test_no_room_for_the_next_journal_file_refuses_writes_until_there_is_room(step: Step) -> None:
    work = Workload("rotate", TINY)
    work.create(A)
    work.write((work.append(A, 600),))
    work.sync()
    work.disk.fail(step, errno.ENOSPC, matching=JOURNAL, times=2)
    for _ in range(2):
        assert work.refused((work.append(A, 900),)) == ["disk_full"]
        is_unchanged(work)
    work.write((work.append(A, 901),))
    work.sync()
    assert work.observer.failures == []
    stays_after_restart(work)


@pytest.mark.parametrize("step", ["allocate", "open", "write", "sync_dir"])
def test_a_journal_file_that_cannot_be_made_stops_all_writing(step: Step) -> None:
    work = Workload("rotate", TINY)
    work.create(A)
    work.write((work.append(A, 600),))
    work.sync()
    work.disk.fail(step, errno.EIO, matching="*/journal*")
    assert work.refused((work.append(A, 900),)) == ["storage_failed"]
    assert work.refused((work.append(A, 900),)) == ["storage_failed"]
    is_unchanged(work)
    stays_after_restart(work)


def test_a_group_larger_than_a_journal_file_is_refused_as_a_whole_when_the_disk_is_full() -> None:
    work = Workload("large group", TINY)
    work.create(A)
    work.sync()
    work.disk.capacity = work.disk.capacity - work.disk.space("").free + 4000
    entries = [(work.event("s", 2000),) for _ in range(4)]
    assert work.refused(*entries) == ["disk_full"] * 4
    work.disk.capacity += 20_000
    work.write(*entries)
    work.sync()
    stays_after_restart(work)


def test_a_failed_journal_sync_fails_all_who_wait_and_is_never_tried_again(work: Workload) -> None:
    durable = len(work.states) - 1
    work.write((work.append(A, 90), work.event("s")))
    work.write((work.append(B, 90), work.event("s")))
    work.disk.fail("sync", errno.EIO, matching=JOURNAL)
    with pytest.raises(StorageFailed):
        work.store.sync()
    syncs = sum(isinstance(change, FileSynced) for change in work.disk.changes)
    with pytest.raises(StorageFailed):
        work.store.sync()
    assert work.refused((work.append(A, 90),), (work.event("s"),)) == ["storage_failed"] * 2
    assert sum(isinstance(change, FileSynced) for change in work.disk.changes) == syncs
    assert len(work.observer.failures) == 1
    for reopened in survivors(work):
        assert durable <= reopened.store.written_lsn < len(work.states)
        reopened.is_exactly(work.states[reopened.store.written_lsn])


def test_what_a_restart_finds_after_a_failed_journal_sync_outlives_a_power_cut_that_follows(work: Workload) -> None:
    """The page cache shows what never reached the disk and calls it clean: another sync would not write it."""
    work.write((work.append(A, 90), work.append(B, 30), work.event("s")))
    work.disk.fail("sync", errno.EIO, matching=JOURNAL)
    with pytest.raises(StorageFailed):
        work.store.sync()
    work.kill_and_restart()
    work.write((work.append(A, 10),))
    work.sync()
    stays_after_restart(work)


# Checkpoints.


def test_a_failed_log_sync_makes_that_log_read_only_and_keeps_the_journal(work: Workload) -> None:
    work.disk.fail("sync", errno.EIO, matching=A_FILES)
    under_way = work.begin_checkpoint()
    with pytest.raises(LogReadOnly):
        under_way.run()
    assert work.refused((work.append(A, 10),)) == ["log_read_only"]
    kept = work.store.journal_bytes
    work.write((work.append(B, 10), work.event("s")))
    work.sync()
    assert work.store.journal_bytes > kept
    with pytest.raises(LogReadOnly):
        work.begin_checkpoint()
    is_unchanged(work)
    stays_after_restart(work)


def test_a_failed_sync_of_the_folder_of_a_new_segment_keeps_the_journal_too() -> None:
    work = Workload("folder", TINY)
    work.create(A, B)
    work.write((work.append(A, 300, 200), work.append(B, 10)))
    work.checkpoint()
    work.write((work.append(A, 250),))
    work.disk.fail("sync_dir", errno.EIO, matching="*/logs/a/0")
    with pytest.raises(LogReadOnly):
        work.checkpoint()
    assert work.refused((work.append(A, 10),)) == ["log_read_only"]
    work.write((work.append(B, 10),))
    work.sync()
    stays_after_restart(work)


def test_records_of_a_failed_log_sync_are_written_again_after_a_restart(work: Workload) -> None:
    """The page cache calls them clean, so the next checkpoint would let go of the journal for records not on disk."""
    work.disk.fail("sync", errno.EIO, matching=A_FILES)
    with pytest.raises(LogReadOnly):
        work.checkpoint()
    work.kill_and_restart()
    assert work.store.log(A).failure is None
    work.write((work.append(A, 10),))
    work.checkpoint()
    stays_after_restart(work)


@pytest.mark.parametrize(("code", "name"), [(errno.EIO, "log_read_only"), (errno.ENOSPC, "disk_full")])
@pytest.mark.parametrize("where", ["*/snapshots/*", "*/checkpoint*"])
@pytest.mark.parametrize("step", ["open", "write", "sync", "rename"])
def test_a_checkpoint_that_cannot_be_written_changes_nothing(
    work: Workload, code: int, name: str, where: str, step: Step
) -> None:
    work.disk.fail(step, code, matching=where)
    with pytest.raises(GoQueueError) as failure:
        work.checkpoint()
    assert failure.value.code == name
    assert work.store.failure is None
    work.write((work.append(A, 10), work.event("s")))
    work.sync()
    stays_after_restart(work)
    work.checkpoint()
    work.write((work.append(A, 12), work.event("s")))
    work.sync()
    stays_after_restart(work)


@pytest.mark.parametrize("step", ["open", "write", "truncate"])
@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
def test_an_index_that_cannot_be_written_harms_nobody(step: Step, code: int) -> None:
    work = Workload("index", StoreSettings(segment_bytes=9000, journal_file_bytes=30_000))
    work.create(A)
    for _ in range(4):
        work.write((work.append(A, 3000),))
    work.disk.fail(step, code, matching="*index")
    work.checkpoint()
    work.write((work.append(A, 10),))
    work.sync()
    is_unchanged(work)
    stays_after_restart(work)


def test_journal_files_that_cannot_be_recycled_stay_until_the_next_checkpoint() -> None:
    work = Workload("recycle", TINY)
    work.create(A)
    for _ in range(4):
        work.write((work.append(A, 700),))
    before = work.store.journal_bytes
    work.disk.fail("rename", matching="*.journal", times=2)
    work.checkpoint()
    assert 0 < work.store.journal_bytes < before
    work.write((work.append(A, 20),))
    work.sync()
    stays_after_restart(work)
    work.checkpoint()
    assert work.store.journal_bytes < 1000
    stays_after_restart(work)


# Removing.


def drop_newest(work: Workload) -> Entry:
    return (DropSegments(A, (work.store.log(A).segments[-1].base_offset,)),)


@pytest.mark.parametrize(("code", "kind", "name"), REFUSALS)
def test_dropping_the_newest_segment_is_refused_when_no_new_one_can_be_made(
    work: Workload, code: int, kind: type[GoQueueError], name: str
) -> None:
    work.disk.fail("open", code, matching="*/logs/a/0/*.log")
    assert work.refused(drop_newest(work)) == [name]
    is_unchanged(work)
    stays_after_restart(work)
    work.write(drop_newest(work))
    work.write((work.append(A, 10),))
    work.sync()
    stays_after_restart(work)


@pytest.mark.parametrize("skip", range(3))
@pytest.mark.parametrize("make", [drop_newest, lambda work: (DeleteLog(A),)], ids=["drop", "delete"])
def test_files_that_cannot_be_removed_are_removed_by_the_next_start(
    work: Workload, make: Callable[[Workload], Entry], skip: int
) -> None:
    work.disk.fail("remove", skip=skip)
    work.write(make(work))
    is_unchanged(work)
    work.write((work.append(B, 5),))
    work.sync()
    stays_after_restart(work)
    work.disk.heal()
    work.restart()
    left = [path for path in work.disk.list("data/logs/a/0") if path.endswith(".log")]
    assert len(left) == len(work.store.log(A).segments if A in work.store.logs() else ())


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC])
def test_a_removal_whose_journal_sync_fails_removes_no_file(work: Workload, code: int) -> None:
    files = work.disk.list("data/logs/a/0")
    work.disk.fail("sync", code, matching=JOURNAL)
    assert work.refused((DeleteLog(A),)) == ["storage_failed"]
    assert work.disk.list("data/logs/a/0") == files


# Compaction.


@pytest.mark.parametrize(("code", "name"), [(errno.EIO, "log_read_only"), (errno.ENOSPC, "disk_full")])
@pytest.mark.parametrize("step", ["open", "write", "sync", "truncate"])
def test_a_compaction_that_cannot_be_written_changes_nothing(code: int, name: str, step: Step) -> None:
    work = Workload("compaction", TINY)
    work.create(A)
    for key in (b"x", b"y", b"x", b"x"):
        work.write((work.append(A, 300, 200, keys=[key]),))
    work.checkpoint()
    work.disk.fail(step, code, matching="*.cleaned")
    compaction = work.begin_compaction(A)
    with pytest.raises(GoQueueError) as failure:
        compaction.run()
    assert failure.value.code == name
    is_unchanged(work)
    work.write((work.append(A, 5),))
    assert work.compact(A) > 0
    is_unchanged(work)
    stays_after_restart(work)


# The disk as a whole.


def test_a_disk_that_fills_up_refuses_clearly_and_recovers_by_itself() -> None:
    work = Workload("full", StoreSettings(segment_bytes=3000, journal_file_bytes=4000))
    work.create(A, B)
    work.disk.capacity = 40_000
    refused = 0
    while refused < 5:
        codes = work.refused((work.append(A, 500), work.append(B, 300), work.event("s")))
        if codes != [None]:
            assert codes == ["disk_full"]
            refused += 1
            is_unchanged(work)
    work.disk.capacity = 400_000
    work.write((work.append(A, 500), work.append(B, 300), work.event("s")))
    work.sync()
    assert work.observer.failed_logs == []
    assert work.observer.failures == []
    stays_after_restart(work)
