"""Dump of the records in one log's files, from any offset or time; damaged ranges are skipped and reported.

A dump reads neither checkpoint nor journal, so it also works on a folder that has lost them. After a power cut,
records that are only in the journal are left out until a start or a repair has written them to the log.
"""

from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from goqueue import codec
from goqueue.adapters.disk.files import File
from goqueue.adapters.disk.index import DamagedIndex
from goqueue.adapters.disk.segment import LOG_SUFFIX
from goqueue.adapters.disk.segment_index import SegmentIndex
from goqueue.adapters.disk.walk import Gap, Run, walk
from goqueue.errors import UnknownLog
from goqueue.model.log import LogId, SegmentInfo
from goqueue.offline.data_folder import DataFolder

__all__ = ["DamagedRange", "Dump"]

_HIGHEST = (1 << 63) - 1


class DamagedRange(msgspec.Struct, frozen=True):
    """Bytes without an intact record; `last_offset` is None if the end of the damage is unknown."""

    file: str
    position: int
    length: int
    first_offset: int
    last_offset: int | None
    reason: str


class _Segment(NamedTuple):
    base_offset: int
    bound: int


class Dump:
    """Iterable of runs of whole records, at most one window each, and of damaged ranges, in log order."""

    def __init__(
        self,
        folder: DataFolder,
        log: LogId,
        *,
        from_offset: int = 0,
        to_offset: int | None = None,
        from_time_ns: int | None = None,
        growing: bool = False,
    ) -> None:
        """`to_offset` is inclusive. If a broker is writing (`growing`), half a record at the end is not damage."""
        self._folder = folder
        self._log = log
        self._from_offset = from_offset
        self._limit = _HIGHEST if to_offset is None else to_offset + 1
        self._from_time = from_time_ns
        self._growing = growing
        self._segments = self._find_segments()

    def _find_segments(self) -> list[_Segment]:
        known = list(self._folder.log_folders())
        if self._log not in known:
            few = ", ".join(map(str, known[:8])) + (", …" if len(known) > 8 else "")
            hint = f"there are {few}" if known else "there are no logs in it"
            raise UnknownLog(f"there is no log {self._log} in {self._folder.path}", hint=hint)
        bases = self._folder.segment_bases(self._log)
        bounds = [*bases[1:], _HIGHEST]
        return [_Segment(base, bounds[number]) for number, base in enumerate(bases)]

    def __iter__(self) -> Iterator[memoryview | DamagedRange]:
        for segment in self._segments:
            if segment.bound <= self._from_offset or segment.base_offset >= self._limit:
                continue
            try:
                file = self._folder.files.open(self._path(segment))
            except FileNotFoundError:
                # Retention removed the file in the meantime.
                continue
            try:
                yield from self._read(segment, file)
            finally:
                file.close()

    def _path(self, segment: _Segment) -> str:
        return self._folder.stem(self._log, segment.base_offset) + LOG_SUFFIX

    def _read(self, segment: _Segment, file: File) -> Iterator[memoryview | DamagedRange]:
        size = file.size()
        offset, position = self._start(segment, file, size)
        for found in walk(
            file, position, size, expected_offset=offset, next_offset=segment.bound, limit_offset=self._limit
        ):
            if isinstance(found, Gap):
                if found.last_offset >= self._from_offset and not self._is_being_written(segment, found, size):
                    yield self._damaged(segment, found)
            else:
                records = self._wanted(found)
                if records:
                    yield records

    def _start(self, segment: _Segment, file: File, size: int) -> tuple[int, int]:
        """First offset and position to read: from the index if it is intact, else the beginning of the segment."""
        beginning = (segment.base_offset, 0)
        if self._from_time is None and self._from_offset <= segment.base_offset:
            return beginning
        index = SegmentIndex(self._folder.files, self._folder.stem(self._log, segment.base_offset))
        try:
            index.load(file, SegmentInfo(segment.base_offset, segment.bound, size, 0))
            found = [index.before_offset(self._from_offset)]
            if self._from_time is not None:
                found.append(index.before_time(self._from_time))
        except DamagedIndex:
            return beginning
        offset, position = max(found, key=lambda place: place[1])
        return (offset, position) if self._is_record(file, position, offset) else beginning

    @staticmethod
    def _is_record(file: File, position: int, offset: int) -> bool:
        head = file.read(position, codec.HEADER_SIZE)
        return head[:2] == b"GQ" and int.from_bytes(head[8:16], "big") == offset

    def _wanted(self, run: Run) -> memoryview | None:
        records = run.records
        if run.last_offset < self._from_offset:
            return None
        if run.first_offset < self._from_offset:
            records = records[codec.seek(records, self._from_offset)[0] :]
        if self._from_time is not None:
            if run.max_timestamp_ns < self._from_time:
                return None
            position, offset = codec.seek_time(records, self._from_time)
            if offset < 0:
                return None
            records = records[position:]
            self._from_time = None
        return records

    def _is_being_written(self, segment: _Segment, gap: Gap, size: int) -> bool:
        return self._growing and segment.bound == _HIGHEST and gap.position + gap.length == size

    def _damaged(self, segment: _Segment, gap: Gap) -> DamagedRange:
        last = gap.last_offset if gap.last_offset < _HIGHEST - 1 else None
        name = self._folder.relative(self._path(segment))
        return DamagedRange(name, gap.position, gap.length, gap.first_offset, last, gap.reason)
