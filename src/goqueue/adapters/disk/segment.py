"""One stretch of a partition log: a `.log` file of records, found through its offset and time indexes.

The file is written only at its end. A reader skips what is damaged and reports it.
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
"""Files beside the `.log` that can be built again from it."""

TIME_WINDOW_BYTES = 16 * 1024
SMALL_WINDOW_BYTES = 128 * 1024
FAILED_READS = 3
"""How often a read of a range fails before the range is skipped: the disk may recover."""
REMEMBERED_RANGES = 1000


class UnreadableRange(Exception):
    """The disk could not read a range, and it is too early, or the range too large, to skip it."""

    def __init__(self, damage: Damage) -> None:
        super().__init__(damage.reason)
        self.damage = damage


def segment_base(name: str) -> int | None:
    """The base offset a file name stands for, or None when it is not a segment's."""
    stem, suffix = os.path.splitext(name)
    return int(stem) if suffix == LOG_SUFFIX and len(stem) == 20 and stem.isdecimal() else None


class OpenSegments:
    """Keeps the number of open files and loaded indexes bounded: the segment opened longest ago is closed.

    Sealed segments have a limit of their own: far fewer of them are needed than of those that are written to.
    """

    def __init__(self, limit: int, report: Callable[[str, str], None], growing_limit: int = 1 << 30) -> None:
        self._limit = limit
        self._growing_limit = growing_limit
        self.report = report
        """Is told of an index file that could not be used, and why."""
        self._opened: deque[Segment] = deque()
        self._growing: dict[Segment, None] = {}
        """The one opened longest ago comes first."""
        self._changing = threading.Lock()
        """Readers in threads open segments, too."""

    @property
    def growing_count(self) -> int:
        return len(self._growing)

    def add_growing(self, segment: "Segment") -> None:
        """One that is written to; a reader may close only others that are durable."""
        with self._changing:
            self._growing[segment] = None
        self._close_growing(Segment.rest)

    def drop_growing(self, segment: "Segment") -> None:
        """It is written to no more, or deleted."""
        with self._changing:
            self._growing.pop(segment, None)

    def make_room(self) -> None:
        """Called by the writer: where too many segments are written to, the oldest are made durable and closed."""
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
        """Close what is too much; a segment that is not synced yet stays open until it is."""
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
    """How far the file can be read: bytes that are in the page cache, and the offset behind them."""

    size: int
    next_offset: int


