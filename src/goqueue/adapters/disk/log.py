"""Log of a partition: segments in order; the last one takes appends."""

import os
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager

from goqueue.adapters.disk.files import Buffer, FileSystem, file_size, remove_file, remove_tree
from goqueue.adapters.disk.segment import (
    LOG_SUFFIX,
    SIDE_SUFFIXES,
    OpenSegments,
    Segment,
    UnreadableRange,
    segment_base,
)
from goqueue.engine.ports import StorageObserver
from goqueue.errors import DiskFull, GoQueueError, ReadFailed
from goqueue.model.log import Chunk, Damage, LogId, SegmentInfo

__all__ = ["DiskLog", "cleaned_path", "remove_segment_files"]

CLEANED_SUFFIX = ".cleaned"


def cleaned_path(folder: str, base_offset: int) -> str:
    """Path of the file that compaction writes to replace the segment with this base offset."""
    return f"{folder}/{base_offset:020d}{CLEANED_SUFFIX}"


def remove_segment_files(files: FileSystem, folder: str, base_offset: int) -> None:
    """Remove the files of a segment; the `.log` is removed last, so that no index file stays behind alone."""
    for suffix in (*SIDE_SUFFIXES, LOG_SUFFIX):
        path = f"{folder}/{base_offset:020d}{suffix}"
        if files.exists(path):
            remove_file(files, path)


