"""Walk over the records of a log file: each record is checked, damaged ranges are skipped.

Only this module decides which bytes on disk are a record: reads, index building, compaction, verification and
repair all use it.
"""

import errno
import struct
from collections.abc import Iterator
from typing import NamedTuple

from goqueue import codec
from goqueue.adapters.disk.files import File

__all__ = ["UNREADABLE", "WINDOW_BYTES", "Gap", "Run", "read_around", "walk"]

WINDOW_BYTES = 1 << 20
BLOCK_BYTES = 4096
"""Smallest unit of a disk read: bytes are unreadable by whole blocks."""
UNREADABLE = "unreadable: input/output error"
"""Reason of a gap that the disk could not read, as opposed to one with wrong bytes."""
LONGEST_RECORD = codec.HEADER_SIZE + codec.MAX_KEY + codec.MAX_VALUE + codec.MAX_HEADERS

_LENGTHS = struct.Struct(">HIH")
_LENGTHS_AT = 26


class Run(NamedTuple):
    """Consecutive intact records."""

    position: int
    records: memoryview
    first_offset: int
    last_offset: int
    max_timestamp_ns: int


class Gap(NamedTuple):
    """Bytes without an intact record; the offsets are the bounds of the records that may have been there."""

    position: int
    length: int
    first_offset: int
    last_offset: int
    reason: str


def read_around(file: File, position: int, length: int, unreadable: set[int] | None = None) -> bytes:
    """`read` of the file, with zeros for unreadable blocks, whose positions are added to `unreadable`."""
    try:
        return file.read(position, length)
    except OSError as error:
        if error.errno != errno.EIO:
            raise
    blocks = []
    end = position + length
    while position < end:
        size = min(BLOCK_BYTES - position % BLOCK_BYTES, end - position)
        try:
            block = file.read(position, size)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            block = bytes(size)
            if unreadable is not None:
                unreadable.add(position)
        blocks.append(block)
        if len(block) < size:
            break
        position += size
    return b"".join(blocks)


class _Source:
    """File with possibly unreadable blocks, which are read as zeros and fail the checksums."""

    def __init__(self, file: File) -> None:
        self._file = file
        self._unreadable: set[int] = set()

    def read(self, position: int, length: int) -> bytes:
        return read_around(self._file, position, length, self._unreadable)

    def blamed(self, gap: Gap) -> Gap:
        """The gap, with UNREADABLE as its reason if the disk could not read a part of it."""
        first, end = gap.position - BLOCK_BYTES, gap.position + gap.length
        return gap._replace(reason=UNREADABLE) if any(first < at < end for at in self._unreadable) else gap


def walk(
    file: File,
    position: int,
    end: int,
    *,
    expected_offset: int,
    next_offset: int,
    limit_offset: int | None = None,
    window: int = WINDOW_BYTES,
) -> Iterator[Run | Gap]:
    """Yield runs and gaps from `position` to `end`, or up to the first record at or above `limit_offset`.

    `expected_offset` is the lowest offset that may come first, `next_offset` the first one beyond the file: after
    damage, a record outside these bounds is ignored.
    """
    source = _Source(file)
    window = max(window, codec.HEADER_SIZE)
    want = window
    while position < end and (limit_offset is None or expected_offset < limit_offset):
        asked = min(want, end - position)
        data = source.read(position, asked)
        if not data:
            yield Gap(position, end - position, expected_offset, next_offset - 1, "file ends early")
            return
        found = codec.scan(data, 0, limit_offset)
        if found.count and found.first_offset >= expected_offset:
            yield Run(
                position,
                memoryview(data)[: found.end],
                found.first_offset,
                found.last_offset,
                found.max_timestamp_ns,
            )
            position += found.end
            expected_offset = found.last_offset + 1
            want = window
            if found.stop == "limit":
                return
            continue
        if found.stop == "limit":
            return
        if not found.count and found.stop == "torn" and len(data) == asked and position + asked < end:
            want = _length_of_first(data)
            if want > len(data):
                continue
        gap = source.blamed(_gap_at(source, position, end, expected_offset, next_offset, found.stop))
        yield gap
        position += gap.length
        expected_offset = gap.last_offset + 1
        want = window


def _length_of_first(data: bytes) -> int:
    if len(data) < codec.HEADER_SIZE:
        return codec.HEADER_SIZE
    key, value, headers = _LENGTHS.unpack_from(data, _LENGTHS_AT)
    return codec.HEADER_SIZE + int(key + value + headers)


def _length_if_followed(file: "_Source", position: int, end: int, expected_offset: int, next_offset: int) -> int | None:
    """Stated length of a damaged record, if the next record or the end of the log follows right after it.

    Then only this record is damaged, and its value is not searched: it may contain the bytes of other records.
    """
    length = _length_of_first(file.read(position, codec.HEADER_SIZE))
    behind = position + length
    if behind >= end:
        return length if behind == end and expected_offset + 1 == next_offset else None
    following = _length_of_first(file.read(behind, codec.HEADER_SIZE))
    if following > LONGEST_RECORD:
        return None
    found = codec.scan(file.read(behind, min(following, end - behind)))
    return length if found.first_offset == expected_offset + 1 else None


def _gap_at(file: "_Source", position: int, end: int, expected_offset: int, next_offset: int, stop: str) -> Gap:
    reason = "torn record" if stop == "torn" else "damaged record"
    length = _length_if_followed(file, position, end, expected_offset, next_offset)
    if length is not None:
        return Gap(position, length, expected_offset, expected_offset, reason)
    # Damage is rare and mostly small, so a short range is searched before the whole rest of the file.
    for length in (WINDOW_BYTES, end - position):
        data = file.read(position, min(length, end - position))
        at = codec.find_next(data, 1, expected_offset, next_offset - 1)
        if at >= 0:
            _, offset = codec.seek(data, 0, at)
            return Gap(position, at, expected_offset, offset - 1, reason)
    return Gap(position, end - position, expected_offset, next_offset - 1, reason)
