"""Journal of the node: every change is written to it, and one sync makes all waiting changes durable.

Files have a fixed size and are reused after a checkpoint: a sync of overwritten blocks takes about half the time of a
sync of an extended file. The next file is prepared in another thread, because a new name must be synced before an
entry in the file counts, and no write should wait for that.

A restart appends to the last file of the journal, so it needs no disk space.
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
    """Full journal file; it can be reused once a checkpoint covers `last_lsn`."""

    sequence: int
    last_lsn: int
    used_bytes: int


class JournalEnd(NamedTuple):
    """End of the journal as found by recovery: the position of the next entry."""

    sequence: int
    nonce: int
    position: int


class _Fresh(NamedTuple):
    """Empty journal file with a durable name."""

    file: File
    sequence: int
    nonce: int


class Journal:
    """Journal writer. One owner writes; `sync` and `prepare` may run in other threads meanwhile."""

    def __init__(self, files: FileSystem, folder: str, entropy: Entropy, file_bytes: int) -> None:
        self._files = files
        self._folder = folder
        self._entropy = entropy
        self._file_bytes = file_bytes
        self._full: list[JournalFile] = []
        self._spare: list[str] = []
        self._next: _Fresh | None = None
        self._names = threading.Lock()
        """Lock for naming files; protects `_spare` and `_next`."""
        self._sequence = 0
        """Nonce of the current file."""
        self._last_sequence = 0
        """Highest sequence number given to a file."""
        self._nonce = 0
        self._capacity = file_bytes
        """Size of the current file."""
        self._position = file_bytes
        self._begun_position = file_bytes
        """Position in the current file up to which write-back was started."""
        self._staged: list[Buffer] = []
        self._staged_bytes = 0
        self._staged_lsn = Lsn(0)
        self.written_lsn = Lsn(0)
        self.durable_lsn = Lsn(0)
        # Only `sync` removes from the left and only the owner appends at the right, so no lock is needed.
        self._unsynced: deque[File] = deque()

    @property
    def live_bytes(self) -> int:
        """Bytes that recovery would read."""
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
        """Continue after recovery: at `end`, or in a new file. `unused` files have no entry.

        On a full disk there may be no new file: then writes are refused until there is space for one.
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
        """Append after the last entry: everything before it is durable, and everything after it is ignored."""
        file = self._files.open(journal_path(self._folder, end.sequence))
        self._sequence, self._nonce = end.sequence, end.nonce
        self._capacity = file.size()
        self._position = self._begun_position = end.position
        self._unsynced.append(file)

    # Writing.

    def make_room(self, length: int, kept: int = 0) -> None:
        """Ensure space for entries of `length` bytes in the current file, so that no write fails half-way.

        `kept` more bytes stay free, for entries that are more important on a full disk.
        """
        if self._position + length + kept > self._capacity:
            self._rotate(max(self._file_bytes, HEAD_SIZE + length + kept))

    def stage(self, parts: list[Buffer], operations: int) -> None:
        """Add an entry to the next `flush`."""
        lsn = Lsn(self._staged_lsn + 1)
        frame = encode_frame(parts, operations, self._nonce, lsn, self.durable_lsn)
        for part in frame:
            self._staged.append(part)
            self._staged_bytes += len(part)
        self._staged_lsn = lsn

    def flush(self) -> None:
        """Write the staged entries to the page cache, in one call."""
        staged, self._staged = self._staged, []
        size, self._staged_bytes = self._staged_bytes, 0
        if staged:
            self._unsynced[-1].write(self._position, staged)
            self._position += size
            self.written_lsn = self._staged_lsn

    def begin_sync(self) -> None:
        """Start write-back of the written bytes; called by the owner if a sync will follow later."""
        begun, self._begun_position = self._begun_position, self._position
        if begun < self._position:
            self._unsynced[-1].begin_write_back(begun, self._position - begun)

    def sync(self) -> Lsn:
        """Make all earlier writes durable; returns the last durable LSN."""
        lsn = self.written_lsn
        files = tuple(self._unsynced)
        for file in files:
            file.sync()
        for _ in files[:-1]:
            self._unsynced.popleft()
        self.durable_lsn = max(self.durable_lsn, lsn)
        return lsn

    def sync_now(self) -> None:
        """`sync` for the owner, which must not take files from the queue while another thread does."""
        lsn = self.written_lsn
        for file in tuple(self._unsynced):
            file.sync()
        self.durable_lsn = max(self.durable_lsn, lsn)

    def prepare(self) -> None:
        """Prepare the next file before it is needed."""
        with self._names:
            if self._next is None and self._position > self._capacity // 4:
                self._next = self._make_file()

    def give_back_spares(self) -> None:
        """Remove all spare files but one; a prepared next file counts as that one."""
        with self._names:
            kept = 0 if self._next is not None else 1
            while len(self._spare) > kept:
                self._files.remove(self._spare[-1])
                self._spare.pop()

    def _rotate(self, file_bytes: int) -> None:
        with self._names:
            # `_next` is cleared only when no step can fail any more: a file must not be named twice.
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
                    # The file would keep the little space that is left.
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
        """Allocate blocks for the file; not tried without enough space, as other writers would find the disk full."""
        if length - file.size() > self._files.space(self._folder).free:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        file.allocate(length)

    # Reuse of files.

    def release(self, lsn: int) -> None:
        """Free the files without entries after `lsn`, after a checkpoint that covers them."""
        with self._names:
            self._full = [file for file in self._full if file.last_lsn > lsn or not self._recycle(file)]

    def _recycle(self, file: JournalFile) -> bool:
        """Reuse or remove a file; False if the disk refuses: the file then stays until the next checkpoint."""
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
        """Adopt the spare files of an earlier run; surplus files are removed."""
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