class DiskLog:
    """Log on disk: appends, reads, and removal of whole segments. One owner writes; any thread reads.

    The tuple of segments is replaced, never changed in place, so a reader keeps the one it started with.
    """

    def __init__(
        self,
        files: FileSystem,
        folder: str,
        log: LogId,
        *,
        segment_bytes: int,
        open_segments: OpenSegments,
        observer: StorageObserver,
        segments: tuple[SegmentInfo, ...] = (),
    ) -> None:
        self._files = files
        self._open_segments = open_segments
        self._observer = observer
        self.folder = folder
        self.id = log
        self.name = str(log).encode()
        self._segment_bytes = segment_bytes
        self._segments = tuple(Segment(files, folder, info, open_segments) for info in segments)
        for segment in self._segments[:-1]:
            segment.seal()
        self._good: tuple[tuple[Segment, ...], SegmentInfo | None] = (self._segments, None)
        self.confirm()
        self._merging = False
        self._has_new_names = False
        self.removed = False
        self.failure: GoQueueError | None = None
        self.sync_failed = False
        self.clean_before = 0
        """Offset below which segments have been compacted against each other."""
        self.clean_horizon_ns = 0
        """Timestamp before which tombstones were removed by that compaction."""
        self.synced_before = 0
        """Offset below which segments are in the checkpoint: the journal will not write to them again."""
        self.merged_lsn = 0
        """LSN of the entry that finished the last compaction."""

    @property
    def start_offset(self) -> int:
        return self._segments[0].info.base_offset if self._segments else 0

    @property
    def tail_offset(self) -> int:
        return self._segments[-1].info.base_offset if self._segments else 0

    @property
    def next_offset(self) -> int:
        return self._segments[-1].info.next_offset if self._segments else 0

    @property
    def size(self) -> int:
        return sum(segment.info.size for segment in self._segments)

    @property
    def segments(self) -> tuple[SegmentInfo, ...]:
        return tuple(segment.info for segment in self._segments)

    # Writing.

    def takes(self, records: Buffer) -> bool:
        """True if the records continue the log and the log accepts writes."""
        end = 0
        if self._segments:
            last = self._segments[-1]
            end = last.info.next_offset
        return self.failure is None and int.from_bytes(records[8:16], "big") == end

    def stage(self, records: Buffer, next_offset: int) -> tuple[int, int]:
        """Add records to the next `flush`; returns the base offset of the segment and the position in its file."""
        if not self._segments or 0 < self._segments[-1].info.size > self._segment_bytes - len(records):
            self._roll(self.next_offset)
        last = self._segments[-1]
        return last.stage(records, next_offset)

    def _roll(self, base_offset: int, *, keep_content: bool = False) -> None:
        if self._segments:
            self._segments[-1].flush()
            self._segments[-1].seal()
        if not self._segments or not self._files.exists(self.folder):
            # In recovery the folder of an old log may be missing as well: a later entry deletes the log.
            self._files.make_dirs(self.folder)
        segment = Segment(self._files, self.folder, SegmentInfo(base_offset, base_offset, 0, 0), self._open_segments)
        segment.create(keep_content=keep_content)
        self._has_new_names = True
        self._segments = (*self._segments, segment)

    def flush(self) -> None:
        """Write the staged records to the page cache."""
        if self._segments:
            last = self._segments[-1]
            last.flush()

    def confirm(self) -> None:
        """Confirm the end of the log: the records are in the journal too. A failed write later rewinds to this end."""
        info = None
        if self._segments:
            last = self._segments[-1]
            info = last.info
        self._good = (self._segments, info)

    def rewind(self) -> None:
        """Rewind to the last confirmed end."""
        rolled = self._segments[len(self._good[0]) :]
        self._segments, info = self._good
        if info is not None:
            self._segments[-1].rewind(info)
        for segment in rolled:
            remove_segment_files(self._files, self.folder, segment.info.base_offset)

    def refuse(self, reason: GoQueueError) -> None:
        """Rewind after a failed write, and refuse further writes unless the disk was full."""
        self.rewind()
        if not isinstance(reason, DiskFull):
            self.failure = reason

    # Recovery.

    def redo(self, base_offset: int, position: int, records: Buffer, next_offset: int) -> None:
        """Repeat an append from the journal."""
        if not self._segments or base_offset > self._segments[-1].info.base_offset:
            # Records of entries that the journal lost to damage stay in the log.
            if self._segments and self._segments[-1].info.next_offset < base_offset:
                self._segments[-1].take_rest(base_offset)
            self._roll(base_offset, keep_content=True)
        if base_offset == self._segments[-1].info.base_offset:
            self._segments[-1].redo(position, records, next_offset)
        self.confirm()

    def discard(self, base_offset: int) -> None:
        """Discard the content of a segment that a later entry removes."""
        for segment in self._segments:
            if segment.info.base_offset == base_offset:
                segment.discard()

    def keep_rest(self) -> None:
        """Extend the log by intact records after the known end."""
        while True:
            if self._segments:
                self._segments[-1].keep_rest()
            following = f"{self.folder}/{self.next_offset:020d}{LOG_SUFFIX}"
            if any(segment.path == following for segment in self._segments) or not self._files.exists(following):
                break
            self._roll(self.next_offset, keep_content=True)
        self.confirm()

    def cut_tail(self) -> int:
        """Remove bytes and files beyond the known end; returns the number of bytes."""
        known = {segment.info.base_offset for segment in self._segments}
        dropped = self._segments[-1].cut_file() if self._segments else 0
        for name in self._files.list(self.folder):
            base = segment_base(name)
            if base is not None and base not in known:
                dropped += file_size(self._files, f"{self.folder}/{name}")
                remove_segment_files(self._files, self.folder, base)
            elif name.endswith(CLEANED_SUFFIX):
                self._files.remove(f"{self.folder}/{name}")
        return dropped

    def missing_files(self) -> list[Damage]:
        """Segments whose file is missing. The file of the newest is created empty, so that appends can continue."""
        gone = [segment for segment in self._segments if not self._files.exists(segment.path)]
        if gone and gone[-1] is self._segments[-1]:
            self._files.make_dirs(self.folder)
            self._files.open(gone[-1].path, create=True).close()
        lost = [(s.path, s.lost or s.info) for s in self._segments if s.lost is not None or s in gone]
        return [
            Damage(path, 0, info.size, info.base_offset, info.next_offset - 1, "file is missing")
            for path, info in lost
            if info.size
        ]

    # Checkpoints.

    def unsynced(self) -> tuple[Segment, ...]:
        return tuple(segment for segment in self._segments if segment.unsynced)

    def sync(self, segments: tuple[Segment, ...]) -> None:
        """Make these segments durable, oldest first, including their file names.

        Until then, the journal could restore a file whose name was lost in a crash.
        """
        if self._has_new_names:
            # Cleared first: a segment created during the sync sets it again.
            self._has_new_names = False
            try:
                self._files.sync_dir(self.folder)
            except FileNotFoundError:
                if not self.removed:
                    raise
        for segment in segments:
            segment.sync()

    # Reading.

    def read(self, offset: int, max_bytes: int, limit_offset: int) -> Chunk:
        """Intact records from `offset` up to `limit_offset`, of one segment, at least one if there is any."""
        while True:
            segments = self._segments
            with self._failures_told():
                chunk = self._read(segments, offset, max_bytes, limit_offset)
            if not chunk.damage or self._are_current(segments):
                break
        for damage in chunk.damage:
            self._observer.damaged(damage)
        return chunk

    @contextmanager
    def _failures_told(self) -> Iterator[None]:
        """Convert read errors of the disk to an error with a code, and count them."""
        try:
            yield
        except UnreadableRange as failure:
            damage = failure.damage
            self._observer.read_failed(self.id)
            self._observer.damaged(damage)
            where = f"{damage.length} bytes at {damage.position} of {damage.file}"
            offsets = f"offsets {damage.first_offset} to {damage.last_offset}"
            raise ReadFailed(f"{self.id}: {offsets} cannot be read now ({where}): {damage.reason}") from failure
        except OSError as error:
            self._observer.read_failed(self.id)
            raise ReadFailed(f"{self.id} cannot be read now: {error.filename}: {error.strerror}") from error

    def _are_current(self, segments: tuple[Segment, ...]) -> bool:
        """False if files were removed or replaced during the read: apparent damage may then be none."""
        return segments is self._segments and not self._merging

    def _read(self, segments: tuple[Segment, ...], offset: int, max_bytes: int, limit_offset: int) -> Chunk:
        damage: tuple[Damage, ...] = ()
        for segment in segments[max(0, self._at(segments, offset)) :]:
            if segment.info.base_offset >= limit_offset:
                break
            chunk = segment.read(max(offset, segment.info.base_offset), max_bytes, limit_offset)
            damage += chunk.damage
            if chunk.records:
                return Chunk(chunk.records, chunk.first_offset, chunk.next_offset, damage)
            offset = max(offset, chunk.next_offset)
        return Chunk(b"", offset, offset, damage)

    def peek(self, offset: int, max_bytes: int) -> bytes:
        """Unchecked bytes of one segment, from the record with this offset or from a little before it."""
        segments = self._segments
        at = self._at(segments, offset)
        with self._failures_told():
            return segments[at].peek(offset, max_bytes) if at >= 0 else b""

    def offset_at(self, timestamp_ns: int, limit_offset: int) -> int | None:
        """First offset whose record is not older than the given time, or None."""
        while True:
            segments = self._segments
            with self._failures_told():
                found = self._offset_at(segments, timestamp_ns, limit_offset)
            if self._are_current(segments):
                return found

    @staticmethod
    def _offset_at(segments: tuple[Segment, ...], timestamp_ns: int, limit_offset: int) -> int | None:
        for segment in segments:
            if segment.info.max_timestamp_ns >= timestamp_ns:
                found = segment.offset_at(timestamp_ns, limit_offset)
                if found is not None:
                    return found
        return None

    @staticmethod
    def _at(segments: tuple[Segment, ...], offset: int) -> int:
        return bisect_right(segments, offset, key=lambda segment: segment.info.base_offset) - 1

    # Removal of segments.

    def prepare_drop(self, base_offsets: tuple[int, ...]) -> None:
        """Create a new segment if the newest will be dropped; this may fail, so it precedes the journal entry."""
        last = self._segments[-1].info if self._segments else None
        if last is not None and last.base_offset in base_offsets and last.next_offset > last.base_offset:
            self._roll(last.next_offset)
            self.confirm()

    def drop(self, base_offsets: tuple[int, ...]) -> None:
        """Remove whole segments as in the journal entry; an empty segment keeps the end of the log."""
        self.prepare_drop(base_offsets)
        gone = set(base_offsets) - {segment.info.base_offset for segment in self._segments[-1:]}
        dropped = [segment for segment in self._segments if segment.info.base_offset in gone]
        self._segments = tuple(s for s in self._segments if s.info.base_offset not in gone)
        self.confirm()
        for segment in dropped:
            segment.forget()
            remove_segment_files(self._files, self.folder, segment.info.base_offset)
        if self._files.exists(self.folder):
            self._files.sync_dir(self.folder)

    def compactable(self, limit_offset: int) -> tuple[Segment, ...]:
        """Sealed segments that may be rewritten."""
        limit = min(limit_offset, self.synced_before)
        return tuple(s for s in self._segments[:-1] if s.info.next_offset <= limit)

    def is_worth_compacting(self, segments: tuple[Segment, ...], horizon_ns: int) -> bool:
        """True if a segment was never compacted, or compacted segments have tombstones that may now be removed."""
        return segments[-1].info.next_offset > self.clean_before or any(
            self.clean_horizon_ns <= segment.info.max_timestamp_ns < horizon_ns for segment in segments
        )

    def holds(self, base_offsets: tuple[int, ...]) -> bool:
        return set(base_offsets) <= {segment.info.base_offset for segment in self._segments}

    def merge(self, base_offsets: tuple[int, ...]) -> None:
        """Replace these segments by the cleaned file of the first, as in the journal entry."""
        old = [segment for segment in self._segments if segment.info.base_offset in set(base_offsets)]
        if not old:
            return
        self._merging = True
        try:
            self._merge(old, base_offsets)
        finally:
            self._merging = False

    def _merge(self, old: list[Segment], base_offsets: tuple[int, ...]) -> None:
        for segment in old:
            segment.forget()
        if not self._files.exists(self.folder):
            # In recovery the folder may be missing: a later entry deletes the log.
            self._files.make_dirs(self.folder)
        cleaned = cleaned_path(self.folder, base_offsets[0])
        target = f"{self.folder}/{base_offsets[0]:020d}"
        if self._files.exists(cleaned):
            # An index of the old file must not be used with the new file.
            for suffix in SIDE_SUFFIXES:
                if self._files.exists(target + suffix):
                    remove_file(self._files, target + suffix)
            self._files.sync_dir(self.folder)
            self._files.rename(cleaned, target + LOG_SUFFIX)
        for base in base_offsets[1:]:
            remove_segment_files(self._files, self.folder, base)
        self._files.sync_dir(self.folder)
        there = self._files.exists(target + LOG_SUFFIX)
        info = SegmentInfo(
            old[0].info.base_offset,
            old[-1].info.next_offset,
            file_size(self._files, target + LOG_SUFFIX) if there else sum(segment.info.size for segment in old),
            max(segment.info.max_timestamp_ns for segment in old),
        )
        segment = Segment(self._files, self.folder, info, self._open_segments)
        segment.seal()
        at = next(i for i, s in enumerate(self._segments) if s.info.base_offset == info.base_offset)
        self._segments = (*self._segments[:at], segment, *self._segments[at + len(old) :])
        self.confirm()

    def remove(self) -> None:
        """Remove the log and its folder."""
        self.removed = True
        segments, self._segments = self._segments, ()
        self.confirm()
        for segment in segments:
            segment.forget()
        try:
            self._remove_files()
        except OSError:
            # A running compaction may just have created or removed a file; from now on it does not.
            self._remove_files()

    def _remove_files(self) -> None:
        remove_tree(self._files, self.folder)
        topic = os.path.dirname(self.folder)
        if self._files.exists(topic) and not self._files.list(topic):
            self._files.remove_dir(topic)

    def let_go(self) -> None:
        for segment in self._segments:
            segment.let_go()
