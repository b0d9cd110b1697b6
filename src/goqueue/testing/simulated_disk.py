"""Simulated disk in memory: records every change, fills up and fails on demand.

From the recorded changes `goqueue.testing.power_cut` derives the states of a real disk after a power failure. Files are
numbered nodes; names are entries of folders, as on a real disk.
"""

import errno
import os
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Literal, NamedTuple

from goqueue.adapters.disk.files import Buffer
from goqueue.testing.disk_image import (
    ROOT,
    Allocated,
    Change,
    FileSynced,
    FolderSynced,
    Image,
    Linked,
    Renamed,
    Resized,
    Unlinked,
    Wrote,
)

__all__ = ["SimulatedFile", "SimulatedFileSystem", "Step"]

UNLIMITED = 1 << 60

Step = Literal["open", "write", "allocate", "truncate", "sync", "rename", "remove", "make_dir", "sync_dir"]


class _Space(NamedTuple):
    total: int
    free: int


class _Hook:
    def __init__(self, step: Step, matching: str, action: Callable[[], None], skip: int, times: int) -> None:
        self._step = step
        self._matching = matching
        self._skip = skip
        self._times = times
        self.action = action

    def is_due(self, step: Step, path: str) -> bool:
        if step != self._step or self._times <= 0 or not fnmatchcase(path, self._matching):
            return False
        if self._skip > 0:
            self._skip -= 1
            return False
        self._times -= 1
        return True


