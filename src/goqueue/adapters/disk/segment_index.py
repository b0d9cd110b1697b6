"""Segment index: the offset index and the time index of one segment, loaded from files and completed from the log."""

from goqueue import codec
from goqueue.adapters.disk.files import Buffer, File, FileSystem, read_whole
from goqueue.adapters.disk.index import ENTRY_SIZE, INDEX_INTERVAL, DamagedIndex, SparseIndex
from goqueue.adapters.disk.walk import Run, walk
from goqueue.model.log import SegmentInfo

__all__ = ["OFFSETS_SUFFIX", "TIMES_SUFFIX", "SegmentIndex"]

OFFSETS_SUFFIX, TIMES_SUFFIX = ".index", ".timeindex"

_index_entries = codec.index_entries

WORTH_WRITING = 64
"""New entries (256 KiB of log) from which a growing index is written again; at opening the rest is walked."""


class SegmentIndex:
    """Lookup of the position at which to start reading for an offset or a time."""

    def __init__(self, files: FileSystem, stem: str) -> None:
        self._files = files
        self._stem = stem
        self._offsets = SparseIndex(b"GQIX")
        self._times = SparseIndex(b"GQTX")
        self._next_at = 0
        self._entries_on_disk = 0

    def __len__(self) -> int:
        return len(self._offsets)

    def load(self, log: File, info: SegmentInfo) -> None:
        """Load the intact part of the index files, and index the rest of the log by walking it."""
        try:
            self._load_files(info.size)
            self._extend(log, info)
        except (DamagedIndex, OSError):
            # Also if the disk cannot read the index: it can be rebuilt from the log.
            self.rebuild(log, info)

    def rebuild(self, log: File, info: SegmentInfo) -> None:
        self._forget()
        self._extend(log, info)

    def add(self, records: Buffer, position: int, max_timestamp_ns: int) -> int:
        """Index records appended at `position`; returns the highest timestamp so far."""
        entries = _index_entries(records, position, self._next_at, INDEX_INTERVAL, max_timestamp_ns)
        if entries.offsets:
            self._times.add(entries.times)
            self._offsets.add(entries.offsets)
        self._next_at = entries.next_at
        return entries.max_timestamp_ns

    def cut(self, size: int) -> None:
        """Remove entries that point at or beyond `size` bytes of the log."""
        self._offsets.cut(size)
        self._times.cut(size)
        self._entries_on_disk = min(self._entries_on_disk, len(self._offsets))
        self._next_at = self._offsets.entry(-1)[1] + INDEX_INTERVAL if len(self._offsets) else 0

    def before_offset(self, offset: int) -> tuple[int, int]:
        """(offset, position) of the nearest entry at or below `offset`; (0, 0) is the start of the segment."""
        found = self._offsets.floor(offset, inclusive=True)
        return self._offsets.entry(found) if found >= 0 else (0, 0)

    def before_time(self, timestamp_ns: int) -> tuple[int, int]:
        """(offset, position) of an entry before which every record is older than `timestamp_ns`."""
        found = self._times.floor(timestamp_ns, inclusive=False)
        return self._offsets.entry(found) if found >= 0 else (0, 0)

    def persist(self, size: int, *, sealed: bool) -> None:
        """Write the new entries for the first `size` bytes of the log, if there are enough or the segment is sealed."""
        count, start = self._offsets.count_below(size), self._entries_on_disk
        if count <= start or (not sealed and count - start < WORTH_WRITING):
            return
        at = (start + 1) * ENTRY_SIZE if start else 0
        for index, suffix in ((self._offsets, OFFSETS_SUFFIX), (self._times, TIMES_SUFFIX)):
            file = self._files.open(self._stem + suffix, create=True)
            try:
                file.write(at, [index.content(start, count)])
                file.truncate((count + 1) * ENTRY_SIZE)
            finally:
                file.close()
        self._entries_on_disk = count

    def _load_files(self, size: int) -> None:
        for index, suffix in ((self._offsets, OFFSETS_SUFFIX), (self._times, TIMES_SUFFIX)):
            index.load(read_whole(self._files, self._stem + suffix))
        count = min(len(self._offsets), len(self._times))
        self._offsets.keep(count)
        self._times.keep(count)
        self._entries_on_disk = count
        self.cut(size)

    def _extend(self, log: File, info: SegmentInfo) -> None:
        offset, position, newest = info.base_offset, 0, 0
        if len(self._offsets):
            offset, position = self._offsets.entry(-1)
            newest, _ = self._times.entry(-1)
        for run in walk(log, position, info.size, expected_offset=offset, next_offset=info.next_offset):
            if isinstance(run, Run):
                newest = self.add(run.records, run.position, newest)

    def _forget(self) -> None:
        self._offsets.keep(0)
        self._times.keep(0)
        self._next_at = 0
        self._entries_on_disk = 0
