"""Index check of a segment: its index entries are compared with its records during one walk over them."""

import struct
from collections.abc import Iterator
from typing import NamedTuple

from goqueue import codec
from goqueue.adapters.disk.files import FileSystem, read_whole
from goqueue.adapters.disk.index import ENTRY_SIZE, INDEX_INTERVAL, SparseIndex
from goqueue.adapters.disk.segment_index import OFFSETS_SUFFIX, TIMES_SUFFIX
from goqueue.adapters.disk.walk import Run
from goqueue.offline.findings import Finding, Kind, Severity

__all__ = ["IndexCheck"]

_ENTRY = struct.Struct(">qII")
_OFFSET = struct.Struct(">q")
_OFFSET_AT = 8
_REMEDY = "built again from the log"


class _Entry(NamedTuple):
    at: int
    number: int
    position: int


class _IndexFile:
    """One index file: its intact entries, and the positions of damaged and of wrong ones."""

    def __init__(self, files: FileSystem, path: str, magic: bytes) -> None:
        self.exists = files.exists(path)
        self.damaged: list[int] = []
        self.wrong: list[int] = []
        self.beyond = 0
        self.entries: list[_Entry] = []
        self._next = 0
        content = read_whole(files, path)
        if self.exists:
            self._parse(content, SparseIndex(magic).content(0, 0))

    def _parse(self, content: bytes, head: bytes) -> None:
        if content[:ENTRY_SIZE] != head:
            self.damaged.append(0)
        whole = len(content) - len(content) % ENTRY_SIZE
        for at in range(ENTRY_SIZE, whole, ENTRY_SIZE):
            number, position, crc = _ENTRY.unpack_from(content, at)
            if codec.crc32c(content[at : at + 12]) != crc:
                self.damaged.append(at)
            elif self.entries and position <= self.entries[-1].position:
                self.wrong.append(at)
            else:
                self.entries.append(_Entry(at, number, position))
        if whole != len(content):
            self.damaged.append(whole)

    def take(self, start: int, stop: int) -> list[_Entry]:
        """Entries that point into a range of the log; calls go forward, entries before the range are skipped."""
        while self._next < len(self.entries) and self.entries[self._next].position < start:
            self._next += 1
        first = self._next
        while self._next < len(self.entries) and self.entries[self._next].position < stop:
            self._next += 1
        return self.entries[first : self._next]


class IndexCheck:
    """Comparison of the indexes with the runs of a segment, given in order to `follow` and `skip`."""

    def __init__(self, files: FileSystem, stem: str, name: str, *, sealed: bool) -> None:
        self._name = name
        self._sealed = sealed
        self._offsets = _IndexFile(files, stem + OFFSETS_SUFFIX, b"GQIX")
        self._times = _IndexFile(files, stem + TIMES_SUFFIX, b"GQTX")
        self._complete_count = 0
        self._next_at = 0
        self._newest = 0
        self._newest_is_exact = True
        self.newest_ns = 0
        """Highest timestamp of all intact records so far."""

    def follow(self, run: Run) -> int:
        """Compare with intact records; returns their number."""
        start, stop = run.position, run.position + len(run.records)
        offsets = {entry.position: entry for entry in self._offsets.take(start, stop)}
        times = {entry.position: entry for entry in self._times.take(start, stop)}
        count = at = 0
        for position in sorted(offsets.keys() | times.keys()):
            found = codec.scan(run.records[at : position - start])
            if found.stop == "end":
                count += found.count
                self._newest = max(self._newest, found.max_timestamp_ns)
                at = position - start
                self._compare(run, at, offsets.get(position), times.get(position))
            else:
                self._offsets.wrong += [entry.at for entry in (offsets.get(position),) if entry]
                self._times.wrong += [entry.at for entry in (times.get(position),) if entry]
        rest = codec.scan(run.records[at:])
        self._newest = self.newest_ns = max(self._newest, rest.max_timestamp_ns)
        due = codec.index_entries(run.records, start, self._next_at, INDEX_INTERVAL, 0)
        self._complete_count += len(due.offsets) // ENTRY_SIZE
        self._next_at = due.next_at
        return count + rest.count

    def skip(self) -> None:
        """Note a damaged range: its timestamps are unknown, so entries after it are no longer compared exactly."""
        self._newest_is_exact = False

    def _compare(self, run: Run, at: int, offset: _Entry | None, time: _Entry | None) -> None:
        if offset is not None and offset.number != _OFFSET.unpack_from(run.records, at + _OFFSET_AT)[0]:
            self._offsets.wrong.append(offset.at)
        if time is not None and (time.number < self._newest or (self._newest_is_exact and time.number > self._newest)):
            self._times.wrong.append(time.at)

    def findings(self, size: int) -> Iterator[Finding]:
        for file, suffix in ((self._offsets, OFFSETS_SUFFIX), (self._times, TIMES_SUFFIX)):
            name = self._name + suffix
            if file.damaged:
                what = f"{_places(file.damaged)} not what was written"
                yield Finding(name, Kind.INDEX_DAMAGED, Severity.WARNING, what, min(file.damaged), remedy=_REMEDY)
            if file.wrong:
                what = f"{_places(file.wrong)} not what the log says"
                yield Finding(name, Kind.INDEX_WRONG, Severity.WARNING, what, min(file.wrong), remedy=_REMEDY)
            beyond = len(file.take(size, 1 << 32))
            if beyond:
                what = f"entries point beyond the end of the log: {beyond}"
                yield Finding(name, Kind.INDEX_WRONG, Severity.INFO, what, remedy=_REMEDY)
            if self._sealed and not file.damaged and len(file.entries) < self._complete_count and self._newest_is_exact:
                what = f"has {len(file.entries)} of {self._complete_count} entries" if file.exists else "is missing"
                yield Finding(name, Kind.INDEX_INCOMPLETE, Severity.INFO, what, remedy=_REMEDY)


def _places(positions: list[int]) -> str:
    return "one place is" if len(positions) == 1 else f"{len(positions)} places are"