class SimulatedFileSystem:
    """See `goqueue.adapters.disk.files.FileSystem`. Paths are relative to the root of the disk."""

    def __init__(self, image: Image | None = None, *, capacity: int = UNLIMITED, first_node: int = 1) -> None:
        image = image or Image({}, {ROOT: {}})
        self.capacity = capacity
        self.changes: list[Change] = []
        """Everything done to the disk, in order."""
        self._paths = image.tree()
        self._folders = {node: dict(entries) for node, entries in image.folders.items()}
        self._contents: dict[int, bytes | bytearray] = dict(image.files)
        self._next_node = max(first_node, 1 + max((*image.files, *image.folders)))
        self._locked: set[str] = set()
        self._hooks: list[_Hook] = []
        self._unreadable: list[tuple[str, int, int]] = []

    # Fault injection.

    def make_unreadable(self, path: str, start: int, stop: int) -> None:
        """Let reads of these bytes fail, as a bad sector does."""
        self._unreadable.append((path.strip("/"), start, stop))

    def before(
        self,
        step: Step,
        action: Callable[[], None],
        *,
        matching: str = "*",
        skip: int = 0,
        times: int = 1,
    ) -> None:
        """Run `action` just before a matching step, after `skip` of them; what it raises, the step raises."""
        self._hooks.append(_Hook(step, matching, action, skip, times))

    def fail(
        self,
        step: Step,
        code: int = errno.EIO,
        *,
        matching: str = "*",
        skip: int = 0,
        times: int = 1,
    ) -> None:
        """Let a step fail.

        Half of a failing write is written; after a failing sync it is unknown what reached the disk.
        """

        def refuse() -> None:
            raise OSError(code, os.strerror(code))

        self.before(step, refuse, matching=matching, skip=skip, times=times)

    def heal(self) -> None:
        """Remove all injected faults."""
        self._hooks.clear()
        self._unreadable.clear()

    def kill(self) -> None:
        """End the process and drop its locks; what it wrote remains in the page cache."""
        self._locked.clear()

    def _step(self, step: Step, path: str) -> None:
        for hook in tuple(self._hooks):
            if hook.is_due(step, path):
                hook.action()

    # Names.

    def open(self, path: str, *, create: bool = False) -> "SimulatedFile":
        self._step("open", path)
        path = path.strip("/")
        node = self._paths.get(path)
        if node is None:
            if not create:
                raise FileNotFoundError(errno.ENOENT, "no such file", path)
            node = self._link(path, is_folder=False)
            self._contents[node] = bytearray()
        elif node in self._folders:
            raise IsADirectoryError(errno.EISDIR, "is a folder", path)
        return SimulatedFile(self, node, path)

    def exists(self, path: str) -> bool:
        return path.strip("/") in self._paths

    def list(self, path: str) -> list[str]:
        return sorted(self._folders.get(self._paths.get(path.strip("/"), -1), ()))

    def make_dirs(self, path: str) -> None:
        path = path.strip("/")
        parent = path.rpartition("/")[0]
        if self._paths.get(path) not in self._folders:
            self.make_dirs(parent)
            self._step("make_dir", path)
            self._folders[self._link(path, is_folder=True)] = {}
        if path:
            self.sync_dir(parent)

    def rename(self, source: str, target: str) -> None:
        self._step("rename", source)
        source, target = source.strip("/"), target.strip("/")
        folder, name = self._place(source)
        new_folder, new_name = self._place(target)
        if folder != new_folder:
            raise OSError(errno.EXDEV, "this disk renames only within a folder", source)
        if source not in self._paths:
            raise FileNotFoundError(errno.ENOENT, "no such file", source)
        if self._paths.get(target) in self._folders:
            raise IsADirectoryError(errno.EISDIR, "is a folder", target)
        self._paths[target] = self._folders[folder][new_name] = self._paths.pop(source)
        del self._folders[folder][name]
        self.changes.append(Renamed(folder, name, new_name))

    def remove(self, path: str) -> None:
        self._step("remove", path)
        path = path.strip("/")
        node = self._paths.get(path)
        if node is None:
            raise FileNotFoundError(errno.ENOENT, "no such file", path)
        if node in self._folders:
            raise IsADirectoryError(errno.EISDIR, "is a folder", path)
        self._unlink(path)

    def remove_dir(self, path: str) -> None:
        self._step("remove", path)
        path = path.strip("/")
        node = self._paths.get(path)
        if node is None:
            raise FileNotFoundError(errno.ENOENT, "no such folder", path)
        if self._folders[node]:
            raise OSError(errno.ENOTEMPTY, "folder is not empty", path)
        self._unlink(path)
        del self._folders[node]

    def sync_dir(self, path: str) -> None:
        self._step("sync_dir", path)
        path = path.strip("/")
        folder = self._paths.get(path)
        if folder is None:
            raise FileNotFoundError(errno.ENOENT, "no such folder", path)
        self.changes.append(FolderSynced(folder))

    def space(self, path: str) -> _Space:
        return _Space(self.capacity, self._free())

    def breathe(self) -> None:
        """Does nothing: there is no other process to wait for."""

    def _free(self) -> int:
        if self.capacity == UNLIMITED:
            return UNLIMITED
        used = sum(len(self._contents[node]) for node in self._paths.values() if node in self._contents)
        return max(0, self.capacity - used)

    def lock(self, path: str) -> "SimulatedFile | None":
        file = self.open(path, create=True)
        if file.path in self._locked:
            return None
        self._locked.add(file.path)
        file.on_close = lambda: self._locked.discard(file.path)
        return file

    def _place(self, path: str) -> tuple[int, str]:
        parent, _, name = path.rpartition("/")
        folder = self._paths.get(parent)
        if folder is None:
            raise FileNotFoundError(errno.ENOENT, "no such folder", parent)
        return folder, name

    def _link(self, path: str, *, is_folder: bool) -> int:
        folder, name = self._place(path)
        node = self._next_node
        self._next_node += 1
        self._paths[path] = self._folders[folder][name] = node
        self.changes.append(Linked(folder, name, node, is_folder))
        return node

    def _unlink(self, path: str) -> None:
        folder, name = self._place(path)
        del self._paths[path], self._folders[folder][name]
        self.changes.append(Unlinked(folder, name))

    # Content, for `SimulatedFile`.

    def content_of(self, node: int) -> bytes | bytearray:
        return self._contents[node]

    def check_readable(self, file: "SimulatedFile", position: int, length: int) -> None:
        for path, start, stop in self._unreadable:
            if path == file.path and position < stop and start < position + length:
                raise OSError(errno.EIO, os.strerror(errno.EIO), path)

    def write_to(self, file: "SimulatedFile", position: int, data: bytes) -> None:
        try:
            self._step("write", file.path)
        except OSError:
            self._put(file.node, position, data[: len(data) // 2])
            raise
        missing = self._growth(file.node, position + len(data)) - self._free()
        if missing > 0:
            self._put(file.node, position, data[: max(0, len(data) - missing)])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._put(file.node, position, data)

    def allocate_in(self, file: "SimulatedFile", length: int) -> None:
        self._step("allocate", file.path)
        growth = self._growth(file.node, length)
        if growth > self._free():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._resize(file.node, len(self._contents[file.node]) + growth)
        self.changes.append(Allocated(file.node, length))

    def truncate_to(self, file: "SimulatedFile", length: int) -> None:
        self._step("truncate", file.path)
        self._resize(file.node, length)
        self.changes.append(Resized(file.node, length))

    def sync_file(self, file: "SimulatedFile") -> None:
        try:
            self._step("sync", file.path)
        except OSError:
            self.changes.append(FileSynced(file.node, failed=True))
            raise
        self.changes.append(FileSynced(file.node))

    def _put(self, node: int, position: int, data: bytes) -> None:
        if data:
            self._resize(node, len(self._contents[node]) + self._growth(node, position + len(data)))
            self._writable(node)[position : position + len(data)] = data
            self.changes.append(Wrote(node, position, data))

    def _growth(self, node: int, end: int) -> int:
        return max(0, end - len(self._contents[node]))

    def _resize(self, node: int, length: int) -> None:
        content = self._writable(node)
        del content[length:]
        content.extend(bytes(length - len(content)))

    def _writable(self, node: int) -> bytearray:
        content = self._contents[node]
        if isinstance(content, bytes):
            content = self._contents[node] = bytearray(content)
        return content


class SimulatedFile:
    """See `goqueue.adapters.disk.files.File`."""

    def __init__(self, disk: SimulatedFileSystem, node: int, path: str) -> None:
        self._disk = disk
        self.node = node
        self.path = path
        self.on_close: Callable[[], None] | None = None

    def size(self) -> int:
        return len(self._disk.content_of(self.node))

    def read(self, position: int, length: int) -> bytes:
        self._disk.check_readable(self, position, length)
        return bytes(self._disk.content_of(self.node)[position : position + length])

    def write(self, position: int, buffers: Sequence[Buffer]) -> None:
        self._disk.write_to(self, position, b"".join(buffers))

    def allocate(self, length: int) -> None:
        self._disk.allocate_in(self, length)

    def truncate(self, length: int) -> None:
        self._disk.truncate_to(self, length)

    def write_back(self, position: int, length: int) -> None:
        """Changes nothing: unsynced data may be on the platter or not at any time."""

    begin_write_back = write_back

    def sync(self) -> None:
        self._disk.sync_file(self)

    def close(self) -> None:
        if self.on_close is not None:
            self.on_close()
            self.on_close = None
