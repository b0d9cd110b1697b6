"""Files that are kept twice or can be built again: whatever is in their place, a start goes on and says so."""

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from goqueue.adapters.ids.sqlite_index import SqliteIdIndex
from goqueue.engine.ports import DeleteLog, IdIndexDamaged, IndexedIds, StateEvent
from tests.unit.disk.making import A, DiskDriver


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def garbage(path: Path) -> None:
    path.write_bytes(b"\xa5garbage" * 100)


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def folder(path: Path) -> None:
    """In its place, with something in it that is not ours."""
    path.unlink()
    path.mkdir()
    (path / "note").write_text("whose?")


DAMAGES = [cut, garbage, emptied, folder]
Damage = Callable[[Path], None]


@pytest.fixture
def driver(tmp_path):
    made = DiskDriver(tmp_path / "data")
    made.create(A)
    made.fill(7)
    made.do(StateEvent("s", b"before"))
    made.checkpoint({"s": b"snapshot"})
    made.do(StateEvent("s", b"after"))
    made.store.close()
    yield made
    made.store.close()


FILES = [
    *("checkpoint", "checkpoint.copy", "snapshots/*.snap", "snapshots/*.snap.copy"),
    *("logs/orders/0/*0.index", "logs/orders/0/*0.timeindex"),
]


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("pattern", FILES)
def test_a_start_goes_on_and_says_which_file_is_damaged(driver: DiskDriver, pattern: str, damage: Damage) -> None:
    path = min(driver.folder.glob(pattern))
    damage(path)
    driver.reopen()
    assert driver.recovered.snapshots == {"s": b"snapshot"}
    assert driver.recovered.events == [("s", b"after")]
    assert driver.offsets() == list(range(70))
    assert driver.log().offset_at(0, 70) == 0
    if damage is folder or "logs" not in pattern:
        assert driver.reports.damaged_files == [str(path)]
    # Nothing stands in the way of what comes later: checkpoints, retention, and the end of the topic.
    driver.checkpoint({"s": b"later"})
    driver.reopen()
    assert driver.recovered.snapshots == {"s": b"later"}
    assert driver.offsets() == list(range(70))
    driver.drop(0)
    assert driver.offsets()[0] > 0
    driver.do(DeleteLog(A))
    driver.checkpoint()
    driver.reopen()
    assert driver.store.logs() == ()
    assert not list(driver.folder.glob("logs/*"))


def wrong_schema(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as made:
        made.executescript(
            "PRAGMA application_id = 0x47514944; PRAGMA user_version = 1;"
            "CREATE TABLE added (number TEXT); INSERT INTO added VALUES ('many')"
        )
    made.close()


def no_number(path: Path) -> None:
    wrong_schema(path)
    with sqlite3.connect(path) as made:
        made.execute("DELETE FROM added")
    made.close()


@pytest.mark.parametrize("damage", [*DAMAGES, wrong_schema, no_number])
def test_a_damaged_index_of_ids_is_found_out_and_can_be_built_again(tmp_path: Path, damage: Damage) -> None:
    path = tmp_path / "ids" / "index.db"
    index = SqliteIdIndex(str(path.parent))
    index.open()
    batch = IndexedIds(1, 0, 0, 1, b"".join(number.to_bytes(16, "big") for number in range(1, 5000)))
    index.add([batch], 7)
    index.close()
    damage(path)
    again = SqliteIdIndex(str(path.parent))
    try:
        try:
            assert again.open() == 7
            assert len(again.find(1, batch.digests)) == 4999
        except IdIndexDamaged as damaged:
            assert str(path) in str(damaged)
        again.reset()
        again.add([batch], 8)
        assert len(again.find(1, batch.digests)) == 4999
    finally:
        again.close()


@pytest.mark.parametrize("left", range(0, 40_000, 4999))
def test_an_index_of_ids_cut_anywhere_is_never_more_than_damaged(tmp_path: Path, left: int) -> None:
    path = tmp_path / "ids" / "index.db"
    index = SqliteIdIndex(str(path.parent))
    index.open()
    index.add([IndexedIds(1, 0, 0, 1, b"".join(number.to_bytes(16, "big") for number in range(1, 2000)))], 7)
    index.close()
    path.write_bytes(path.read_bytes()[:left])
    again = SqliteIdIndex(str(path.parent))
    try:
        again.open()
        again.find(1, bytes(15) + b"\x01")
        again.spaces()
    except IdIndexDamaged:
        pass
    finally:
        again.close()
        shutil.rmtree(path.parent)
