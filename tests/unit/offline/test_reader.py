"""A data folder is read without a broker: as it would be after a start, and without a change to it."""

import os

import pytest

from goqueue import codec
from goqueue.adapters.disk.files import OsFileSystem
from goqueue.engine.ports import CreateLog
from goqueue.errors import DataFolderDamaged, DataFolderInUse, InvalidRequest
from goqueue.offline.data_folder import DataFolder
from goqueue.offline.reader import OfflineFolder
from tests.unit.offline.folders import ORDERS, SECOND, T0, append, checkpoint, files_of, flip, opened, segment, write

COUNT = 20


@pytest.fixture
def data(tmp_path):
    """Several segments with a checkpoint, and records after it."""
    folder = tmp_path / "data"
    store = opened(str(folder))
    write(store, (CreateLog(ORDERS),))
    for number in range(COUNT // 4):
        if number == 3:
            checkpoint(store, {})
        write(store, (append(store, ORDERS, 4),))
    store.close()
    return folder


def offsets_in(folder: OfflineFolder) -> list[int]:
    found, at, end = [], folder.start(ORDERS), folder.end(ORDERS, committed=True)
    while at < end:
        chunk = folder.read(ORDERS, at, 1 << 20, end)
        found += [record.offset for record in codec.decode(chunk.records)]
        at = chunk.next_offset
    return found


def state_of(data):
    return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in files_of(data)}


def test_every_record_is_read_and_no_file_changes(data):
    before = state_of(data)
    assert offsets_in(OfflineFolder(str(data))) == list(range(COUNT))
    assert state_of(data) == before


def test_records_that_only_the_journal_has_are_read(data):
    newest = max(int(path.stem) for path in segment(data, ORDERS, 0).parent.glob("*.log"))
    os.truncate(segment(data, ORDERS, newest), 0)
    assert offsets_in(OfflineFolder(str(data))) == list(range(COUNT))
    assert segment(data, ORDERS, newest).stat().st_size == 0


def test_an_offset_is_found_by_its_time_or_is_the_end(data):
    folder = OfflineFolder(str(data))
    assert folder.offset_at(ORDERS, T0 + 7 * SECOND, committed=True) == 7
    assert folder.offset_at(ORDERS, T0 + COUNT * SECOND, committed=True) == COUNT


def test_damage_is_an_error_and_not_an_end(data):
    flip(segment(data, ORDERS, 0), 60)
    folder = OfflineFolder(str(data))
    with pytest.raises(DataFolderDamaged, match=r"00000000000000000000\.log"):
        offsets_in(folder)


def test_a_folder_that_is_in_use_is_refused(data):
    lock = DataFolder(OsFileSystem(), str(data)).hold()
    with pytest.raises(DataFolderInUse):
        OfflineFolder(str(data))
    lock.close()
    assert OfflineFolder(str(data)).end(ORDERS, committed=True) == COUNT


def test_a_path_that_is_no_data_folder_is_refused(tmp_path):
    with pytest.raises(InvalidRequest, match="nothing is in it"):
        OfflineFolder(str(tmp_path))
