"""Read the journal back after a stop, clean or not.

Entries are taken in the order of their LSNs without a gap. Where one is unreadable, the rest of the journal
tells what happened: if a later entry says that it was durable, it is damage, reported and stepped over; if none
does, it is the torn tail of the last writes before the crash, which nobody was told of, and it is wiped.
"""

from collections import deque
from collections.abc import Iterator
from contextlib import closing
from itertools import groupby
from typing import NamedTuple

import msgspec

from goqueue.adapters.disk.files import File, FileSystem
from goqueue.adapters.disk.journal import JournalFile, journal_path, journal_sequence
from goqueue.adapters.disk.journal_format import (
    FRAME_HEAD,
    FRAME_MAGIC,
    HEAD_SIZE,
    Frame,
    first_nonce,
    parse_file_head,
    parse_frame,
)

__all__ = ["JournalDamage", "JournalReplay"]


class JournalDamage(msgspec.Struct, frozen=True):
    """Entries that were durable once and can no longer be read."""

    file: str
    position: int
    first_lsn: int
    last_lsn: int

    def __str__(self) -> str:
        return f"{self.file}: journal entries {self.first_lsn} to {self.last_lsn} unreadable at byte {self.position}"


OPENING_BYTES = 64 * 1024
WHOLE = 1 << 40


class _File(NamedTuple):
    nonce: int
    data: memoryview


class _Place(NamedTuple):
    file: int
    position: int


class _Taken(NamedTuple):
    place: _Place
    lsn: int
    size: int


class JournalReplay:
    """Iterating gives the frames after `after_lsn`; then the rest of the attributes is known."""

    def __init__(self, files: FileSystem, folder: str, after_lsn: int) -> None:
        self._files = files
        self._folder = folder
        self._after_lsn = after_lsn
        self._sequences = sorted(s for s in map(journal_sequence, files.list(folder)) if s is not None)
        self._loaded: tuple[int, _File | None] | None = None
        self._unproven: deque[_Taken] = deque()
        self._lost: list[_Place] = []
        self.last_lsn = after_lsn
        self.last_sequence = self._sequences[-1] if self._sequences else 0
        self.full: list[JournalFile] = []
        self.damage: list[JournalDamage] = []
        self.dropped_bytes = 0

    def __iter__(self) -> Iterator[Frame]:
        place: _Place | None = _Place(0, HEAD_SIZE)
        while place is not None:
            frame = self._frame_at(place)
            if frame is None or frame.lsn > self.last_lsn + 1:
                place = self._after_unreadable(place)
                continue
            if frame.lsn == self.last_lsn + 1:
                self.last_lsn = frame.lsn
                self._take(place, frame)
                yield frame
            place = _Place(place.file, place.position + frame.size)
        self._close_files()

    def _take(self, place: _Place, frame: Frame) -> None:
        while self._unproven and self._unproven[0].lsn <= frame.durable_lsn:
            self._unproven.popleft()
        self._unproven.append(_Taken(place, frame.lsn, frame.size))

    # Which frame comes next.

    def _frame_at(self, place: _Place) -> Frame | None:
        file = self._load(place.file)
        return parse_frame(file.data, place.position, file.nonce) if file else None

    def _after_unreadable(self, place: _Place) -> _Place | None:
        """Where to go on behind a place that holds no frame, or None at the end of the journal."""
        if place.file >= len(self._sequences):
            return None
        self._finish(place)
        expected = self.last_lsn + 1
        for number in range(place.file + 1, len(self._sequences)):
            opening = self._opening_lsn(number)
            if opening is not None and opening <= expected:
                return _Place(number, HEAD_SIZE)
        later = list(self._later_frames(place, expected))
        if any(frame.lsn == expected or frame.durable_lsn >= expected for _, frame in later):
            target, first = later[0]
            if first.lsn > expected:
                name = journal_path(self._folder, self._sequences[place.file])
                self.damage.append(JournalDamage(name, place.position, expected, first.lsn - 1))
            self.last_lsn = first.lsn - 1
            return target
        self._lost = [target for target, _ in later]
        self.dropped_bytes = sum(frame.size for _, frame in later)
        return None

    def _later_frames(self, place: _Place, expected: int) -> Iterator[tuple[_Place, Frame]]:
        """Intact frames beyond a place, from `expected` on, without holding their bytes."""
        position = place.position + 1
        for number in range(place.file, len(self._sequences)):
            file = self._load(number)
            if file is not None:
                for at in _magic_positions(file.data, position):
                    frame = parse_frame(file.data, at, file.nonce)
                    if frame is not None and frame.lsn >= expected:
                        yield _Place(number, at), frame._replace(body=memoryview(b""))
            position = HEAD_SIZE

    # Files.

    def _load(self, number: int) -> _File | None:
        """One file at a time is held in memory."""
        if number >= len(self._sequences):
            return None
        if self._loaded is None or self._loaded[0] != number:
            self._loaded = None
            self._loaded = (number, self._read(number))
        return self._loaded[1]

    def _opening_lsn(self, number: int) -> int | None:
        """LSN of the first frame of a file, read without loading the whole of it."""
        for length in (OPENING_BYTES, WHOLE):
            file = self._read(number, length)
            frame = parse_frame(file.data, HEAD_SIZE, file.nonce) if file else None
            if frame is not None:
                return frame.lsn
        return None

    def _read(self, number: int, length: int = WHOLE) -> _File | None:
        sequence = self._sequences[number]
        with self._open(number) as file:
            data = memoryview(file.read(0, min(length, file.size())))
        head = parse_file_head(data)
        if head is not None:
            # A spare file taken into use again, whose new head did not reach the disk, holds nothing of ours.
            return _File(head[1], data) if head[0] == sequence else None
        nonce = first_nonce(data)
        return _File(nonce, data) if nonce is not None else None

    def _finish(self, place: _Place) -> None:
        sequence = self._sequences[place.file]
        if not self.full or self.full[-1].sequence < sequence:
            self.full.append(JournalFile(sequence, self.last_lsn, place.position - HEAD_SIZE))

    def _close_files(self) -> None:
        """Account for files never reached, and settle where the journal ends: new LSNs will follow on it."""
        known = {file.sequence for file in self.full}
        self.full += [JournalFile(s, self.last_lsn, 0) for s in self._sequences if s not in known]
        self._loaded = None
        self.prove()
        for number, places in groupby(self._lost, key=lambda place: place.file):
            with self._open(number) as file:
                for place in places:
                    file.write(place.position, [bytes(FRAME_HEAD.size)])
                file.sync()

    def prove(self) -> None:
        """Make the frames given out so far durable.

        Those that no later frame calls durable may be in the page cache only, even marked as written there after a
        sync that failed, so that another sync would prove nothing: they are written again.
        """
        for number, frames in groupby(self._unproven, key=lambda taken: taken.place.file):
            with self._open(number) as file:
                for place, _, size in frames:
                    file.write(place.position, [file.read(place.position, size)])
                file.sync()
        self._unproven.clear()

    def _open(self, number: int) -> closing[File]:
        return closing(self._files.open(journal_path(self._folder, self._sequences[number])))


def _magic_positions(data: memoryview, start: int) -> Iterator[int]:
    content = data.obj
    assert isinstance(content, bytes)
    at = content.find(FRAME_MAGIC, start)
    while at >= 0:
        yield at
        at = content.find(FRAME_MAGIC, at + 1)
