"""Walk the records of a log file, checking each one, and step over what is damaged.

The one place that decides what on disk is a record: reads, index building, compaction, verification and repair
all go through it.
"""

import struct
from collections.abc import Iterator
from typing import NamedTuple

from goqueue import codec
from goqueue.adapters.disk.files import File

__all__ = ["WINDOW_BYTES", "Gap", "Run", "walk"]

WINDOW_BYTES = 1 << 20
LONGEST_RECORD = codec.HEADER_SIZE + codec.MAX_KEY + codec.MAX_VALUE + codec.MAX_HEADERS

_LENGTHS = struct.Struct(">HIH")
_LENGTHS_AT = 26


class Run(NamedTuple):
    """Intact records that lie one after the other."""

    position: int
    records: memoryview
    first_offset: int
    last_offset: int
    max_timestamp_ns: int


class Gap(NamedTuple):
    """Bytes that hold no intact record; the offsets are the bounds of what may have been there."""

    position: int
    length: int
    first_offset: int
    last_offset: int
    reason: str


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

    `expected_offset` is the lowest offset that may come first, `next_offset` the first one beyond the file: a
    record outside these bounds is not taken for one of this file after damage.
    """
    window = max(window, codec.HEADER_SIZE)
    want = window
    while position < end and (limit_offset is None or expected_offset < limit_offset):
        asked = min(want, end - position)
        data = file.read(position, asked)
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
        gap = _gap_at(file, position, end, expected_offset, next_offset, found.stop)
        yield gap
        position += gap.length
        expected_offset = gap.last_offset + 1
        want = window


def _length_of_first(data: bytes) -> int:
    if len(data) < codec.HEADER_SIZE:
        return codec.HEADER_SIZE
    key, value, headers = _LENGTHS.unpack_from(data, _LENGTHS_AT)
    return codec.HEADER_SIZE + int(key + value + headers)


def _length_if_followed(file: File, position: int, end: int, expected_offset: int, next_offset: int) -> int | None:
    """The length that a damaged record states, if the very next record, or the end of the log, is right behind it.

    Then only this one is damaged, and its value is not searched: it may hold the bytes of records of another log.
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


def _gap_at(file: File, position: int, end: int, expected_offset: int, next_offset: int, stop: str) -> Gap:
    reason = "torn record" if stop == "torn" else "damaged record"
    length = _length_if_followed(file, position, end, expected_offset, next_offset)
    if length is not None:
        return Gap(position, length, expected_offset, expected_offset, reason)
    # Damage is rare and mostly small, so a short stretch is searched before the whole rest of the file.
    for length in (WINDOW_BYTES, end - position):
        data = file.read(position, min(length, end - position))
        at = codec.find_next(data, 1, expected_offset, next_offset - 1)
        if at >= 0:
            _, offset = codec.seek(data, 0, at)
            return Gap(position, at, expected_offset, offset - 1, reason)
    return Gap(position, end - position, expected_offset, next_offset - 1, reason)
