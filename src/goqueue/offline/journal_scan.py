"""Journal scan without changes: the intact entries, and the unreadable ranges.

As in `goqueue.adapters.disk.replay`, but every unreadable range is classified and nothing is erased:

- *damaged*: an entry that a later entry records as durable;
- *torn*: an entry that no later entry records as durable. A crash cut it off, or it was the last one and is damaged:
  the journal cannot distinguish the two;
- *old*: an entry that the checkpoint covers;
- *head*: the head of the file.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

import msgspec

from goqueue.adapters.disk.journal import journal_path
from goqueue.adapters.disk.journal_format import (
    FRAME_HEAD,
    FRAME_MAGIC,
    HEAD_SIZE,
    MAX_FRAME,
    Frame,
    parse_file_head,
    parse_frame,
)
from goqueue.offline.data_folder import DataFolder
from goqueue.offline.findings import NO_PROGRESS, Progress

__all__ = ["JournalFault", "JournalFileFacts", "JournalScan"]

NEAR_BITS = 3
"""Nonces are random: two that differ in at most this number of bits are the same nonce, one of them damaged."""


class JournalFault(NamedTuple):
    """An unreadable range, and the LSNs of the entries that it must have held (0 for a head)."""

    path: str
    position: int
    length: int
    kind: Literal["damaged", "torn", "old", "head"]
    first_lsn: int
    last_lsn: int


class JournalFileFacts(msgspec.Struct, frozen=True):
    """One journal file: the bytes used by entries, and the first and last LSN (0 without entries)."""

    sequence: int
    path: str
    size: int
    used: int
    first_lsn: int
    last_lsn: int
    nonce: int | None


class _FileRange(NamedTuple):
    path: str
    position: int
    length: int


class _EntryRange(NamedTuple):
    """Entries with consecutive LSNs; `before` is the unreadable range in front of them, if any."""

    first_lsn: int
    last_lsn: int
    newest_durable: int
    before: _FileRange | None


class JournalScan:
    """Scan in two passes: the constructor finds the unreadable ranges, `entries` returns the entries."""

    def __init__(self, folder: DataFolder, after_lsn: int | None, progress: Progress = NO_PROGRESS) -> None:
        """Without a checkpoint `after_lsn` is None, and the whole journal counts as needed."""
        self._folder = folder
        self._progress = progress
        self.files: list[JournalFileFacts] = []
        self.faults: list[JournalFault] = []
        self._ranges: list[_EntryRange] = []
        self._endings: list[_FileRange] = []
        for sequence in folder.journal_sequences():
            self._scan_file(sequence)
        oldest = self._ranges[0].first_lsn if self._ranges else 1
        self.after_lsn = after_lsn if after_lsn is not None else oldest - 1
        self.last_lsn = self._judge()
        """LSN of the last entry that recovery would apply."""
        self.newest_lsn = max([self.last_lsn, *(one.last_lsn for one in self._ranges)])
        """Highest LSN in the journal: new entries must have higher ones."""

    @property
    def is_there(self) -> bool:
        """True if any journal file was in use."""
        return any(facts.nonce is not None for facts in self.files)

    def entries(self) -> Iterator[Frame]:
        """Intact entries after `after_lsn` and up to `last_lsn`, in order."""
        last = self.after_lsn
        for facts in self.files:
            if facts.nonce is None or facts.last_lsn <= last:
                continue
            data = self._read(facts.path)
            position = HEAD_SIZE
            while position < facts.used:
                found = _frame_from(data, position, facts.nonce)
                assert found is not None
                position, frame = found
                position += frame.size
                if last < frame.lsn <= self.last_lsn:
                    last = frame.lsn
                    yield frame

    # Files.

    def _read(self, path: str) -> memoryview:
        file = self._folder.files.open(path)
        try:
            return memoryview(file.read(0, file.size()))
        finally:
            file.close()

    def _scan_file(self, sequence: int) -> None:
        path = journal_path(self._folder.journal, sequence)
        data = self._read(path)
        nonce = self._nonce_of(sequence, path, data)
        first_lsn = last_lsn = 0
        position = HEAD_SIZE
        while nonce is not None and (found := _frame_from(data, position, nonce)) is not None:
            at, frame = found
            if self._add(frame, _FileRange(path, position, at - position) if at > position else None):
                first_lsn = first_lsn or frame.lsn
                last_lsn = frame.lsn
            position = at + frame.size
        if nonce is not None and _looks_like_a_frame(data, position, nonce):
            self._endings.append(_FileRange(path, position, _likely_size(data, position)))
        self._progress.advance(len(data))
        self.files.append(JournalFileFacts(sequence, path, len(data), position, first_lsn, last_lsn, nonce))

    def _nonce_of(self, sequence: int, path: str, data: memoryview) -> int | None:
        head = parse_file_head(data)
        if head is not None:
            # Another number means a reused spare file whose new head did not reach the disk.
            return head[1] if head[0] == sequence else None
        nonce = _first_nonce(data)
        # A blank head without entries belongs to a new file whose head did not reach the disk.
        if nonce is not None or any(data[:HEAD_SIZE]):
            self.faults.append(JournalFault(path, 0, min(HEAD_SIZE, len(data)), "head", 0, 0))
        return nonce

    def _add(self, frame: Frame, unreadable: _FileRange | None) -> bool:
        last = self._ranges[-1] if self._ranges else None
        if last is not None and frame.lsn <= last.last_lsn:
            return False
        durable = frame.durable_lsn
        if last is not None and frame.lsn == last.last_lsn + 1:
            durable = max(durable, last.newest_durable)
            self._ranges[-1] = _EntryRange(last.first_lsn, frame.lsn, durable, last.before)
            self._endings.clear()
            return True
        if unreadable is None and self._endings:
            unreadable = self._endings[0]
        self._endings.clear()
        if unreadable is None and last is not None and self.files:
            unreadable = _FileRange(self.files[-1].path, self.files[-1].used, 0)
        self._ranges.append(_EntryRange(frame.lsn, frame.lsn, durable, unreadable))
        return True

    # Classification.

    def _judge(self) -> int:
        """Classify the gaps between the ranges; returns the last LSN that recovery would apply."""
        last = self.after_lsn
        for number, entries in enumerate(self._ranges):
            if entries.first_lsn > last + 1:
                newest_durable = max(later.newest_durable for later in self._ranges[number:])
                kind: Literal["damaged", "torn"] = "damaged" if newest_durable > last else "torn"
                self._fault(entries.before, kind, last + 1, entries.first_lsn - 1)
                if kind == "torn":
                    return last
            elif entries.before is not None:
                previous = self._ranges[number - 1].last_lsn if number else entries.first_lsn - 2
                self._fault(entries.before, "old", previous + 1, entries.first_lsn - 1)
            last = max(last, entries.last_lsn)
        if self._endings:
            newest = self._ranges[-1].last_lsn if self._ranges else 0
            kind_of_end: Literal["torn", "old"] = "torn" if newest >= self.after_lsn or not newest else "old"
            self._fault(self._endings[0], kind_of_end, last + 1, last + 1)
        return last

    def _fault(
        self,
        place: _FileRange | None,
        kind: Literal["damaged", "torn", "old"],
        first_lsn: int,
        last_lsn: int,
    ) -> None:
        path, position, length = place or _FileRange(self._folder.journal, 0, 0)
        self.faults.append(JournalFault(path, position, length, kind, first_lsn, last_lsn))


def _frame_from(data: memoryview, position: int, nonce: int) -> tuple[int, Frame] | None:
    """Position and content of the next intact frame at or after a position."""
    frame = parse_frame(data, position, nonce)
    if frame is not None:
        return position, frame
    for at in _magic_positions(data, position + 1):
        frame = parse_frame(data, at, nonce)
        if frame is not None:
            return at, frame
    return None


def _first_nonce(data: memoryview) -> int | None:
    """Nonce in the first intact frame."""
    for at in _magic_positions(data, HEAD_SIZE):
        if at + FRAME_HEAD.size <= len(data):
            nonce: int = FRAME_HEAD.unpack_from(data, at)[4]
            if parse_frame(data, at, nonce) is not None:
                return nonce
    return None


def _magic_positions(data: memoryview, start: int) -> Iterator[int]:
    content = data.obj
    assert isinstance(content, bytes)
    at = content.find(FRAME_MAGIC, start)
    while at >= 0:
        yield at
        at = content.find(FRAME_MAGIC, at + 1)


def _looks_like_a_frame(data: memoryview, position: int, nonce: int) -> bool:
    """True if a frame of this file begins here, as its random nonce shows."""
    if position + FRAME_HEAD.size > len(data):
        return False
    found: int = FRAME_HEAD.unpack_from(data, position)[4]
    return (found ^ nonce).bit_count() <= NEAR_BITS


def _likely_size(data: memoryview, position: int) -> int:
    length: int = FRAME_HEAD.unpack_from(data, position)[2]
    size = FRAME_HEAD.size + length
    return size if length <= MAX_FRAME and position + size <= len(data) else FRAME_HEAD.size
