"""Replay of the journal after a stop, clean or not.

Entries are read in the order of their LSNs, without a gap. The rest of the journal explains an unreadable entry: if a
later entry records it as durable, it is damage, which is reported and skipped; otherwise it is the torn tail of the
last writes before the crash, which were never confirmed, and it is erased.
"""

import re
import struct
from collections import deque
from collections.abc import Iterator
from contextlib import closing
from itertools import groupby
from typing import NamedTuple

import msgspec

from goqueue.adapters.disk.files import File, FileSystem
from goqueue.adapters.disk.journal import JournalEnd, JournalFile, journal_path, journal_sequence
from goqueue.adapters.disk.journal_format import (
    FRAME_HEAD,
    HEAD_SIZE,
    MAX_FRAME,
    Frame,
    first_nonce,
    parse_file_head,
    parse_frame,
)
from goqueue.adapters.disk.spare_journal import last_sequence

__all__ = ["JournalDamage", "JournalReplay"]


class JournalDamage(msgspec.Struct, frozen=True):
    """Entries that were durable and can no longer be read."""

    file: str
    position: int
    first_lsn: int
    last_lsn: int

    def __str__(self) -> str:
        return f"{self.file}: journal entries {self.first_lsn} to {self.last_lsn} unreadable at byte {self.position}"


PIECE_BYTES = 96 * 1024
"""Bytes read at a time. For larger reads the system has to clear new memory each time."""
NONCE = struct.Struct(">Q")
NONCE_AT = 16
"""Position of the nonce in the head of a frame."""


class _File(NamedTuple):
    nonce: int
    size: int


class _Piece(NamedTuple):
    """Bytes of a file from a position on."""

    file: int
    position: int
    data: memoryview

    def has(self, place: "_Place", size: int) -> bool:
        is_behind = self.file == place.file and self.position <= place.position
        return is_behind and place.position + size <= self.position + len(self.data)


class _Place(NamedTuple):
    file: int
    position: int


class _Taken(NamedTuple):
    place: _Place
    lsn: int
    size: int


