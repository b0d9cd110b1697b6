"""Segment of a partition log: a `.log` file of records with an offset index and a time index.

The file is written only at its end. Readers skip damaged ranges and report them.
"""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress

import msgspec

from goqueue import codec
from goqueue.adapters.disk.files import Buffer, DiscardedFile, File, FileSystem, MissingFile, remove_file, set_aside
from goqueue.adapters.disk.index import INDEX_INTERVAL, DamagedIndex
from goqueue.adapters.disk.segment_index import OFFSETS_SUFFIX, TIMES_SUFFIX, SegmentIndex
from goqueue.adapters.disk.walk import UNREADABLE, WINDOW_BYTES, Gap, Run, read_around, walk
from goqueue.model.log import Chunk, Damage, SegmentInfo

__all__ = ["LOG_SUFFIX", "SIDE_SUFFIXES", "OpenSegments", "Segment", "UnreadableRange", "segment_base"]

LOG_SUFFIX = ".log"
SIDE_SUFFIXES = (OFFSETS_SUFFIX, TIMES_SUFFIX)
"""Suffixes of the files that can be rebuilt from the `.log`."""

TIME_WINDOW_BYTES = 16 * 1024
SMALL_WINDOW_BYTES = 128 * 1024
FAILED_READS = 3
"""Failed reads of a range before it is skipped: the disk may recover."""
REMEMBERED_RANGES = 1000


class UnreadableRange(Exception):
    """Read error of the disk in a range that must not be skipped yet, or is too large to skip."""

    def __init__(self, damage: Damage) -> None:
        super().__init__(damage.reason)
        self.damage = damage


def segment_base(name: str) -> int | None:
    """Base offset in a file name, or None if it is not the name of a segment file."""
    stem, suffix = os.path.splitext(name)
    return int(stem) if suffix == LOG_SUFFIX and len(stem) == 20 and stem.isdecimal() else None


class OpenSegments:
    """Limit of open files and loaded indexes: beyond it, the segment opened longest ago is closed.

    Sealed segments have a limit of their own, because far fewer of them than of growing segments are needed.
    """

    def __init__(self, limit: int, report: Callable[[str, str], None], growing_limit: int = 1 << 30) -> None:
        self._limit = limit
        self._growing_limit = growing_limit
        self.report = report
        """Callback for an unusable index file: path and reason."""
        self._opened: deque[Segment] = deque()
        self._growing: dict[Segment, None] = {}
        """Open sealed segments, the one opened longest ago first."""
        self._changing = threading.Lock()
        """Lock, because reader threads open segments as well."""

    @property
    def growing_count(self) -> int:
        return len(self._growing)

    def add_growing(self, segment: "Segment") -> None:
        """Add a segment that is written to; readers may close only durable ones."""
        with self._changing:
            self._growing[segment] = None
        self._close_growing(Segment.rest)

    def drop_growing(self, segment: "Segment") -> None:
        """Remove a segment that is sealed or deleted."""
        with self._changing:
            self._growing.pop(segment, None)

    def make_room(self) -> None:
        """Sync and close the oldest growing segments beyond the limit; called by the writer."""
        self._close_growing(Segment.rest_durable)

    def _close_growing(self, rest: "Callable[[Segment], bool]") -> None:
        for _ in range(len(self._growing) - self._growing_limit):
            with self._changing:
                oldest = next(iter(self._growing), None)
                if oldest is None:
                    return
                del self._growing[oldest]
            if not rest(oldest):
                with self._changing:
                    self._growing[oldest] = None

    def add(self, segment: "Segment") -> None:
        self._opened.append(segment)
        self.trim()

    def trim(self) -> None:
        """Close sealed segments beyond the limit; an unsynced segment stays open until it is synced."""
        for _ in range(len(self._opened) - self._limit):
            oldest = self._opened.popleft()
            if oldest.unsynced:
                self._opened.append(oldest)
            else:
                oldest.let_go()


class _Opened:
    __slots__ = ("entries", "file")

    def __init__(self, file: File, entries: SegmentIndex) -> None:
        self.file = file
        self.entries = entries


class _End(msgspec.Struct, frozen=True):
    """Readable end of the file: its bytes in the page cache, and the next offset."""

    size: int
    next_offset: int


