"""A file system for one who holds the lock of a folder already and now opens a store on it."""

from goqueue.adapters.disk.files import File, FileSystem, MissingFile, Space

__all__ = ["HeldFileSystem"]


class HeldFileSystem:
    """Passes everything on, except that taking the lock succeeds and letting go of it does nothing."""

    def __init__(self, files: FileSystem) -> None:
        self._files = files

    def open(self, path: str, *, create: bool = False) -> File:
        return self._files.open(path, create=create)

    def exists(self, path: str) -> bool:
        return self._files.exists(path)

    def list(self, path: str) -> list[str]:
        return self._files.list(path)

    def make_dirs(self, path: str) -> None:
        self._files.make_dirs(path)

    def rename(self, source: str, target: str) -> None:
        self._files.rename(source, target)

    def remove(self, path: str) -> None:
        self._files.remove(path)

    def remove_dir(self, path: str) -> None:
        self._files.remove_dir(path)

    def sync_dir(self, path: str) -> None:
        self._files.sync_dir(path)

    def space(self, path: str) -> Space:
        return self._files.space(path)

    def lock(self, path: str) -> File | None:
        return MissingFile()

    def breathe(self) -> None:
        self._files.breathe()
