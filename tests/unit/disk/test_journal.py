"""The journal: files that rotate and are used again, and a replay that never takes anything else for an entry."""

import errno
from pathlib import Path

import pytest

from goqueue.adapters.disk.files import OsFileSystem
from goqueue.adapters.disk.journal import SPARE_FILES, Journal, journal_path
from goqueue.adapters.disk.journal_format import (
    FRAME_HEAD,
    FRAME_MAGIC,
    HEAD_SIZE,
    encode_frame,
    encode_operation,
    file_head,
    parse_file_head,
    parse_operations,
)
from goqueue.adapters.disk.replay import PIECE_BYTES, JournalReplay
from goqueue.adapters.disk.spare_journal import free_journal
from goqueue.adapters.disk.store import StoreSettings
from goqueue.engine.ports import AppendRecords, StateEvent
from goqueue.model.record import Record
from goqueue.testing import SeededEntropy
from tests.unit.disk.making import KIB, MIB, A, DiskDriver, flip, stamped

FILE_BYTES = 64 * KIB


@pytest.fixture
def folder(tmp_path):
    return str(tmp_path)


@pytest.fixture
def driver(tmp_path):
    made = DiskDriver(tmp_path / "data", StoreSettings(segment_bytes=4 * KIB, journal_file_bytes=FILE_BYTES))
    yield made
    made.store.close()


def event(number: int, size: int = 0) -> StateEvent:
    return StateEvent("s", b"event %d " % number + bytes(size))


def started(folder: str, *, last_lsn: int = 0, last_sequence: int = 0, seed: int = 0) -> Journal:
    journal = Journal(OsFileSystem(), folder, SeededEntropy(seed), FILE_BYTES)
    journal.start(last_lsn, [], last_sequence)
    return journal


def put(journal: Journal, *events: StateEvent) -> None:
    """Write entries of one event each, all in one call."""
    parts = [encode_operation(one) for one in events]
    journal.make_room(sum(FRAME_HEAD.size + sum(map(len, part)) for part in parts))
    for part in parts:
        journal.stage(part, 1)
    journal.flush()


def replayed(folder: str, after_lsn: int = 0) -> tuple[list[tuple[int, StateEvent]], JournalReplay]:
    replay = JournalReplay(OsFileSystem(), folder, after_lsn)
    return [(frame.lsn, operation) for frame in replay for operation in parse_operations(frame)], replay


def nonce_of(path: str) -> int:
    with open(path, "rb") as file:
        head = parse_file_head(file.read(HEAD_SIZE))
    assert head is not None
    return head[1]


# --- writing and reading back


def test_entries_come_back_in_order_over_many_files(folder, tmp_path):
    journal = started(folder)
    events = [event(n, size=n * 37 % 9000) for n in range(200)]
    for one in events:
        put(journal, one)
    journal.close()
    assert len(list(tmp_path.glob("*.journal"))) > 3
    found, replay = replayed(folder)
    assert found == list(enumerate(events, 1))
    assert (replay.last_lsn, replay.damage, replay.dropped_bytes) == (200, [], 0)


def test_an_entry_larger_than_a_file_gets_a_longer_one(folder):
    journal = started(folder)
    events = [event(1), event(2, size=5 * FILE_BYTES), event(3)]
    for one in events:
        put(journal, one)
    journal.close()
    assert [found for _, found in replayed(folder)[0]] == events


def test_only_entries_after_the_checkpoint_are_replayed(folder):
    journal = started(folder)
    for n in range(1, 51):
        put(journal, event(n, size=4000))
    journal.close()
    found, replay = replayed(folder, after_lsn=42)
    assert found == [(n, event(n, size=4000)) for n in range(43, 51)]
    assert replay.last_lsn == 50


def test_an_empty_journal_goes_on_after_the_checkpoint(folder):
    found, replay = replayed(folder, after_lsn=7)
    assert (found, replay.last_lsn) == ([], 7)


