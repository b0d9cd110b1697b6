"""Journal files that hold nothing the checkpoint has not: free to be used again, and none for a start to look into."""

from collections.abc import Collection
from contextlib import suppress

from goqueue.adapters.disk.files import FileSystem
from goqueue.adapters.disk.journal import SPARE_FILES, SPARE_PREFIX, SUFFIX, journal_path, journal_sequence

__all__ = ["free_journal", "last_sequence"]


def free_journal(files: FileSystem, folder: str) -> None:
    """Every file becomes a spare one; what is too many goes. One that the disk keeps does no harm: it is read again."""
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
    """The highest number of a file, also of a free one: each is given once, as it tells the uses of a file apart."""
    spares = (f"{name.removeprefix(SPARE_PREFIX)}{SUFFIX}" for name in names if name.startswith(SPARE_PREFIX))
    return max(filter(None, map(journal_sequence, (*names, *spares))), default=0)
