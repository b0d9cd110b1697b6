"""The node's journal: every change goes through it, and one sync makes all waiting changes durable.

Files have a fixed size and are used again after a checkpoint: overwriting blocks that are already there makes a
sync about half as dear as extending a file. The next file is made ready ahead, in another thread: a new name has to
be synced before an entry in it counts, and no write should wait for that.

A restart appends to the file in which the journal ended, so it needs no room on the disk.
"""

import errno
import os
import threading
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from goqueue.adapters.disk.files import Buffer, File, FileSystem, is_no_room
from goqueue.adapters.disk.journal_format import HEAD_SIZE, encode_frame, file_head
from goqueue.engine.ports import Entropy
from goqueue.model.ids import Lsn

__all__ = ["JOURNAL_FILE_BYTES", "Journal", "JournalEnd", "JournalFile", "journal_path", "journal_sequence"]

JOURNAL_FILE_BYTES = 32 * 1024 * 1024
SPARE_FILES = 4
SUFFIX = ".journal"
SPARE_PREFIX = "spare-"


def journal_path(folder: str, sequence: int) -> str:
    return f"{folder}/{sequence:020d}{SUFFIX}"


def journal_sequence(name: str) -> int | None:
    stem = name.removesuffix(SUFFIX)
    return int(stem) if name.endswith(SUFFIX) and len(stem) == 20 and stem.isdecimal() else None


class JournalFile(NamedTuple):
    """A file that takes no more entries: it can be used again once everything up to `last_lsn` is elsewhere."""

    sequence: int
    last_lsn: int
    used_bytes: int


class JournalEnd(NamedTuple):
    """Where the next entry belongs, as recovery has found it."""

    sequence: int
    nonce: int
    position: int


class _Fresh(NamedTuple):
    """A file without entries whose name is durable."""

    file: File
    sequence: int
    nonce: int