class Segment:
    """Reads, and for the newest segment of a log appends. The file is opened at first use."""

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
        """How often ranges could not be read, by their positions."""
        self.lost: SegmentInfo | None = None
        """What was in the file when recovery found it missing and had to begin it anew."""

    @property
    def path(self) -> str:
        return self._stem + LOG_SUFFIX

    @property
    def unsynced(self) -> bool:
        return self._unsynced

    # Writing: only the owner of the log does it.

    def create(self, *, keep_content: bool = False) -> None:
        """Make the file, empty also when a crash left one of that name whose records were never confirmed."""
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
        """Take stamped records for the next `flush`; returns the segment's base offset and their place in its file."""
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
        """Go back to an earlier end; bytes beyond it in the file are overwritten by the next append."""
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
        """Put journaled records at their recorded place, as `stage` and `flush` did before a crash."""
        info = self.info
        if position + len(records) <= info.size:
            return
        if isinstance(self._reopened().file, MissingFile):
            # Lost, or removed because a later entry of the journal drops the segment.
            self.lost = info
            self._files.make_dirs(os.path.dirname(self._stem))
            self.create()
        if position > info.size:
            # The journal lost an entry to damage: what lies between is whatever the log itself kept of it.
            self.info = SegmentInfo(info.base_offset, info.next_offset, position, info.max_timestamp_ns)
            self._written = _End(position, info.next_offset)
        # Also when the bytes are there already: after a sync that failed, the page cache shows bytes that are not on
        # the disk and calls them clean, so that only writing them again gets them there.
        before = self.info
        self.stage(records, next_offset)
        try:
            self.flush()
        except OSError:
            self.rewind(before)
            raise

    def discard(self) -> None:
        """Remove the file and keep nothing of what is written from here on: in recovery, of what is removed later."""
        with suppress(FileNotFoundError):
            self._files.remove(self.path)
        self._opened = _Opened(DiscardedFile(), SegmentIndex(self._files, self._stem))

    def take_rest(self, next_offset: int) -> None:
        """Count what the file holds beyond the known end as part of the segment, up to `next_offset`."""
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
        """Count intact records right behind the known end as part of the segment."""
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
        """Drop bytes beyond the known end, left by writes that were never confirmed; returns how many."""
        file = self._reopened().file
        surplus = file.size() - self.info.size
        if surplus > 0:
            file.truncate(self.info.size)
            self._unsynced = True
        return max(0, surplus)

    def seal(self) -> None:
        """No more appends: from now on the file may be closed whenever nobody reads it."""
        self._sealed = True
        self._open_segments.drop_growing(self)
        if self._opened is not None:
            self._open_segments.add(self)

    def sync(self) -> None:
        """Make the records durable."""
        if self._unsynced and not self._forgotten:
            # Opened again if it was closed: an append may have come between its last sync and that.
            opened = self._opened or self._open()
            # Cleared first: an append that comes while the sync runs sets it again.
            self._unsynced = False
            opened.file.write_back(self._settled, self._written.size - self._settled)
            opened.file.sync()

    def settle(self, size: int) -> None:
        """A checkpoint holds that many bytes: no crash can take them back any more, so their index may be written.

        An index of anything later could be found beside other records than those it was made for. It is not synced,
        as it can be built again.
        """
        self._settled = size
        if self._opened is not None:
            self._persist(self._opened.entries)

    def _persist(self, entries: SegmentIndex) -> None:
        # Whatever is wrong with the index files, whoever reads by them next builds the index again.
        with self._side_files, suppress(OSError, DamagedIndex):
            if not self._forgotten:
                try:
                    entries.persist(self._settled, sealed=self._sealed)
                except IsADirectoryError as error:
                    aside = set_aside(self._files, error.filename)
                    self._open_segments.report(error.filename, f"it is a folder, which is {aside} now")
                    entries.persist(self._settled, sealed=self._sealed)

    def forget(self) -> None:
        """The files are about to be removed: no index may be written beside them any more."""
        with self._side_files:
            self._forgotten = True
        self._open_segments.drop_growing(self)
        self.let_go()

    # Reading: from any thread.

    def read(self, offset: int, max_bytes: int, limit_offset: int) -> Chunk:
        """Intact records from `offset` on, below `limit_offset`, at least one if there is any."""
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
        """As the log's: so many bytes and those of the stretch between two entries of the index."""
        opened = self._open()
        file, index = opened.file, opened.entries
        end = self._written
        _, position = self._before(file, index, offset)
        return read_around(file, position, min(max_bytes + INDEX_INTERVAL, end.size - position))

    def _note_unreadable(self, gap: Gap) -> None:
        """Refuse to skip what may be readable soon; a disk that can read nothing at all never has records skipped."""
        failed = self._failed_reads
        if len(failed) > REMEMBERED_RANGES:
            failed.clear()
        failed[gap.position] = failed.get(gap.position, 0) + 1
        if failed[gap.position] <= FAILED_READS or gap.length >= WINDOW_BYTES:
            raise UnreadableRange(self._damage(gap))

    def _before(self, file: File, index: SegmentIndex, offset: int) -> tuple[int, int]:
        """Offset and position of a record at `offset`, or shortly before it."""
        try:
            return index.before_offset(offset)
        except DamagedIndex:
            return self._rebuilt_index(file).before_offset(offset)

    def offset_at(self, timestamp_ns: int, limit_offset: int) -> int | None:
        """The first offset whose record is not older than the given time, or None."""
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
        """All records of the segment, and what is damaged; in small parts, as the codec lets no other thread run."""
        base, end = self.info.base_offset, self._written
        return self._walk(self._open().file, end, base, 0, end.next_offset, SMALL_WINDOW_BYTES)

    def let_go(self) -> None:
        """Close the file when no reader uses it any more; it is opened again at the next use."""
        self._opened = None

    def rest(self) -> bool:
        """Close the file until its next use; False if there is something to write or to sync."""
        if self._staged or self._unsynced:
            return False
        self.let_go()
        return True

    def rest_durable(self) -> bool:
        """As `rest`, for the writer: write and sync first. False if that fails."""
        try:
            self.flush()
            self.sync()
        except OSError:
            # Whoever syncs it next finds out, and knows what to do about it.
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
        """For the writer, who can make room for it."""
        opened = self._opened
        if opened is None:
            opened = self._open()
            self._open_segments.make_room()
        return opened

    def _keep_index(self, entries: SegmentIndex) -> None:
        """Write what had to be built by walking the log, so that it is not walked again at the next opening."""
        if self._sealed:
            self._persist(entries)

    def _open_file(self) -> File:
        try:
            return self._files.open(self.path)
        except FileNotFoundError:
            # Removed behind our back: to a reader, a file that ends early; everything in it is reported as damage.
            return MissingFile()

    def _rebuilt_index(self, file: File) -> SegmentIndex:
        index = SegmentIndex(self._files, self._stem)
        index.rebuild(file, self.info)
        self._opened = _Opened(file, index)
        self._keep_index(index)
        return index
