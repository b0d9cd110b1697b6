"""The simulated disk behaves as the real one does, and a power cut takes from it what it may and nothing else."""

import errno
from collections.abc import Callable
from pathlib import Path

import pytest

from goqueue.adapters.disk.files import FileSystem, OsFileSystem, read_whole, write_atomically
from goqueue.testing import Image, Platter, SeededEntropy, SimulatedFileSystem, crash_states
from goqueue.testing.power_cut import KEPT, LOST, ZEROED, Fate, torn

# The same on both.


@pytest.fixture(params=["simulated", "real"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[FileSystem, str]:
    if request.param == "real":
        return OsFileSystem(), str(tmp_path / "root")
    return SimulatedFileSystem(), "some/root"


def test_files_are_read_as_they_were_written(place: tuple[FileSystem, str]) -> None:
    files, root = place
    files.make_dirs(root)
    file = files.open(f"{root}/a", create=True)
    file.write(0, [b"hello ", bytearray(b"world")])
    file.write(20, [memoryview(b"far")])
    assert file.read(0, 100) == b"hello world" + bytes(9) + b"far"
    assert file.read(6, 5) == b"world"
    assert file.read(30, 5) == b""
    file.truncate(4)
    file.truncate(6)
    assert file.read(0, 100) == b"hell\0\0"
    file.allocate(3)
    assert file.size() == 6
    file.allocate(8)
    assert (file.size(), read_whole(files, f"{root}/a")) == (8, b"hell\0\0\0\0")
    file.sync()
    file.close()


def test_names_can_be_made_listed_replaced_and_removed(place: tuple[FileSystem, str]) -> None:
    files, root = place
    files.make_dirs(f"{root}/x/y")
    files.make_dirs(f"{root}/x/y")
    for name in ("b", "a", "c"):
        write_atomically(files, f"{root}/x/{name}", name.encode())
    files.rename(f"{root}/x/a", f"{root}/x/b")
    assert files.list(f"{root}/x") == ["b", "c", "y"]
    assert read_whole(files, f"{root}/x/b") == b"a"
    assert read_whole(files, f"{root}/x/a") == b""
    files.remove(f"{root}/x/b")
    assert files.exists(f"{root}/x/y")
    files.remove_dir(f"{root}/x/y")
    assert not files.exists(f"{root}/x/y")
    assert files.list(f"{root}/nowhere") == []


@pytest.mark.parametrize(
    ("action", "code"),
    [
        (lambda files, root: files.open(f"{root}/none"), errno.ENOENT),
        (lambda files, root: files.open(f"{root}/no/file", create=True), errno.ENOENT),
        (lambda files, root: files.open(root), errno.EISDIR),
        (lambda files, root: files.remove(f"{root}/none"), errno.ENOENT),
        (lambda files, root: files.rename(f"{root}/none", f"{root}/new"), errno.ENOENT),
        (lambda files, root: files.remove_dir(root), errno.ENOTEMPTY),
        (lambda files, root: files.remove_dir(f"{root}/none"), errno.ENOENT),
        (lambda files, root: files.sync_dir(f"{root}/none"), errno.ENOENT),
    ],
)
def test_what_cannot_be_done_fails_in_the_same_way(
    place: tuple[FileSystem, str], action: Callable[[FileSystem, str], None], code: int
) -> None:
    files, root = place
    files.make_dirs(f"{root}/child")
    with pytest.raises(OSError) as failure:
        action(files, root)
    assert failure.value.errno == code


def test_a_removed_file_can_still_be_used_by_those_who_have_it_open(place: tuple[FileSystem, str]) -> None:
    files, root = place
    files.make_dirs(root)
    file = files.open(f"{root}/a", create=True)
    file.write(0, [b"old"])
    files.remove(f"{root}/a")
    files.open(f"{root}/a", create=True).write(0, [b"newer"])
    file.write(3, [b"est"])
    assert (file.read(0, 10), read_whole(files, f"{root}/a")) == (b"oldest", b"newer")


def test_a_lock_is_held_by_one_until_it_is_closed(place: tuple[FileSystem, str]) -> None:
    files, root = place
    files.make_dirs(root)
    lock = files.lock(f"{root}/lock")
    assert lock is not None
    assert files.lock(f"{root}/lock") is None
    lock.close()
    assert files.lock(f"{root}/lock") is not None


# Trouble.


def test_a_killed_process_lets_go_of_its_locks() -> None:
    disk = SimulatedFileSystem()
    assert disk.lock("lock") is not None
    disk.kill()
    assert disk.lock("lock") is not None


def test_half_of_a_failing_write_lands() -> None:
    disk = SimulatedFileSystem()
    file = disk.open("a", create=True)
    disk.fail("write", errno.EIO, matching="a", skip=1)
    file.write(0, [b"1234"])
    with pytest.raises(OSError, match="Input/output"):
        file.write(4, [b"5678"])
    assert file.read(0, 10) == b"123456"
    file.write(4, [b"abcd"])
    assert file.read(0, 10) == b"1234abcd"


def test_a_full_disk_takes_what_fits() -> None:
    disk = SimulatedFileSystem(capacity=10)
    file = disk.open("a", create=True)
    file.write(0, [b"12345678"])
    with pytest.raises(OSError, match="No space"):
        file.write(8, [b"abcd"])
    assert file.read(0, 20) == b"12345678ab"
    with pytest.raises(OSError, match="No space"):
        disk.open("b", create=True).allocate(1)
    file.write(0, [b"overwriting needs no room"[:10]])
    disk.remove("a")
    disk.open("b", create=True).allocate(10)
    assert disk.space("").free == 0


def test_something_else_can_happen_just_before_a_step() -> None:
    disk = SimulatedFileSystem()
    file = disk.open("a", create=True)
    disk.before("sync", lambda: file.write(0, [b"meanwhile"]), matching="a")
    file.sync()
    assert file.read(0, 20) == b"meanwhile"


# Power cuts.


def cut(disk: SimulatedFileSystem, fates: dict[int, Fate] | None = None, others: Fate = LOST) -> dict[str, bytes]:
    return platter_of(disk).image(fates or {}, others).contents()


def platter_of(disk: SimulatedFileSystem) -> Platter:
    platter = Platter()
    for change in disk.changes:
        platter.apply(change)
    return platter


def numbers(disk: SimulatedFileSystem) -> list[int]:
    return [pending.number for pending in platter_of(disk).pending()]


@pytest.fixture
def disk() -> SimulatedFileSystem:
    """One file whose name and first bytes are certain."""
    made = SimulatedFileSystem()
    file = made.open("a", create=True)
    file.write(0, [b"sure"])
    file.sync()
    made.sync_dir("")
    return made


def test_what_was_synced_is_certain_and_the_rest_may_be_lost(disk: SimulatedFileSystem) -> None:
    file = disk.open("a")
    file.write(4, [b"-one"])
    file.write(8, [b"-two"])
    one, two = numbers(disk)
    assert cut(disk) == {"a": b"sure"}
    assert cut(disk, others=KEPT) == {"a": b"sure-one-two"}
    assert cut(disk, {two: KEPT}) == {"a": b"sure\0\0\0\0-two"}
    assert cut(disk, {one: torn(2)}) == {"a": b"sure-o"}
    assert cut(disk, {one: torn(2, grown=True)}) == {"a": b"sure-o\0\0"}
    assert cut(disk, {one: ZEROED}) == {"a": b"sure\0\0\0\0"}
    assert cut(disk, {two: Fate(((0, 1), (3, 4)), grown=False)}) == {"a": b"sure\0\0\0\0-\0\0o"}
    file.sync()
    assert cut(disk) == {"a": b"sure-one-two"}


def test_a_name_is_certain_only_when_its_folder_was_synced(disk: SimulatedFileSystem) -> None:
    file = disk.open("b", create=True)
    file.write(0, [b"data"])
    file.sync()
    assert cut(disk) == {"a": b"sure"}
    disk.sync_dir("")
    assert cut(disk) == {"a": b"sure", "b": b"data"}
    disk.remove("b")
    assert cut(disk) == {"a": b"sure", "b": b"data"}
    disk.rename("a", "b")
    assert cut(disk) == {"a": b"sure", "b": b"data"}
    removed, renamed = numbers(disk)
    assert cut(disk, {renamed: KEPT}) == {"b": b"sure"}
    assert cut(disk, {removed: KEPT}) == {"a": b"sure"}


def test_a_renamed_file_whose_data_was_not_synced_may_be_empty(disk: SimulatedFileSystem) -> None:
    disk.open("a.tmp", create=True).write(0, [b"new"])
    disk.rename("a.tmp", "a")
    disk.sync_dir("")
    assert cut(disk) == {"a": b""}
    assert cut(disk, others=KEPT) == {"a": b"new"}


def test_a_file_in_a_folder_whose_name_is_lost_is_lost(disk: SimulatedFileSystem) -> None:
    disk.make_dirs("x")
    disk.open("x/y", create=True).sync()
    disk.sync_dir("x")
    disk.remove("x/y")
    disk.remove_dir("x")
    assert cut(disk) == {"a": b"sure", "x/y": b""}
    assert cut(disk, others=KEPT) == {"a": b"sure"}


def test_names_may_be_lost_in_order_or_in_any_order() -> None:
    disk = SimulatedFileSystem()
    for name in "abc":
        disk.open(name, create=True)
    fates = dict(zip(numbers(disk), (KEPT, LOST, KEPT), strict=True))
    assert set(platter_of(disk).image(fates).contents()) == {"a", "c"}
    assert set(platter_of(disk).image(fates, names_in_order=True).contents()) == {"a"}


def test_after_a_failed_sync_no_later_sync_makes_those_writes_certain(disk: SimulatedFileSystem) -> None:
    file = disk.open("a")
    file.write(4, [b"-one"])
    disk.fail("sync", errno.EIO)
    with pytest.raises(OSError, match="Input/output"):
        file.sync()
    file.write(8, [b"-two"])
    file.sync()
    assert file.read(0, 20) == b"sure-one-two"
    assert cut(disk) == {"a": b"sure\0\0\0\0-two"}
    file.write(4, [b"-one"])
    file.sync()
    assert cut(disk) == {"a": b"sure-one-two"}


def test_a_killed_process_leaves_its_writes_in_the_page_cache_still_uncertain(disk: SimulatedFileSystem) -> None:
    disk.open("a").write(4, [b"-one"])
    platter = platter_of(disk)
    after = platter.page_cache()
    assert after.open("a").read(0, 20) == b"sure-one"
    assert platter.image({}).contents() == {"a": b"sure"}
    after.open("a").sync()
    for change in after.changes:
        platter.apply(change)
    assert platter.image({}).contents() == {"a": b"sure-one"}


def test_a_copied_platter_goes_its_own_way(disk: SimulatedFileSystem) -> None:
    disk.open("a").write(4, [b"-one"])
    platter = platter_of(disk)
    twin = platter.copy()
    disk.open("a").sync()
    platter.apply(disk.changes[-1])
    assert platter.image({}).contents() == {"a": b"sure-one"}
    assert twin.image({}).contents() == {"a": b"sure"}


def test_crash_states_cover_every_combination_when_few_changes_are_pending(disk: SimulatedFileSystem) -> None:
    file = disk.open("a")
    for position in (4, 6, 8):
        file.write(position, [b"xy"])
    states = {contents_of(image) for image in crash_states(platter_of(disk), SeededEntropy(1), exhaustive=3, samples=0)}
    for kept in range(8):
        content = bytearray(b"sure")
        for bit, position in enumerate((4, 6, 8)):
            if kept >> bit & 1:
                content.extend(bytes(position - len(content)))
                content[position : position + 2] = b"xy"
        assert bytes(content) in states


def test_crash_states_tear_the_newest_write_at_every_byte_when_asked_to(disk: SimulatedFileSystem) -> None:
    disk.open("a").write(4, [b"123456"])
    states = {contents_of(image) for image in crash_states(platter_of(disk), SeededEntropy(1), cuts=0, samples=0)}
    assert {b"sure" + b"123456"[:length] for length in range(7)} <= states


def test_crash_states_are_the_same_for_the_same_seed(disk: SimulatedFileSystem) -> None:
    for position in range(4, 4000, 700):
        disk.open("a").write(position, [bytes([position % 251]) * 700])

    def states(seed: int) -> list[bytes]:
        return [contents_of(image) for image in crash_states(platter_of(disk), SeededEntropy(seed), samples=20)]

    assert states(7) == states(7)
    assert states(7) != states(8)


def contents_of(image: Image) -> bytes:
    return image.contents()["a"]
