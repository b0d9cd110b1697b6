"""Folders after any history of retention, compaction, deletion, restarts and crashes are verified and repaired."""

from hypothesis import given, settings
from hypothesis import strategies as st

from goqueue.adapters.disk.checkpoint import CheckpointState
from goqueue.adapters.disk.store import DiskStore
from goqueue.engine.ports import CompactionPolicy, CreateLog, DeleteLog, DropSegments, StateEvent
from goqueue.offline.data_folder import DataFolder
from goqueue.offline.expected_logs import ExpectedLogs
from goqueue.offline.findings import Kind, Severity
from goqueue.offline.journal_scan import JournalScan
from goqueue.offline.state_copies import read_checkpoints
from goqueue.testing import Image, Platter, SeededEntropy, SimulatedFileSystem, crash_states
from goqueue.testing.power_cut import KEPT
from tests.unit.offline.folders import (
    AUDIT,
    ORDERS,
    Kept,
    append,
    checked,
    checkpoint,
    content_of,
    opened,
    repaired,
    write,
)

STEPS = st.lists(
    st.sampled_from(
        [
            *("orders", "orders", "orders", "audit", "event", "checkpoint", "drop", "drop-all", "compact", "lost"),
            *("delete", "create", "reopen"),
        ]
    ),
    max_size=40,
)


class Life:
    """A store, and what was done to it."""

    def __init__(self, disk: SimulatedFileSystem) -> None:
        self.disk = disk
        self.state = b""
        self.store = self._open()
        write(self.store, (CreateLog(ORDERS),))

    def _open(self) -> DiskStore:
        kept = Kept()
        store = opened("data", self.disk, kept)
        self.state = b"".join([*(payload for _, payload in kept.snapshots), *kept.events])
        return store

    def step(self, what: str) -> None:
        store = self.store
        if what in ("orders", "audit"):
            log = ORDERS if what == "orders" else AUDIT
            if log in store.logs():
                write(store, (append(store, log, 3),))
        elif what == "event":
            self.state += b"."
            write(store, (StateEvent("s", b"."),))
        elif what == "checkpoint":
            checkpoint(store, {"s": self.state})
        elif what in ("drop", "drop-all"):
            bases = tuple(info.base_offset for info in store.log(ORDERS).segments)
            bases = bases[:-1][:2] if what == "drop" else bases
            if bases and store.log(ORDERS).size:
                write(store, (DropSegments(ORDERS, bases),))
        elif what == "compact":
            work = store.begin_compaction(ORDERS, CompactionPolicy(1 << 60, 0))
            if work is not None:
                work.run()
                store.finish_compaction(work)
        elif what == "lost":
            # A compaction that wrote its files and never came to say so.
            work = store.begin_compaction(ORDERS, CompactionPolicy(1 << 60, 0))
            if work is not None:
                work.run()
            self.reopen()
        elif what == "delete" and AUDIT in store.logs():
            write(store, (DeleteLog(AUDIT),))
        elif what == "create" and AUDIT not in store.logs():
            write(store, (CreateLog(AUDIT),))
        elif what == "reopen":
            self.reopen()

    def reopen(self) -> None:
        self.store.close()
        self.store = self._open()


def image_of(disk: SimulatedFileSystem) -> Image:
    platter = Platter()
    for change in disk.changes:
        platter.apply(change)
    return platter.image({}, KEPT)


def lived(steps: list[str]) -> SimulatedFileSystem:
    disk = SimulatedFileSystem()
    life = Life(disk)
    for step in steps:
        life.step(step)
    life.store.close()
    return disk


def again(image: Image) -> SimulatedFileSystem:
    return SimulatedFileSystem(image, first_node=100_000)


@settings(max_examples=150)
@given(STEPS)
def test_a_sound_folder_is_clean_and_its_logs_are_as_foretold(steps: list[str]) -> None:
    disk = lived(steps)
    found = checked("data", disk)
    assert found.clean, found.findings
    foretold = expected(disk)
    store = opened("data", disk)
    assert {log: list(store.log(log).segments) for log in store.logs()} == foretold
    store.close()


def expected(disk: SimulatedFileSystem) -> dict[object, object]:
    folder = DataFolder(disk, "data")
    state = read_checkpoints(folder).newest or CheckpointState()
    logs = ExpectedLogs(folder, state, JournalScan(folder, state.lsn)).logs()
    return {log: [segment.info for segment in segments] for log, segments in logs.items()}


@settings(max_examples=150)
@given(STEPS)
def test_without_both_checkpoints_every_record_and_event_comes_back(steps: list[str]) -> None:
    image = image_of(lived(steps))
    wanted = content_of("data", again(image))
    disk = again(image)
    disk.remove("data/checkpoint")
    disk.remove("data/checkpoint.copy")
    assert Kind.CHECKPOINT_LOST in {finding.kind for finding in checked("data", disk).findings}
    repaired("data", disk)
    assert checked("data", disk).clean
    found = content_of("data", disk)
    with_records = {log for log, records in wanted.records.items() if records}
    assert {log: found.records[log] for log in with_records} == {log: wanted.records[log] for log in with_records}
    assert all(not records for log, records in found.records.items() if log not in with_records)
    assert all(found.next_offsets[log] == end for log, end in wanted.next_offsets.items() if end)
    assert (found.snapshots, found.events) == (wanted.snapshots, wanted.events)


@settings(max_examples=60)
@given(STEPS, st.integers(0, 1 << 30), st.data())
def test_after_a_power_cut_verify_blames_nothing_but_the_torn_tail(
    steps: list[str], seed: int, data: st.DataObject
) -> None:
    changes = lived(steps).changes
    platter = Platter()
    for change in changes[: data.draw(st.integers(0, len(changes)))]:
        platter.apply(change)
    for image in crash_states(platter, SeededEntropy(seed), exhaustive=2, singles=False, samples=3):
        disk = again(image)
        if not disk.exists("data/checkpoint.copy") or not disk.exists("data/checkpoint"):
            continue
        found = checked("data", disk)
        errors = [finding for finding in found.findings if finding.severity is Severity.ERROR]
        assert errors == []
        repaired("data", disk)
        assert checked("data", disk).clean
        content_of("data", disk)