class Journal:
    """Appends entries. One owner writes; `sync` and `prepare` may run in other threads meanwhile."""

    def __init__(self, files: FileSystem, folder: str, entropy: Entropy, file_bytes: int) -> None:
        self._files = files
        self._folder = folder
        self._entropy = entropy
        self._file_bytes = file_bytes
        self._full: list[JournalFile] = []
        self._spare: list[str] = []
        self._next: _Fresh | None = None
        self._names = threading.Lock()
        """Whoever holds it gives files their names: `_spare` and `_next` are theirs."""
        self._sequence = 0
        """Of the current file."""
        self._last_sequence = 0
        """The highest that was given to a file."""
        self._nonce = 0
        self._capacity = file_bytes
        """Size of the current file."""
        self._position = file_bytes
        self._begun_position = file_bytes
        """Up to which the disk was told to begin with the current file."""
        self._staged: list[Buffer] = []
        self._staged_bytes = 0
        self._staged_lsn = Lsn(0)
        self.written_lsn = Lsn(0)
        self.durable_lsn = Lsn(0)
        # Only `sync` removes from the left and only the owner adds at the right, so no lock is needed.
        self._unsynced: deque[File] = deque()

    @property
    def live_bytes(self) -> int:
        """Bytes that recovery would have to read."""
        used = sum(file.used_bytes for file in self._full) if self._full else 0
        return used + (self._position - HEAD_SIZE if self._unsynced else 0)

    def start(
        self,
        last_lsn: int,
        full: list[JournalFile],
        last_sequence: int,
        *,
        end: JournalEnd | None = None,
        unused: Iterable[int] = (),
    ) -> None:
        """Go on after recovery: at `end`, or in a fresh file. `unused` files hold no entry.

        On a full disk there may be no fresh file: then every write is refused until there is room for one.
        """
        self._full = [file for file in full if end is None or file.sequence != end.sequence]
        self._last_sequence = last_sequence
        self._adopt_spares()
        for sequence in unused:
            file = JournalFile(sequence, last_lsn, 0)
            if not self._recycle(file):
                self._full.append(file)
        self.written_lsn = self.durable_lsn = self._staged_lsn = Lsn(last_lsn)
        if end is not None:
            self._resume(end)
            return
        try:
            self._rotate(self._file_bytes)
        except OSError as error:
            if not is_no_room(error):
                raise

    def _resume(self, end: JournalEnd) -> None:
        """Append behind the last entry: everything before it is durable, and nothing behind it counts."""
        file = self._files.open(journal_path(self._folder, end.sequence))
        self._sequence, self._nonce = end.sequence, end.nonce
        self._capacity = file.size()
        self._position = self._begun_position = end.position
        self._unsynced.append(file)

    # Writing.

    def make_room(self, length: int, kept: int = 0) -> None:
        """Have room for entries of that many bytes in the current file, so that nothing fails half-way for space.

        `kept` more bytes are left free, for entries that matter more on a full disk.
        """
        if self._position + length + kept > self._capacity:
            self._rotate(max(self._file_bytes, HEAD_SIZE + length + kept))

    def stage(self, parts: list[Buffer], operations: int) -> None:
        """Take an entry for the next `flush`."""
        lsn = Lsn(self._staged_lsn + 1)
        frame = encode_frame(parts, operations, self._nonce, lsn, self.durable_lsn)
        for part in frame:
            self._staged.append(part)
            self._staged_bytes += len(part)
        self._staged_lsn = lsn

    def flush(self) -> None:
        """Write what is staged to the page cache, in one call."""
        staged, self._staged = self._staged, []
        size, self._staged_bytes = self._staged_bytes, 0
        if staged:
            self._unsynced[-1].write(self._position, staged)
            self._position += size
            self.written_lsn = self._staged_lsn

    def begin_sync(self) -> None:
        """Have the disk begin with what is written, for the owner, who does something else before it is synced."""
        begun, self._begun_position = self._begun_position, self._position
        if begun < self._position:
            self._unsynced[-1].begin_write_back(begun, self._position - begun)

    def sync(self) -> Lsn:
        """Make everything durable that was written before the call; returns up to which LSN that is."""
        lsn = self.written_lsn
        files = tuple(self._unsynced)
        for file in files:
            file.sync()
        for _ in files[:-1]:
            self._unsynced.popleft()
        self.durable_lsn = max(self.durable_lsn, lsn)
        return lsn

    def sync_now(self) -> None:
        """As `sync`, for the owner, who may not take files from the queue while the other thread does."""
        lsn = self.written_lsn
        for file in tuple(self._unsynced):
            file.sync()
        self.durable_lsn = max(self.durable_lsn, lsn)

    def prepare(self) -> None:
        """Have the next file ready before it is needed."""
        with self._names:
            if self._next is None and self._position > self._capacity // 4:
                self._next = self._make_file()

    def give_back_spares(self) -> None:
        """Remove the files kept for later, but for one; what is ready to be used next counts as that one."""
        with self._names:
            kept = 0 if self._next is not None else 1
            while len(self._spare) > kept:
                self._files.remove(self._spare[-1])
                self._spare.pop()

    def _rotate(self, file_bytes: int) -> None:
        with self._names:
            # Taken only when nothing can fail any more: a file that is named must not be named again.
            self._next = self._next or self._make_file()
            file, sequence, nonce = self._next
            if file_bytes > self._file_bytes:
                self._allocate(file, file_bytes, journal_path(self._folder, sequence))
            self._next = None
            if self._unsynced:
                self._full.append(JournalFile(self._sequence, self.written_lsn, self._position - HEAD_SIZE))
            self._sequence, self._nonce = sequence, nonce
            self._capacity = max(file_bytes, self._file_bytes)
            self._position = self._begun_position = HEAD_SIZE
            self._unsynced.append(file)

    def _make_file(self) -> _Fresh:
        sequence = self._last_sequence + 1
        path = journal_path(self._folder, sequence)
        spare = self._spare[-1] if self._spare else None
        if spare is not None:
            self._files.rename(spare, path)
            self._spare.pop()
        try:
            fresh = self._begin_file(path, sequence)
        except OSError:
            with suppress(OSError):
                if spare is None:
                    # It would keep what little room there is.
                    self._files.remove(path)
                else:
                    self._files.rename(path, spare)
                    self._spare.append(spare)
            raise
        self._last_sequence = sequence
        return fresh

    def _begin_file(self, path: str, sequence: int) -> _Fresh:
        file = self._files.open(path, create=True)
        self._allocate(file, self._file_bytes, path)
        nonce = int.from_bytes(self._entropy.token_bytes(8), "big")
        file.write(0, [file_head(sequence, nonce)])
        self._files.sync_dir(self._folder)
        return _Fresh(file, sequence, nonce)

    def _allocate(self, file: File, length: int, path: str) -> None:
        """Have blocks for the file. Not even tried without the room: others would find the disk full meanwhile."""
        if length - file.size() > self._files.space(self._folder).free:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        file.allocate(length)

    # Using files again.

    def release(self, lsn: int) -> None:
        """Everything up to `lsn` is safe elsewhere: files that hold nothing newer are free."""
        with self._names:
            self._full = [file for file in self._full if file.last_lsn > lsn or not self._recycle(file)]

    def _recycle(self, file: JournalFile) -> bool:
        """False when the disk refuses: the file then stays, to no harm, until the next checkpoint."""
        path = journal_path(self._folder, file.sequence)
        try:
            if len(self._spare) < SPARE_FILES:
                spare = f"{self._folder}/{SPARE_PREFIX}{file.sequence:020d}"
                self._files.rename(path, spare)
                self._spare.append(spare)
            else:
                self._files.remove(path)
        except OSError:
            return False
        return True

    def _adopt_spares(self) -> None:
        """Use files that an earlier run left free; those too many are removed."""
        names = [name for name in self._files.list(self._folder) if name.startswith(SPARE_PREFIX)]
        paths = [f"{self._folder}/{name}" for name in names]
        self._spare = paths[:SPARE_FILES]
        for path in paths[SPARE_FILES:]:
            self._files.remove(path)

    def close(self) -> None:
        while self._unsynced:
            self._unsynced.popleft().close()
        if self._next is not None:
            self._next.file.close()
