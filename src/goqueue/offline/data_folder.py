"""Data folder: the paths of its files, its lock, and the check that a folder is one."""

import re
from collections.abc import Iterator

from goqueue.adapters.disk.checkpoint import CHECKPOINT, COPY_SUFFIX, SNAPSHOTS
from goqueue.adapters.disk.files import File, FileSystem
from goqueue.adapters.disk.journal import journal_sequence
from goqueue.adapters.disk.segment import segment_base
from goqueue.errors import DataFolderInUse, InvalidRequest
from goqueue.model.log import LogId

__all__ = ["LOST_AND_FOUND", "DataFolder", "is_partition"]

LOST_AND_FOUND = "lost+found"

_SEGMENT_FILE = re.compile(r"logs/([^/]+)/(\d+)/(\d{20})\.\w+", re.ASCII)


def is_partition(name: str) -> bool:
    return name.isdecimal() and name.isascii() and name == str(int(name))


class DataFolder:
    """The data folder of a broker on a file system."""

    def __init__(self, files: FileSystem, path: str) -> None:
        self.files = files
        self.path = path.rstrip("/") or "/"
        self.journal = f"{self.path}/journal"
        self.snapshots = f"{self.path}/{SNAPSHOTS}"
        self.logs = f"{self.path}/logs"
        self.lock_path = f"{self.path}/lock"
        self.checkpoint_copies = (f"{self.path}/{CHECKPOINT}", f"{self.path}/{CHECKPOINT}{COPY_SUFFIX}")

    def check(self) -> None:
        """Reject a path that is not a data folder, before missing files are taken for damage."""
        if not self.files.exists(self.path):
            raise InvalidRequest(f"{self.path} does not exist", hint="give the folder that the broker has as --data")
        names = self.files.list(self.path)
        if not names or names == ["lock"]:
            raise InvalidRequest(
                f"{self.path} is not a data folder of GoQueue: nothing is in it",
                hint="the broker makes its files there at its first start",
            )
        if not self._looks_like_one():
            raise InvalidRequest(
                f"{self.path} is not a data folder of GoQueue: it has no checkpoint, journal or logs",
                hint="give the folder that the broker has as --data",
            )

    def _looks_like_one(self) -> bool:
        if any(self.files.exists(path) for path in self.checkpoint_copies):
            return True
        if any(journal_sequence(name) is not None for name in self.files.list(self.journal)):
            return True
        return any(self.segment_bases(log) for log in self.log_folders())

    def hold(self) -> File:
        """Lock the folder until the returned file is closed."""
        lock = self.files.lock(self.lock_path)
        if lock is None:
            raise DataFolderInUse(
                f"another process has the data folder {self.path} open",
                hint="stop the broker first; `goqueue storage inspect` and `dump` also work while it runs",
            )
        return lock

    def relative(self, path: str) -> str:
        return path.removeprefix(self.path + "/")

    # Logs.

    def log_folder(self, log: LogId) -> str:
        return f"{self.logs}/{log.topic}/{log.partition}"

    def log_folders(self) -> Iterator[LogId]:
        """Logs that have a folder, even an empty one."""
        for topic in self.files.list(self.logs):
            names = self.files.list(f"{self.logs}/{topic}")
            for partition in sorted(int(name) for name in names if is_partition(name)):
                yield LogId(topic, partition)

    def stem(self, log: LogId, base_offset: int) -> str:
        return f"{self.log_folder(log)}/{base_offset:020d}"

    def segment_bases(self, log: LogId) -> list[int]:
        """Base offsets of the existing segment files, in order."""
        bases = (segment_base(name) for name in self.files.list(self.log_folder(log)))
        return sorted(base for base in bases if base is not None)

    def segment_of(self, name: str) -> tuple[LogId, int] | None:
        """Log and base offset of the segment that a relative file name belongs to."""
        match = _SEGMENT_FILE.fullmatch(name)
        return (LogId(match[1], int(match[2])), int(match[3])) if match else None

    # Journal.

    def journal_sequences(self) -> list[int]:
        sequences = (journal_sequence(name) for name in self.files.list(self.journal))
        return sorted(sequence for sequence in sequences if sequence is not None)
