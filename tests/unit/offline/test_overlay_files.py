"""Files over those of a disk: changes are seen by who made them, and the disk keeps every byte."""

import pytest

from goqueue.offline.overlay_files import OverlayFileSystem
from goqueue.offline.read_only_files import ReadOnlyFileSystem


@pytest.fixture
def path(tmp_path):
    (tmp_path / "log").write_bytes(b"0123456789")
    return str(tmp_path / "log")


@pytest.fixture
def disk():
    return OverlayFileSystem()


def content_of(disk: OverlayFileSystem, path: str) -> bytes:
    file = disk.open(path)
    return file.read(0, file.size())


def on_disk(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def test_a_write_is_read_back_over_the_bytes_of_the_disk(disk, path):
    disk.open(path).write(3, [b"ab", b"c"])
    disk.open(path).write(9, [b"xyz"])
    assert content_of(disk, path) == b"012abc678xyz"
    assert disk.open(path).read(4, 3) == b"bc6"
    assert on_disk(path) == b"0123456789"


def test_bytes_beyond_a_cut_are_zeros_when_the_file_grows_again(disk, path):
    file = disk.open(path)
    file.truncate(4)
    assert content_of(disk, path) == b"0123"
    file.write(6, [b"x"])
    assert content_of(disk, path) == b"0123\0\0x"
    file.allocate(9)
    assert file.size() == 9
    assert on_disk(path) == b"0123456789"


def test_names_change_in_memory_only(disk, path, tmp_path):
    disk.rename(path, f"{tmp_path}/renamed")
    assert (disk.exists(path), disk.list(str(tmp_path))) == (False, ["renamed"])
    assert content_of(disk, f"{tmp_path}/renamed") == b"0123456789"
    disk.remove(f"{tmp_path}/renamed")
    assert disk.list(str(tmp_path)) == []
    with pytest.raises(FileNotFoundError):
        disk.open(path)
    disk.make_dirs(f"{tmp_path}/a/b")
    disk.open(f"{tmp_path}/a/b/new", create=True).write(0, [b"new"])
    assert content_of(disk, f"{tmp_path}/a/b/new") == b"new"
    assert [one.name for one in tmp_path.iterdir()] == ["log"]


def test_a_read_only_file_system_refuses_every_change(path, tmp_path):
    disk = ReadOnlyFileSystem()
    file = disk.open(path)
    assert file.read(2, 3) == b"234"
    changes = [
        lambda: disk.open(f"{tmp_path}/new", create=True),
        lambda: disk.make_dirs(f"{tmp_path}/a"),
        lambda: disk.rename(path, f"{tmp_path}/renamed"),
        lambda: disk.remove(path),
        lambda: disk.remove_dir(str(tmp_path)),
        lambda: file.write(0, [b"x"]),
        lambda: file.allocate(20),
        lambda: file.truncate(0),
        file.sync,
    ]
    for change in changes:
        with pytest.raises(PermissionError):
            change()
    assert on_disk(path) == b"0123456789"
