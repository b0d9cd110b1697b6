"""Overlay file system: changes stay in memory, so a folder can be recovered without changing a byte of it."""

import errno
import os
from collections.abc import Sequence

from goqueue.adapters.disk.files import Buffer, File, MissingFile, Space
from goqueue.offline.read_only_files import ReadOnlyFileSystem

__all__ = ["OverlayFileSystem"]


class _Changed:
    """Content of a file: the bytes on disk, and the writes over them in memory."""

    def __init__(self, base: File | None) -> None:
        self.base = base
        self.size = self.base_size = 0 if base is None else base.size()
        self._written: list[tuple[int, bytes]] = []

    def read(self, position: int, length: int) -> bytes:
        length = max(0, min(length, self.size - position))
        from_base = max(0, min(length, self.base_size - position))
        data = b"" if self.base is None or not from_base else self.base.read(position, from_base)
        if not self._written and len(data) == length:
            return data
        whole = bytearray(data.ljust(length, b"\0"))
        for start, written in self._written:
            first, end = max(start, position), min(start + len(written), position + length)
            if first < end:
                whole[first - position : end - position] = written[first - start : end - start]
        return bytes(whole)

    def write(self, position: int, data: bytes) -> None:
        """Write bytes; those that are there already take no memory, and recovery writes mostly such bytes."""
        if position + len(data) <= self.size and self.read(position, len(data)) == data:
            return
        self._written.append((position, data))
        self.size = max(self.size, position + len(data))

    def resize(self, length: int) -> None:
        self.base_size = min(self.base_size, length)
        self._written = [(start, data[: length - start]) for start, data in self._written if start < length]
        self.size = length


class _OverlayFile:
    def __init__(self, content: _Changed) -> None:
        self._content = content

    def size(self) -> int:
        return self._content.size

    def read(self, position: int, length: int) -> bytes:
        return self._content.read(position, length)

    def write(self, position: int, buffers: Sequence[Buffer]) -> None:
        self._content.write(position, b"".join(buffers))

    def allocate(self, length: int) -> None:
        self._content.size = max(self._content.size, length)

    def truncate(self, length: int) -> None:
        self._content.resize(length)

    def write_back(self, position: int, length: int) -> None:
        pass

    begin_write_back = write_back

    def sync(self) -> None:
        pass

    def close(self) -> None:
        pass


class OverlayFileSystem:
    """See `goqueue.adapters.disk.files.FileSystem`. A file that was opened once keeps its state."""

    def __init__(self) -> None:
        self._disk = ReadOnlyFileSystem()
        self._files: dict[str, _Changed] = {}
        self._folders: set[str] = set()
        self._removed: set[str] = set()

    def open(self, path: str, *, create: bool = False) -> File:
        known = self._files.get(path)
        if known is None:
            known = self._files[path] = _Changed(self._base(path, create=create))
            self._removed.discard(path)
        return _OverlayFile(known)

    def _base(self, path: str, *, create: bool) -> File | None:
        if path not in self._removed and self._disk.exists(path):
            return self._disk.open(path)
        if not create:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return None

    def exists(self, path: str) -> bool:
        if path in self._files or path in self._folders:
            return True
        return path not in self._removed and self._disk.exists(path)

    def list(self, path: str) -> list[str]:
        names = {name for name in self._disk.list(path) if f"{path}/{name}" not in self._removed}
        names.update(
            os.path.basename(one) for one in (*self._files, *self._folders) if os.path.dirname(one) == path.rstrip("/")
        )
        return sorted(names)

    def make_dirs(self, path: str) -> None:
        while path and not self.exists(path):
            self._folders.add(path)
            self._removed.discard(path)
            path = os.path.dirname(path)

    def rename(self, source: str, target: str) -> None:
        self.open(source)
        self._files[target] = self._files.pop(source)
        self._removed.add(source)
        self._removed.discard(target)

    def remove(self, path: str) -> None:
        if not self.exists(path):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        self._files.pop(path, None)
        self._removed.add(path)

    def remove_dir(self, path: str) -> None:
        self._folders.discard(path)
        self._removed.add(path)

    def sync_dir(self, path: str) -> None:
        pass

    def space(self, path: str) -> Space:
        return self._disk.space(path)

    def lock(self, path: str) -> File | None:
        """Always succeeds: nothing on disk changes, so other processes need not be locked out."""
        return MissingFile()

    def breathe(self) -> None:
        pass