class JournalReplay:
    """Iterable of the frames after `after_lsn`; the other attributes are valid after the iteration."""

    def __init__(self, files: FileSystem, folder: str, after_lsn: int) -> None:
        self._files = files
        self._folder = folder
        self._after_lsn = after_lsn
        names = files.list(folder)
        self._sequences = sorted(s for s in map(journal_sequence, names) if s is not None)
        self._known: dict[int, _File | None] = {}
        self._piece = _Piece(0, 0, memoryview(b""))
        self._reading: tuple[int, File] | None = None
        self._unproven: deque[_Taken] = deque()
        self._lost: list[_Place] = []
        self.last_lsn = after_lsn
        self.last_sequence = last_sequence(names)
        self.full: list[JournalFile] = []
        self.unused: list[int] = []
        """Files without entries."""
        self.end: JournalEnd | None = None
        """Position of the next entry; None if it must go to a new file."""
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

    # The next frame.

    def _frame_at(self, place: _Place) -> Frame | None:
        file = self._file(place.file)
        if file is None or place.position + FRAME_HEAD.size > file.size:
            return None
        piece = self._piece_with(place, FRAME_HEAD.size)
        _, _, length, _, nonce, _, _ = FRAME_HEAD.unpack_from(piece.data, place.position - piece.position)
        size = FRAME_HEAD.size + length
        if nonce != file.nonce or length > MAX_FRAME or place.position + size > file.size:
            return None
        piece = self._piece_with(place, size)
        return parse_frame(piece.data, place.position - piece.position, file.nonce)

    def _after_unreadable(self, place: _Place) -> _Place | None:
        """Position to continue at after an unreadable one, or None at the end of the journal."""
        if place.file >= len(self._sequences):
            return None
        self._finish(place)
        expected = self.last_lsn + 1
        for number in range(place.file + 1, len(self._sequences)):
            opening = self._frame_at(_Place(number, HEAD_SIZE))
            if opening is not None and opening.lsn <= expected:
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
        file = self._file(place.file)
        if file is not None and not self.damage:
            self.end = JournalEnd(self._sequences[place.file], file.nonce, place.position)
        return None

    def _later_frames(self, place: _Place, expected: int) -> Iterator[tuple[_Place, Frame]]:
        """Intact frames after a position, with LSNs from `expected` on, without holding their bytes."""
        position = place.position + 1
        for number in range(place.file, len(self._sequences)):
            for target in self._likely_places(_Place(number, position)):
                frame = self._frame_at(target)
                if frame is not None and frame.lsn >= expected:
                    yield target, frame._replace(body=memoryview(b""))
            position = HEAD_SIZE

    # Files.

    def _file(self, number: int) -> _File | None:
        if number >= len(self._sequences):
            return None
        if number not in self._known:
            self._known[number] = self._look_into(number)
        return self._known[number]

    def _look_into(self, number: int) -> _File | None:
        with self._open(number) as file:
            size = file.size()
            head = parse_file_head(file.read(0, HEAD_SIZE))
            if head is not None:
                # A reused spare file whose new head did not reach the disk has no entries of this use.
                return _File(head[1], size) if head[0] == self._sequences[number] else None
            nonce = first_nonce(memoryview(file.read(0, size)))
        return _File(nonce, size) if nonce is not None else None

    def _piece_with(self, place: _Place, size: int) -> _Piece:
        """Piece of the file with these bytes; one piece is held in memory at a time."""
        if not self._piece.has(place, size):
            data = self._file_to_read(place.file).read(place.position, max(size, PIECE_BYTES))
            self._piece = _Piece(place.file, place.position, memoryview(data))
        return self._piece

    def _file_to_read(self, number: int) -> File:
        """File for reading; it stays open until another one is read."""
        if self._reading is None or self._reading[0] != number:
            self._close_reading()
            self._reading = number, self._files.open(journal_path(self._folder, self._sequences[number]))
        return self._reading[1]

    def _close_reading(self) -> None:
        if self._reading is not None:
            self._reading[1].close()
            self._reading = None

    def _likely_places(self, place: _Place) -> Iterator[_Place]:
        """Positions from `place` on at which the nonce of the file is found as in the head of a frame."""
        file = self._file(place.file)
        if file is None:
            return
        nonce = re.compile(re.escape(NONCE.pack(file.nonce)))
        position = place.position
        while position + FRAME_HEAD.size <= file.size:
            piece = self._piece_with(_Place(place.file, position), FRAME_HEAD.size)
            found = nonce.search(piece.data, position - piece.position + NONCE_AT)
            if found is not None:
                position = piece.position + found.start() - NONCE_AT
                yield _Place(place.file, position)
                position += 1
            else:
                # The position after the last one whose nonce lies in this piece.
                position = piece.position + len(piece.data) - NONCE.size - NONCE_AT + 1

    def _finish(self, place: _Place) -> None:
        sequence = self._sequences[place.file]
        if not self.full or self.full[-1].sequence < sequence:
            self.full.append(JournalFile(sequence, self.last_lsn, place.position - HEAD_SIZE))

    def _close_files(self) -> None:
        """Account for files that were not reached, and determine the end of the journal for new LSNs."""
        self._close_reading()
        known = {file.sequence for file in self.full}
        unreached = [sequence for sequence in self._sequences if sequence not in known]
        if self.damage:
            # The unreadable entry may be in one of them.
            self.full += [JournalFile(sequence, self.last_lsn, 0) for sequence in unreached]
        else:
            self.unused = unreached
        self.prove()
        for number, places in groupby(self._lost, key=lambda place: place.file):
            with self._open(number) as file:
                for place in places:
                    file.write(place.position, [bytes(FRAME_HEAD.size)])
                file.sync()

    def prove(self) -> None:
        """Make the frames returned so far durable.

        Frames that no later frame records as durable may be in the page cache only, even marked as clean after a
        failed sync, so that another sync would prove nothing: they are written again.
        """
        for number, frames in groupby(self._unproven, key=lambda taken: taken.place.file):
            with self._open(number) as file:
                for place, _, size in frames:
                    file.write(place.position, [file.read(place.position, size)])
                file.sync()
        self._unproven.clear()

    def _open(self, number: int) -> closing[File]:
        return closing(self._files.open(journal_path(self._folder, self._sequences[number])))
