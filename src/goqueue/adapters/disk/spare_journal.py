"""Spare journal files: files whose entries the checkpoint covers, free for reuse and not read at a start."""

from collections.abc import Collection
from contextlib import suppress

from goqueue.adapters.disk.files import FileSystem
from goqueue.adapters.disk.journal import SPARE_FILES, SPARE_PREFIX, SUFFIX, journal_path, journal_sequence

__all__ = ["free_journal", "last_sequence"]


def free_journal(files: FileSystem, folder: str) -> None:
    """Rename all files to spare files and remove surplus ones; one that cannot be renamed is read at the next start."""
    names = files.list(folder)
    spares = sum(name.startswith(SPARE_PREFIX) for name in names)
    for sequence in filter(None, map(journal_sequence, names)):
        with suppress(OSError):
            if spares < SPARE_FILES:
                files.rename(journal_path(folder, sequence), f"{folder}/{SPARE_PREFIX}{sequence:020d}")
                spares += 1
            else:
                files.remove(journal_path(folder, sequence))


def last_sequence(names: Collection[str]) -> int:
    """Highest sequence number of all files, spare ones included; each number is used once."""
    spares = (f"{name.removeprefix(SPARE_PREFIX)}{SUFFIX}" for name in names if name.startswith(SPARE_PREFIX))
    return max(filter(None, map(journal_sequence, (*names, *spares))), default=0)
