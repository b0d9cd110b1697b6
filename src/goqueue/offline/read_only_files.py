"""Read-only file system: tools that only read a folder cannot damage it."""

import errno
import fcntl
import os
from collections.abc import Sequence
from typing import NoReturn

from goqueue.adapters.disk.files import Buffer, File, OsFileSystem

__all__ = ["ReadOnlyFileSystem", "is_locked"]


def _refuse(path: str) -> NoReturn:
    raise PermissionError(errno.EROFS, "opened for reading only", path)


class _ReadOnlyFile:
    def __init__(self, fd: int, path: str) -> None:
        self._fd = fd
        self._path = path

    def size(self) -> int:
        return os.fstat(self._fd).st_size

    def read(self, position: int, length: int) -> bytes:
        parts = []
        while length > 0 and (data := os.pread(self._fd, length, position)):
            parts.append(data)
            position += len(data)
            length -= len(data)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def write(self, position: int, buffers: Sequence[Buffer]) -> None:
        _refuse(self._path)

    def allocate(self, length: int) -> None:
        _refuse(self._path)

    def truncate(self, length: int) -> None:
        _refuse(self._path)

    def write_back(self, position: int, length: int) -> None:
        _refuse(self._path)

    begin_write_back = write_back

    def sync(self) -> None:
        _refuse(self._path)

    def close(self) -> None:
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            os.close(fd)

    __del__ = close


class ReadOnlyFileSystem(OsFileSystem):
    """File system that opens files for reading, also on a read-only mount, and refuses all changes."""

    def open(self, path: str, *, create: bool = False) -> File:
        if create:
            _refuse(path)
        return _ReadOnlyFile(os.open(path, os.O_RDONLY | os.O_CLOEXEC), path)

    def make_dirs(self, path: str) -> None:
        _refuse(path)

    def rename(self, source: str, target: str) -> None:
        _refuse(source)

    def remove(self, path: str) -> None:
        _refuse(path)

    def remove_dir(self, path: str) -> None:
        _refuse(path)

    def lock(self, path: str) -> File | None:
        """Take the lock, creating its file if permitted; a folder that cannot be written to needs no lock."""
        fd = -1
        for flags in (os.O_RDONLY | os.O_CREAT, os.O_RDONLY):
            try:
                fd = os.open(path, flags | os.O_CLOEXEC, 0o640)
                break
            except OSError as error:
                if error.errno not in (errno.EROFS, errno.EACCES, errno.ENOENT):
                    raise
        file = _ReadOnlyFile(fd, path)
        if fd >= 0:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.close()
                return None
        return file


def is_locked(path: str) -> bool:
    """True if another process holds this lock file. The test takes the lock briefly; a start just then may fail."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
    return False
