"""Checkpoint and snapshots are kept twice: one damaged copy costs nothing, two are said to be damaged."""

import pytest

from goqueue.adapters.disk.checkpoint import parse
from goqueue.engine.ports import StateEvent
from goqueue.errors import DataFolderDamaged
from tests.unit.disk.making import A, DiskDriver


@pytest.fixture
def driver(tmp_path):
    made = DiskDriver(tmp_path / "data")
    made.create(A)
    made.fill(4)
    made.do(StateEvent("s", b"before"))
    made.checkpoint({"s": b"snapshot", "t": b"other"})
    made.fill(1)
    made.do(StateEvent("s", b"after"))
    made.store.close()
    yield made
    made.store.close()


def copies(driver: DiskDriver, what: str) -> list:
    found = sorted((driver.folder / "snapshots").iterdir()) if what == "snapshot" else []
    return [path for path in found if "snap" in path.name][:2] or sorted(driver.folder.glob("checkpoint*"))


def damaged(content: bytes, step: int):
    """The file gone, emptied, cut, extended, and with a bit flipped in every `step`th of its bytes."""
    yield None
    yield b""
    yield content[: len(content) // 2]
    yield content[:-1]
    yield content + b"\0"
    yield bytes(len(content))
    for position in range(0, len(content), step):
        yield content[:position] + bytes([content[position] ^ 1 << position % 8]) + content[position + 1 :]


def put(path, content: bytes | None) -> None:
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)


def assert_all_is_there(driver: DiskDriver) -> None:
    assert driver.recovered.snapshots == {"s": b"snapshot", "t": b"other"}
    assert driver.recovered.events == [("s", b"after")]
    assert driver.offsets() == list(range(50))


@pytest.mark.parametrize("what", ["checkpoint", "snapshot"])
@pytest.mark.parametrize("which", [0, 1])
def test_one_damaged_copy_costs_nothing(driver, what, which):
    path = copies(driver, what)[which]
    intact = path.read_bytes()
    for content in damaged(intact, step=37):
        put(path, content)
        driver.reopen()
        assert_all_is_there(driver)
        driver.store.close()


def test_no_flipped_bit_makes_another_checkpoint_of_a_damaged_one(driver):
    intact = (driver.folder / "checkpoint").read_bytes()
    assert parse(b"GQCP", intact) is not None
    for content in damaged(intact, step=1):
        assert content is None or parse(b"GQCP", content) is None


@pytest.mark.parametrize("what", ["checkpoint", "snapshot"])
@pytest.mark.parametrize("content", [None, b"", b"noise", bytes(1000)], ids=["gone", "empty", "noise", "zeros"])
def test_two_damaged_copies_are_refused_with_a_hint_and_nothing_is_touched(driver, what, content):
    for path in copies(driver, what):
        put(path, content)
    before = {path: path.read_bytes() for path in driver.folder.rglob("*") if path.is_file()}
    with pytest.raises(DataFolderDamaged) as refused:
        driver.reopen()
    assert "goqueue storage" in refused.value.hint
    assert ("checkpoint" if what == "checkpoint" else "snapshot of") in refused.value.message
    assert {path: path.read_bytes() for path in driver.folder.rglob("*") if path.is_file()} == before


def test_a_folder_that_was_refused_is_not_locked(driver):
    path, copy = copies(driver, "checkpoint")
    intact = path.read_bytes()
    path.write_bytes(b"")
    copy.write_bytes(b"")
    with pytest.raises(DataFolderDamaged):
        driver.reopen()
    path.write_bytes(intact)
    driver.reopen()
    assert_all_is_there(driver)


@pytest.mark.parametrize("newer", ["checkpoint", "checkpoint.copy"])
def test_of_two_intact_copies_the_newer_counts(driver, newer):
    """As after a crash between writing the one and the other."""
    old = {path.name: path.read_bytes() for path in copies(driver, "checkpoint")}
    driver.reopen()
    driver.checkpoint({"s": b"newer"})
    driver.store.close()
    (older,) = set(old) - {newer}
    (driver.folder / older).write_bytes(old[older])
    driver.reopen()
    assert driver.recovered.snapshots == {"s": b"newer", "t": b"other"}
    assert driver.recovered.events == []
    assert driver.offsets() == list(range(50))


def test_old_snapshots_are_removed(driver):
    driver.reopen()
    for n in range(5):
        driver.do(StateEvent("s", b"%d" % n))
        driver.checkpoint({"s": b"%d" % n})
    assert len(list((driver.folder / "snapshots").iterdir())) == 4, "two streams, two copies each"
    driver.checkpoint({"t": None})
    assert len(list((driver.folder / "snapshots").iterdir())) == 2


def test_a_file_half_written_by_a_crash_is_no_hindrance(driver):
    for path in (*copies(driver, "checkpoint"), *copies(driver, "snapshot")):
        path.with_name(path.name + ".tmp").write_bytes(b"half")
    driver.reopen()
    assert_all_is_there(driver)
    driver.checkpoint({"s": b"next"})
    driver.reopen()
    assert driver.recovered.snapshots == {"s": b"next", "t": b"other"}


def test_folders_made_but_not_yet_filled_are_taken_for_new(tmp_path):
    for name in ("journal", "logs", "snapshots"):
        (tmp_path / "new" / name).mkdir(parents=True)
    driver = DiskDriver(tmp_path / "new")
    driver.create(A)
    driver.reopen()
    assert driver.store.logs() == (A,)
    driver.store.close()
