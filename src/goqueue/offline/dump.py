"""Read the records of one log as its files have them, from any offset or time, stepping over damage.

Neither checkpoint nor journal is needed for it, so it also shows what is left of a folder that has lost them. What
only the journal has, after a power cut, is not shown until a start or a repair has brought it into the log.
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
    """Bytes that hold no intact record; `last_offset` is None where nothing tells how far the damage goes."""

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
    """Iterating gives runs of whole records, at most a window each, and damaged ranges, in the order of the log."""

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
        """`to_offset` is the last one wanted. A log that is `growing` may end in half a record: that is no damage."""
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
                # The broker's retention was quicker.
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
        """Where to begin in a segment: close to what is wanted, by its index, if that can be trusted."""
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