class Segment:
    """Segment for reads and, if it is the newest of its log, appends. The file is opened at first use."""

    def __init__(self, files: FileSystem, folder: str, info: SegmentInfo, open_segments: OpenSegments) -> None:
        self._files = files
        self._stem = f"{folder}/{info.base_offset:020d}"
        self.info = info
        self._opened: _Opened | None = None
        self._staged: list[Buffer] = []
        self._written = _End(info.size, info.next_offset)
        self._settled = info.size
        self._unsynced = False
        self._sealed = False
        self._forgotten = False
        self._side_files = threading.Lock()
        self._open_segments = open_segments
        self._failed_reads: dict[int, int] = {}
        """Number of failed reads of a range, by position."""
        self.lost: SegmentInfo | None = None
        """Former description of a file that recovery found missing and created again."""

    @property
    def path(self) -> str:
        return self._stem + LOG_SUFFIX

    @property
    def unsynced(self) -> bool:
        return self._unsynced

    # Writing: by the owner of the log only.

    def create(self, *, keep_content: bool = False) -> None:
        """Create the file, or empty one that a crash left, whose records were never confirmed."""
        for suffix in SIDE_SUFFIXES:
            if self._files.exists(self._stem + suffix):
                remove_file(self._files, self._stem + suffix)
        file = self._files.open(self.path, create=True)
        if not keep_content:
            file.truncate(0)
        self._opened = _Opened(file, SegmentIndex(self._files, self._stem))
        self._unsynced = True
        self._open_segments.add_growing(self)
        self._open_segments.make_room()

    def stage(self, records: Buffer, next_offset: int) -> tuple[int, int]:
        """Add stamped records to the next `flush`; returns the base offset and their position in the file."""
        info = self.info
        base_offset, size = info.base_offset, info.size
        opened = self._opened or self._reopened()
        newest = opened.entries.add(records, size, info.max_timestamp_ns)
        self._staged.append(records)
        self.info = SegmentInfo(base_offset, next_offset, size + len(records), newest)
        return base_offset, size

    def flush(self) -> None:
        """Write what is staged to the page cache."""
        if self._staged:
            self._unsynced = True
            opened = self._opened or self._reopened()
            opened.file.write(self._written.size, self._staged)
            self._staged = []
            self._written = _End(self.info.size, self.info.next_offset)

    def rewind(self, info: SegmentInfo) -> None:
        """Rewind to an earlier end; the next append overwrites the bytes beyond it."""
        self._staged = []
        self.info = info
        self._written = _End(info.size, info.next_offset)
        opened = self._reopened()
        file, index = opened.file, opened.entries
        try:
            index.cut(info.size)
        except DamagedIndex:
            self._rebuilt_index(file)

    def redo(self, position: int, records: Buffer, next_offset: int) -> None:
        """Write records of the journal at their position, as `stage` and `flush` did before the crash."""
        info = self.info
        if position + len(records) <= info.size:
            return
        if isinstance(self._reopened().file, MissingFile):
            # The file was lost, or removed because a later journal entry drops the segment.
            self.lost = info
            self._files.make_dirs(os.path.dirname(self._stem))
            self.create()
        if position > info.size:
            # The journal lost an entry to damage: the bytes in between are those that the log still has of it.
            self.info = SegmentInfo(info.base_offset, info.next_offset, position, info.max_timestamp_ns)
            self._written = _End(position, info.next_offset)
        # Bytes that are there already are written as well: after a failed sync, the page cache may have bytes marked
        # as clean that are not on the disk, and only writing them again brings them there.
        before = self.info
        self.stage(records, next_offset)
        try:
            self.flush()
        except OSError:
            self.rewind(before)
            raise

    def discard(self) -> None:
        """Remove the file and discard further writes: in recovery, for a segment that a later entry removes."""
        with suppress(FileNotFoundError):
            self._files.remove(self.path)
        self._opened = _Opened(DiscardedFile(), SegmentIndex(self._files, self._stem))

    def take_rest(self, next_offset: int) -> None:
        """Extend the segment by all bytes of the file beyond the known end, up to `next_offset`."""
        info = self.info
        file = self._reopened().file
        size = max(info.size, file.size())
        rest = walk(file, info.size, size, expected_offset=info.next_offset, next_offset=next_offset)
        newest = max((run.max_timestamp_ns for run in rest if isinstance(run, Run)), default=0)
        self.info = SegmentInfo(info.base_offset, next_offset, size, max(info.max_timestamp_ns, newest))
        self._written = _End(size, next_offset)
        self._unsynced = True
        self._opened = None

    def keep_rest(self) -> None:
        """Extend the segment by intact records right after the known end."""
        opened = self._reopened()
        file, index = opened.file, opened.entries
        for found in walk(file, self.info.size, file.size(), expected_offset=0, next_offset=1 << 62):
            info = self.info
            if not isinstance(found, Run) or found.first_offset != info.next_offset:
                return
            newest = index.add(found.records, info.size, info.max_timestamp_ns)
            self.info = SegmentInfo(info.base_offset, found.last_offset + 1, info.size + len(found.records), newest)
            self._written = _End(self.info.size, self.info.next_offset)
            self._unsynced = True

    def cut_file(self) -> int:
        """Remove bytes beyond the known end, left by unconfirmed writes; returns their number."""
        file = self._reopened().file
        surplus = file.size() - self.info.size
        if surplus > 0:
            file.truncate(self.info.size)
            self._unsynced = True
        return max(0, surplus)

    def seal(self) -> None:
        """End appends: from now on the file may be closed when no reader uses it."""
        self._sealed = True
        self._open_segments.drop_growing(self)
        if self._opened is not None:
            self._open_segments.add(self)

    def sync(self) -> None:
        """Make the records durable."""
        if self._unsynced and not self._forgotten:
            # A closed file is opened again: an append may have come between its last sync and its closing.
            opened = self._opened or self._open()
            # Cleared first: an append during the sync sets it again.
            self._unsynced = False
            opened.file.write_back(self._settled, self._written.size - self._settled)
            opened.file.sync()

    def settle(self, size: int) -> None:
        """Write the index of the first `size` bytes, which a checkpoint covers: no crash can remove them any more.

        An index of later bytes could be found after a crash with other records than its own. The index is not synced,
        because it can be rebuilt.
        """
        self._settled = size
        if self._opened is not None:
            self._persist(self._opened.entries)

    def _persist(self, entries: SegmentIndex) -> None:
        # If the index files are unusable, the next reader rebuilds the index.
        with self._side_files, suppress(OSError, DamagedIndex):
            if not self._forgotten:
                try:
                    entries.persist(self._settled, sealed=self._sealed)
                except IsADirectoryError as error:
                    aside = set_aside(self._files, error.filename)
                    self._open_segments.report(error.filename, f"it is a folder, which is {aside} now")
                    entries.persist(self._settled, sealed=self._sealed)

    def forget(self) -> None:
        """Prepare for the removal of the files: no index may be written any more."""
        with self._side_files:
            self._forgotten = True
        self._open_segments.drop_growing(self)
        self.let_go()

    # Reading: by any thread.

    def read(self, offset: int, max_bytes: int, limit_offset: int) -> Chunk:
        """Intact records from `offset` up to `limit_offset`, at least one if there is any."""
        opened = self._open()
        file, index = opened.file, opened.entries
        end = self._written
        expected, position = self._before(file, index, offset)
        damage: list[Damage] = []
        for found in self._walk(file, end, expected, position, limit_offset, max_bytes):
            if isinstance(found, Gap):
                if found.reason == UNREADABLE and found.last_offset >= offset:
                    self._note_unreadable(found)
                damage.append(self._damage(found))
            elif found.last_offset >= offset:
                return self._chunk(found, offset, damage)
        after = min(limit_offset, end.next_offset)
        return Chunk(b"", offset, max(offset, after), tuple(damage))

    def peek(self, offset: int, max_bytes: int) -> bytes:
        """As in the log: `max_bytes`, plus the bytes between two index entries."""
        opened = self._open()
        file, index = opened.file, opened.entries
        end = self._written
        _, position = self._before(file, index, offset)
        return read_around(file, position, min(max_bytes + INDEX_INTERVAL, end.size - position))

    def _note_unreadable(self, gap: Gap) -> None:
        """Raise if the gap may become readable; if the disk can read nothing at all, records are never skipped."""
        failed = self._failed_reads
        if len(failed) > REMEMBERED_RANGES:
            failed.clear()
        failed[gap.position] = failed.get(gap.position, 0) + 1
        if failed[gap.position] <= FAILED_READS or gap.length >= WINDOW_BYTES:
            raise UnreadableRange(self._damage(gap))

    def _before(self, file: File, index: SegmentIndex, offset: int) -> tuple[int, int]:
        """Offset and position of the record at `offset`, or of one shortly before it."""
        try:
            return index.before_offset(offset)
        except DamagedIndex:
            return self._rebuilt_index(file).before_offset(offset)

    def offset_at(self, timestamp_ns: int, limit_offset: int) -> int | None:
        """First offset whose record is not older than the given time, or None."""
        opened = self._open()
        file, index = opened.file, opened.entries
        end = self._written
        try:
            expected, position = index.before_time(timestamp_ns)
        except DamagedIndex:
            expected, position = self._rebuilt_index(file).before_time(timestamp_ns)
        for found in self._walk(file, end, expected, position, limit_offset, TIME_WINDOW_BYTES):
            if isinstance(found, Run) and found.max_timestamp_ns >= timestamp_ns:
                return codec.seek_time(found.records, timestamp_ns)[1]
        return None

    def walk(self) -> Iterator[Run | Gap]:
        """All records and damaged ranges, in small parts, because no other Python thread runs during a codec call."""
        base, end = self.info.base_offset, self._written
        return self._walk(self._open().file, end, base, 0, end.next_offset, SMALL_WINDOW_BYTES)

    def let_go(self) -> None:
        """Close the file once no reader uses it; the next use opens it again."""
        self._opened = None

    def rest(self) -> bool:
        """Close the file until its next use; False if there are bytes to write or to sync."""
        if self._staged or self._unsynced:
            return False
        self.let_go()
        return True

    def rest_durable(self) -> bool:
        """`rest` for the writer, after a write and a sync; False if these fail."""
        try:
            self.flush()
            self.sync()
        except OSError:
            # The next sync will report and handle the error.
            self._unsynced = True
            return False
        self.let_go()
        return True

    def _walk(
        self, file: File, end: _End, expected: int, position: int, limit_offset: int, window: int
    ) -> Iterator[Run | Gap]:
        return walk(
            file,
            position,
            end.size,
            expected_offset=max(expected, self.info.base_offset),
            next_offset=end.next_offset,
            limit_offset=limit_offset,
            window=window,
        )

    @staticmethod
    def _chunk(run: Run, offset: int, damage: list[Damage]) -> Chunk:
        if run.first_offset >= offset:
            return Chunk(run.records, run.first_offset, run.last_offset + 1, tuple(damage))
        start, first = codec.seek(run.records, offset)
        return Chunk(run.records[start:], first, run.last_offset + 1, tuple(damage))

    def _damage(self, gap: Gap) -> Damage:
        return Damage(self.path, gap.position, gap.length, gap.first_offset, gap.last_offset, gap.reason)

    def _open(self) -> _Opened:
        opened = self._opened
        if opened is None:
            opened = _Opened(self._open_file(), SegmentIndex(self._files, self._stem))
            opened.entries.load(opened.file, self.info)
            self._keep_index(opened.entries)
            if self._forgotten:
                return opened
            self._opened = opened
            if self._sealed:
                self._open_segments.add(self)
            else:
                self._open_segments.add_growing(self)
        return opened

    def _reopened(self) -> _Opened:
        """The opened file, for the writer, which can close other segments first."""
        opened = self._opened
        if opened is None:
            opened = self._open()
            self._open_segments.make_room()
        return opened

    def _keep_index(self, entries: SegmentIndex) -> None:
        """Write an index that was built by walking the log, so that the next opening need not walk it again."""
        if self._sealed:
            self._persist(entries)

    def _open_file(self) -> File:
        try:
            return self._files.open(self.path)
        except FileNotFoundError:
            # Removed by another program: readers see an empty file, and its records are reported as damage.
            return MissingFile()

    def _rebuilt_index(self, file: File) -> SegmentIndex:
        index = SegmentIndex(self._files, self._stem)
        index.rebuild(file, self.info)
        self._opened = _Opened(file, index)
        self._keep_index(index)
        return index
