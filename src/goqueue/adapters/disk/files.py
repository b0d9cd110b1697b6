"""File-system interface of the store, small enough for a simulated disk to implement, and the real file system."""

import contextlib
import errno
import fcntl
import functools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

__all__ = [
    "Buffer",
    "DiscardedFile",
    "File",
    "FileSystem",
    "MissingFile",
    "OsFileSystem",
    "Space",
    "file_size",
    "is_no_room",
    "read_whole",
    "remove_file",
    "remove_tree",
    "set_aside",
    "write_atomically",
]

Buffer = bytes | bytearray | memoryview

IOV_MAX = 1024
WRITE_BACK_BYTES = 1024 * 1024
FREED_LATER_BYTES = 4 * 1024 * 1024
BREATH_S = 0.002
_WRITE_AND_WAIT = 7
"""SYNC_FILE_RANGE_WAIT_BEFORE, _WRITE and _WAIT_AFTER."""


class Space(Protocol):
    """Space on the disk that holds a path, in bytes."""

    @property
    def total(self) -> int: ...
    @property
    def free(self) -> int: ...


class File(Protocol):
    """An open file, read and written at explicit positions."""

    def size(self) -> int: ...
    def read(self, position: int, length: int) -> bytes: ...
    def write(self, position: int, buffers: Sequence[Buffer]) -> None: ...
    def allocate(self, length: int) -> None: ...
    def truncate(self, length: int) -> None: ...
    def begin_write_back(self, position: int, length: int) -> None: ...
    def write_back(self, position: int, length: int) -> None: ...
    def sync(self) -> None: ...
    def close(self) -> None: ...


class FileSystem(Protocol):
    """Names and folders. Changes to names are durable only after `sync_dir` on their folder."""

    def open(self, path: str, *, create: bool = False) -> File: ...
    def exists(self, path: str) -> bool: ...
    def list(self, path: str) -> list[str]: ...
    def make_dirs(self, path: str) -> None: ...
    def rename(self, source: str, target: str) -> None: ...
    def remove(self, path: str) -> None: ...
    def remove_dir(self, path: str) -> None: ...
    def sync_dir(self, path: str) -> None: ...
    def space(self, path: str) -> Space: ...
    def lock(self, path: str) -> File | None: ...
    def breathe(self) -> None: ...


class _OsSpace:
    def __init__(self, path: str) -> None:
        stat = os.statvfs(path)
        self.total = stat.f_frsize * (stat.f_blocks - stat.f_bfree + stat.f_bavail)
        self.free = stat.f_frsize * stat.f_bavail


@functools.cache
def _sync_file_range() -> Callable[[int, int, int, int], int]:
    """The C function, which Python does not offer; `ctypes` is imported only when it is first used."""
    import ctypes

    function = ctypes.CDLL(None).sync_file_range
    function.argtypes = [ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint]
    return function


class _OsFile:
    """File of the operating system. Errors of calls on a descriptor lack the file name, so it is added here."""

    def __init__(self, fd: int, path: str) -> None:
        self._fd = fd
        self._path = path

    def _named(self, error: OSError) -> OSError:
        return OSError(error.errno, error.strerror, self._path)

    def size(self) -> int:
        return os.fstat(self._fd).st_size

    def read(self, position: int, length: int) -> bytes:
        try:
            data = os.pread(self._fd, length, position)
            if len(data) == length or not data:
                return data
            parts = [data]
            got = len(data)
            while got < length and (data := os.pread(self._fd, length - got, position + got)):
                parts.append(data)
                got += len(data)
        except OSError as error:
            raise self._named(error) from error
        return b"".join(parts)

    def write(self, position: int, buffers: Sequence[Buffer]) -> None:
        try:
            self._write(position, buffers)
        except OSError as error:
            raise self._named(error) from error

    def _write(self, position: int, buffers: Sequence[Buffer]) -> None:
        for first in range(0, len(buffers), IOV_MAX):
            some = buffers[first : first + IOV_MAX]
            wanted = sum(map(len, some))
            written = os.pwritev(self._fd, some, position)
            if written < wanted:
                rest = memoryview(b"".join(some))
                while written < wanted:
                    written += os.pwrite(self._fd, rest[written:], position + written)
            position += wanted

    def allocate(self, length: int) -> None:
        try:
            os.posix_fallocate(self._fd, 0, length)
        except OSError as error:
            raise self._named(error) from error

    def truncate(self, length: int) -> None:
        try:
            os.ftruncate(self._fd, length)
        except OSError as error:
            raise self._named(error) from error

    def begin_write_back(self, position: int, length: int) -> None:
        """Start writing bytes to the disk before their sync, which then takes less time.

        POSIX_FADV_DONTNEED starts the write-back of dirty pages; pages being written stay in the page cache.
        """
        try:  # noqa: SIM105  # four calls less for each write
            os.posix_fadvise(self._fd, position, length, os.POSIX_FADV_DONTNEED)
        except OSError:
            # The sync will report the error.
            pass

    def write_back(self, position: int, length: int) -> None:
        """Write dirty pages to the disk in small steps. They are durable only after a sync, which then takes less time.

        A sync of many megabytes at once fills the disk's queue and delays the next sync of the journal.
        """
        sync_file_range = _sync_file_range()
        for start in range(position, position + length, WRITE_BACK_BYTES):
            sync_file_range(self._fd, start, min(WRITE_BACK_BYTES, position + length - start), _WRITE_AND_WAIT)

    def sync(self) -> None:
        try:
            os.fdatasync(self._fd)
        except OSError as error:
            raise self._named(error) from error

    def close(self) -> None:
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            os.close(fd)

    # A reader in another thread may still use a file that its segment has released: the last reference closes it.
    __del__ = close