def test_live_bytes_are_what_a_replay_would_read(folder):
    journal = started(folder)
    assert journal.live_bytes == 0
    put(journal, event(1, size=1000))
    one = journal.live_bytes
    assert 1000 < one < 1200
    for n in range(99):
        put(journal, event(n, size=1000))
    assert 100 * 1000 < journal.live_bytes < 101 * one
    journal.close()


# --- using files again


def fill_and_release(journal: Journal, files: int) -> None:
    for n in range(files * 4):
        put(journal, event(n, size=FILE_BYTES // 4))
    journal.release(journal.written_lsn)


def test_released_files_are_used_again_and_the_spare_ones_are_bounded(folder, tmp_path):
    journal = started(folder)
    for _ in range(10):
        fill_and_release(journal, 3 * SPARE_FILES)
        names = [path.name for path in tmp_path.iterdir()]
        assert len([name for name in names if name.startswith("spare-")]) == SPARE_FILES
        assert len([name for name in names if name.endswith(".journal")]) == 1
    inodes = {path.stat().st_ino for path in tmp_path.iterdir()}
    put(journal, event(0, size=FILE_BYTES - KIB))
    put(journal, event(0, size=FILE_BYTES - KIB))
    assert {path.stat().st_ino for path in tmp_path.iterdir()} == inodes
    journal.close()


def test_spare_files_of_an_earlier_run_are_used_and_bounded_too(driver):
    for _ in range(5):
        for n in range(40):
            driver.do(event(n, size=FILE_BYTES // 4))
        driver.checkpoint()
        driver.reopen()
        spare = [name for name in driver.journal_files() if name.startswith("spare-")]
        assert len(spare) <= SPARE_FILES
        assert len(driver.journal_files()) <= SPARE_FILES + 3


def entry_files(driver) -> list[str]:
    return [name for name in driver.journal_files() if name.endswith(".journal")]


def test_after_a_stop_with_a_checkpoint_there_is_no_journal_to_look_into(driver):
    for n in range(10):
        driver.do(event(n, size=FILE_BYTES // 4))
    driver.checkpoint({"s": b"ten"})
    before = entry_files(driver)
    driver.store.close()
    assert entry_files(driver) == []
    assert len(driver.journal_files()) <= SPARE_FILES
    driver.reopen()
    assert driver.recovered.snapshots == {"s": b"ten"}
    assert driver.recovered.events == []
    assert driver.store.written_lsn == 10
    assert max(entry_files(driver)) > max(before), "a number is given once"


def test_after_a_stop_with_entries_behind_the_checkpoint_all_files_of_the_journal_are_left(driver):
    driver.do(event(1))
    driver.checkpoint({"s": b"one"})
    driver.do(event(2))
    before = driver.journal_files()
    driver.store.close()
    assert driver.journal_files() == before
    driver.reopen()
    assert driver.recovered.events == [tuple(event(2))]


def test_a_store_that_could_not_be_opened_leaves_the_journal_as_it_is(driver):
    driver.do(event(1))
    driver.store.close()
    before = driver.journal_files()

    class Refuses:
        def restore(self, stream, snapshot) -> None: ...
        def apply(self, event) -> None:
            raise RuntimeError

    with pytest.raises(RuntimeError):
        driver.another().open(Refuses())
    assert driver.journal_files() == before
    driver.reopen()
    assert driver.recovered.events == [tuple(event(1))]


def test_journal_files_that_the_disk_keeps_at_a_stop_are_read_again_to_no_harm(folder, monkeypatch):
    files = OsFileSystem()
    journal = started(folder)
    put(journal, event(1), event(2))
    journal.close()

    def refuse(source: str, target: str) -> None:
        raise OSError(errno.EIO, "input/output error")

    monkeypatch.setattr(files, "rename", refuse)
    free_journal(files, folder)
    found, _ = replayed(folder, after_lsn=2)
    assert found == []


def test_restarts_without_a_checkpoint_keep_everything_and_a_checkpoint_frees_it(driver):
    for n in range(10):
        driver.do(event(n))
        driver.reopen()
        assert driver.recovered.events == [tuple(event(m)) for m in range(n + 1)]
    driver.checkpoint({"s": b"ten"})
    assert len(driver.journal_files()) <= SPARE_FILES + 1
    driver.reopen()
    assert driver.recovered.events == []


def test_a_file_is_kept_as_long_as_it_holds_an_entry_that_is_not_released(folder):
    journal = started(folder)
    for n in range(1, 41):
        put(journal, event(n, size=FILE_BYTES // 4))
    journal.release(20)
    journal.close()
    found, _ = replayed(folder, after_lsn=20)
    assert [lsn for lsn, _ in found] == list(range(21, 41))


# --- nothing else is taken for an entry


def test_a_file_used_again_never_shows_entries_of_its_earlier_use(driver, tmp_path):
    for n in range(40):
        driver.do(event(n, size=2000))
    driver.checkpoint({"s": b"old"})
    for n in range(60):
        driver.do(event(1000 + n, size=500))
    remains = [path for path in (tmp_path / "data" / "journal").iterdir() if b"event 3 " in path.read_bytes()]
    assert remains, "no file holds remains of earlier entries, so this proves nothing"
    for _ in range(2):
        driver.reopen()
        assert driver.recovered.events == [tuple(event(1000 + n, size=500)) for n in range(60)]
        assert driver.reports.journal_damage == driver.reports.dropped == []


def test_an_intact_frame_of_an_earlier_use_is_no_entry_even_with_the_lsn_that_comes_next(folder):
    now, before = 111, 222
    frames = [
        b"".join(encode_frame(encode_operation(event(lsn)), 1, nonce=nonce, lsn=lsn, durable_lsn=9))
        for lsn, nonce in ((1, now), (2, before), (3, before))
    ]
    with open(journal_path(folder, 1), "wb") as file:
        file.write(file_head(1, now) + b"".join(frames))
    found, replay = replayed(folder)
    assert found == [(1, event(1))]
    assert (replay.damage, replay.dropped_bytes) == ([], 0)


def test_a_spare_file_whose_new_head_was_lost_holds_nothing(folder):
    """Renamed for its new use, but the power failed before the head was on disk."""
    old = b"".join(encode_frame(encode_operation(event(1)), 1, nonce=5, lsn=1, durable_lsn=0))
    with open(journal_path(folder, 2), "wb") as file:
        file.write(file_head(1, 5) + old)
    assert replayed(folder)[0] == []


def forged(nonce: int, lsns: range) -> bytes:
    """Frames with valid checksums, as a client could make them if it knew the nonce."""
    frames = (encode_frame(encode_operation(event(666)), 1, nonce=nonce, lsn=lsn, durable_lsn=lsn) for lsn in lsns)
    return b"".join(part for frame in frames for part in frame)


@pytest.mark.parametrize("harm", ["none", "head of the entry", "end of the entry"])
def test_frames_forged_inside_a_record_are_never_taken_for_entries(driver, tmp_path, harm):
    driver.create(A)
    for n in range(8):
        driver.do(event(n, size=FILE_BYTES // 4))
    journal_file = tmp_path / "data" / "journal" / driver.journal_files()[-1]
    guesses = [0, 1, 2**64 - 1, nonce_of(str(journal_file)) ^ 1]
    guesses += [nonce_of(str(path)) for path in journal_file.parent.glob("*.journal") if path != journal_file]
    assert len(guesses) > 5
    value = b"".join(forged(nonce, range(1, 20)) for nonce in guesses)
    assert len(value) < FILE_BYTES // 4
    driver.do(AppendRecords(A, stamped(0, [Record(value=value)]), 1))
    assert FRAME_MAGIC in journal_file.read_bytes()
    driver.store.close()
    if harm != "none":
        content = journal_file.read_bytes()
        start = content.rindex(b"orders/0") - FRAME_HEAD.size - 7
        assert content[start : start + 4] == FRAME_MAGIC
        flip(journal_file, start + 20 if harm == "head of the entry" else start + FRAME_HEAD.size + 40 + len(value))
    driver.reopen()
    assert driver.recovered.events == [tuple(event(n, size=FILE_BYTES // 4)) for n in range(8)]
    assert driver.store.written_lsn == (10 if harm == "none" else 9)
    driver.do(event(8))
    driver.reopen()
    assert driver.recovered.events[-1] == tuple(event(8))
    assert b"event 666" not in b"".join(payload for _, payload in driver.recovered.events)


# --- damage and torn tails


def test_an_entry_torn_at_the_end_is_dropped_and_its_number_given_again(folder):
    journal = started(folder)
    put(journal, event(1), event(2), event(3, size=500))
    end = journal.live_bytes + HEAD_SIZE
    journal.close()
    path = Path(journal_path(folder, 1))
    intact = path.read_bytes()
    for lost in range(1, 500, 7):
        path.write_bytes(intact[: end - lost] + b"\xff" * lost + intact[end:])
        found, replay = replayed(folder)
        assert ([lsn for lsn, _ in found], replay.last_lsn, replay.damage) == ([1, 2], 2, [])


def test_a_damaged_entry_that_a_later_one_calls_durable_is_reported_and_stepped_over(driver, tmp_path):
    for n in range(5):
        driver.do(event(n))
        driver.store.sync()
    (name,) = [name for name in driver.journal_files() if name.endswith(".journal")]
    driver.store.close()
    path = tmp_path / "data" / "journal" / name
    flip(path, path.read_bytes().index(b"event 2 "))
    driver.reopen()
    assert driver.recovered.events == [tuple(event(n)) for n in (0, 1, 3, 4)]
    ((description, entries),) = driver.reports.journal_damage
    assert entries == 1
    assert name in description
    assert "3 to 3" in description
    assert driver.store.written_lsn == 5


def test_an_entry_behind_a_damaged_one_is_found_wherever_it_lies(folder):
    """Also where its head is in two of the pieces in which a file is read."""
    first, later = (
        b"".join(encode_frame(encode_operation(event(lsn)), 1, nonce=7, lsn=lsn, durable_lsn=lsn - 1)) for lsn in (1, 3)
    )
    for gap in range(PIECE_BYTES - 2 * len(later), PIECE_BYTES + FRAME_HEAD.size):
        Path(journal_path(folder, 1)).write_bytes(file_head(1, 7) + first + b"\xff" * gap + later + bytes(KIB))
        found, replay = replayed(folder)
        assert found == [(1, event(1)), (3, event(3))]
        assert [(damage.first_lsn, damage.last_lsn) for damage in replay.damage] == [(2, 2)]


@pytest.mark.parametrize("byte", range(HEAD_SIZE))
def test_a_damaged_file_head_loses_no_entry(driver, tmp_path, byte):
    driver.do(event(1))
    driver.do(event(2, size=1000))
    (name,) = driver.journal_files()
    driver.store.close()
    flip(tmp_path / "data" / "journal" / name, byte, 0x80)
    driver.reopen()
    assert driver.recovered.events == [tuple(event(1)), tuple(event(2, size=1000))]


def test_other_files_in_the_folder_are_left_alone(driver, tmp_path):
    stranger = tmp_path / "data" / "journal" / "notes.txt"
    stranger.write_text("not ours")
    driver.do(event(1))
    driver.checkpoint()
    driver.reopen()
    assert stranger.read_text() == "not ours"


def test_the_journal_is_given_room_before_it_is_written(driver, tmp_path):
    driver.do(event(1))
    (name,) = driver.journal_files()
    assert (tmp_path / "data" / "journal" / name).stat().st_size == FILE_BYTES < MIB
