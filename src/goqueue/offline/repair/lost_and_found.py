"""Lost and found of a data folder: the bytes that a repair cut out, and a report of their origin."""

import msgspec

from goqueue.adapters.disk.files import write_atomically
from goqueue.adapters.disk.walk import WINDOW_BYTES
from goqueue.offline.data_folder import LOST_AND_FOUND, DataFolder

__all__ = ["Cut", "LostAndFound"]


class Cut(msgspec.Struct, frozen=True):
    """A range cut out of a file; the offsets are bounds of the records lost, None if it held no records."""

    file: str
    position: int
    length: int
    first_offset: int | None
    last_offset: int | None
    reason: str
    kept_as: str | None
    """Path of the saved bytes, relative to the data folder; None if there were none."""


class LostAndFound:
    """Subfolder of `lost+found` for one repair; created with the first piece."""

    def __init__(self, folder: DataFolder, label: str) -> None:
        self._folder = folder
        self.path = f"{folder.path}/{LOST_AND_FOUND}/{label}"
        self.cuts: list[Cut] = []

    def keep(
        self,
        path: str,
        position: int,
        length: int,
        reason: str,
        *,
        first_offset: int | None = None,
        last_offset: int | None = None,
    ) -> None:
        """Copy a range of a file and sync the copy; bytes beyond the end of the file are left out."""
        name = self._folder.relative(path)
        kept = f"{self.path}/{name.replace('/', '_')}@{position}"
        copied = self._copy(path, kept, position, length)
        where = self._folder.relative(kept) if copied else None
        self.cuts.append(Cut(name, position, length, first_offset, last_offset, reason, where))

    def _copy(self, path: str, kept: str, position: int, length: int) -> int:
        files = self._folder.files
        if not files.exists(path):
            return 0
        source = files.open(path)
        try:
            length = max(0, min(length, source.size() - position))
            if not length:
                return 0
            files.make_dirs(self.path)
            target = files.open(kept, create=True)
            try:
                target.truncate(0)
                for at in range(0, length, WINDOW_BYTES):
                    target.write(at, [source.read(position + at, min(WINDOW_BYTES, length - at))])
                target.sync()
            finally:
                target.close()
        finally:
            source.close()
        return length

    def write_report(self) -> None:
        """Write and sync the report; to be called before the original files are replaced."""
        if self.cuts:
            self._folder.files.make_dirs(self.path)
            report = msgspec.json.format(msgspec.json.encode({"cuts": self.cuts}), indent=2)
            write_atomically(self._folder.files, f"{self.path}/report.json", report)