class MissingFile:
    """Placeholder for a file that should exist and does not: it reads as empty and refuses writes."""

    def size(self) -> int:
        return 0

    def read(self, position: int, length: int) -> bytes:
        return b""

    def write(self, position: int, buffers: Sequence[Buffer]) -> None:
        raise FileNotFoundError(errno.ENOENT, "the log file was removed while the broker runs")

    def allocate(self, length: int) -> None:
        self.write(length, [])

    def truncate(self, length: int) -> None:
        self.write(length, [])

    def write_back(self, position: int, length: int) -> None:
        pass

    begin_write_back = write_back

    def sync(self) -> None:
        self.write(0, [])

    def close(self) -> None:
        pass


class DiscardedFile:
    """Placeholder for a file whose content is not needed: it accepts writes and keeps nothing."""

    def size(self) -> int:
        return 0

    def read(self, position: int, length: int) -> bytes:
        return b""

    def write(self, position: int, buffers: Sequence[Buffer]) -> None:
        pass

    def allocate(self, length: int) -> None:
        pass

    truncate = allocate

    def write_back(self, position: int, length: int) -> None:
        pass

    begin_write_back = write_back

    def sync(self) -> None:
        pass

    close = sync


@contextlib.contextmanager
def _freed_later(path: str) -> Iterator[None]:
    """Free the space of a file that loses its name in another thread, because that is slow for a large file."""
    try:
        is_large = os.lstat(path).st_size >= FREED_LATER_BYTES
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW) if is_large else None
    except OSError:
        # It does not exist or cannot be opened: the removal will report that.
        fd = None
    try:
        yield
    finally:
        if fd is not None:
            _freeing.submit(os.close, fd)


_freeing = ThreadPoolExecutor(1, "gq-free")


class OsFileSystem:
    """File system of the operating system."""

    def open(self, path: str, *, create: bool = False) -> File:
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        return _OsFile(os.open(path, flags, 0o640), path)

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def list(self, path: str) -> list[str]:
        try:
            return sorted(os.listdir(path))
        except (FileNotFoundError, NotADirectoryError):
            return []

    def make_dirs(self, path: str) -> None:
        """Create the folder and its parents, each durable in its parent.

        An existing folder may have been created by a process that was killed before it could sync the parent.
        """
        parent = os.path.dirname(os.path.abspath(path))
        if os.path.isdir(path):
            with contextlib.suppress(PermissionError):
                self.sync_dir(parent)
            return
        self.make_dirs(parent)
        os.mkdir(path)
        self.sync_dir(parent)

    def rename(self, source: str, target: str) -> None:
        with _freed_later(target):
            os.replace(source, target)

    def remove(self, path: str) -> None:
        with _freed_later(path):
            os.unlink(path)

    def remove_dir(self, path: str) -> None:
        os.rmdir(path)

    def sync_dir(self, path: str) -> None:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def space(self, path: str) -> Space:
        return _OsSpace(path)

    def breathe(self) -> None:
        """Pause of long work in a background thread, so that other threads get the disk and the interpreter."""
        threading.Event().wait(BREATH_S)

    def lock(self, path: str) -> File | None:
        """Lock the file for this process; None if another process holds the lock."""
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return None
        return _OsFile(fd, path)


def is_no_room(error: OSError) -> bool:
    """True if the disk or the user's quota is full."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def file_size(files: FileSystem, path: str) -> int:
    file = files.open(path)
    try:
        return file.size()
    finally:
        file.close()


def read_whole(files: FileSystem, path: str) -> bytes:
    """Content of a small file; empty if it does not exist or is a folder."""
    try:
        file = files.open(path)
    except (FileNotFoundError, IsADirectoryError):
        return b""
    try:
        return file.read(0, file.size())
    finally:
        file.close()


def write_atomically(files: FileSystem, path: str, content: bytes) -> None:
    """Replace a small file; a crash leaves the old content or the new, never a mixture."""
    temporary = path + ".tmp"
    try:
        file = files.open(temporary, create=True)
    except IsADirectoryError:
        set_aside(files, temporary)
        file = files.open(temporary, create=True)
    try:
        file.truncate(0)
        file.write(0, [content])
        file.sync()
    except OSError:
        # An incomplete file must not keep the little space that is left.
        with contextlib.suppress(OSError):
            files.remove(temporary)
        raise
    finally:
        file.close()
    try:
        files.rename(temporary, path)
    except IsADirectoryError:
        set_aside(files, path)
        files.rename(temporary, path)
    files.sync_dir(os.path.dirname(path))


def set_aside(files: FileSystem, path: str) -> str:
    """Rename a folder that has the name of a file; returns the new name."""
    number = 1
    while files.exists(aside := f"{path}.aside-{number}"):
        number += 1
    files.rename(path, aside)
    return aside


def remove_file(files: FileSystem, path: str) -> None:
    """Remove a file; a folder in its place is not GoQueue's and is renamed instead."""
    try:
        files.remove(path)
    except IsADirectoryError:
        set_aside(files, path)


def remove_tree(files: FileSystem, path: str) -> None:
    """Remove a folder with everything in it."""
    for name in files.list(path):
        try:
            files.remove(f"{path}/{name}")
        except IsADirectoryError:
            remove_tree(files, f"{path}/{name}")
    if files.exists(path):
        files.remove_dir(path)
