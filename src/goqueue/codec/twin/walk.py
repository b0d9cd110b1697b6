"""Walking stored bytes: verification, seeking and index entries."""

import struct
from array import array
from collections.abc import Iterable, Iterator
from typing import Final

from goqueue.codec.faults import HEADER_SIZE, Fault, check_index_arguments, check_start
from goqueue.codec.results import IndexEntries, Scan, Stop
from goqueue.codec.twin.header import (
    CONTROL,
    HEADER,
    Buffer,
    Fields,
    check_sum,
    fault_of,
    framed_record,
    readable,
    stored_fault,
    value,
)

__all__ = ["FIND_BUDGET", "find_next", "index_entries", "pick", "scan", "seek", "seek_time", "starts", "unfold"]

FIND_BUDGET: Final = 1 << 30
LAST_OFFSET: Final = (1 << 63) - 1
_ENTRY: Final = struct.Struct(">qI")
_ENTRY_CRC: Final = struct.Struct(">I")


def scan(buf: Buffer, start: int = 0, limit_offset: int | None = None) -> Scan:
    """Verify stored records from `start` on, up to the first one that is not intact or is at `limit_offset`."""
    data = readable(buf)
    size = len(data)
    check_start(start, size)
    position = start
    count = 0
    first = last = max_timestamp = -1
    stop: Stop = "end"
    while position < size:
        if size - position < HEADER_SIZE:
            stop = "torn"
            break
        fields = HEADER.unpack_from(data, position)
        end = position + HEADER_SIZE + fields[8] + fields[9] + fields[10]
        fault = stored_fault(data, position, fields, end)
        offset = fields[4]
        if fault or offset <= last:
            stop = "torn" if fault == Fault.SHORT_BODY else "damaged"
            break
        if limit_offset is not None and offset >= limit_offset:
            stop = "limit"
            break
        if not count:
            first = offset
        last = offset
        max_timestamp = max(max_timestamp, fields[5])
        count += 1
        position = end
    return Scan(count, position, first, last, max_timestamp, stop)


def find_next(buf: Buffer, start: int, min_offset: int, max_offset: int) -> int:
    """The position of the next intact record with an offset in min_offset..max_offset, or -1.

    Hostile bytes that look like headers could ask for a CRC over the rest of the buffer at every step, so at most
    FIND_BUDGET bytes are summed in total: a candidate longer than the remaining budget is skipped.
    """
    data = readable(buf)
    size = len(data)
    check_start(start, size)
    budget = FIND_BUDGET
    position = data.find(b"GQ", start)
    while position >= 0 and size - position >= HEADER_SIZE:
        fields = HEADER.unpack_from(data, position)
        end = position + HEADER_SIZE + fields[8] + fields[9] + fields[10]
        cost = end - position - 8
        if min_offset <= fields[4] <= max_offset and end <= size and cost <= budget and not fault_of(fields):
            if value(data[position + 8 : end]) == fields[3]:
                return position
            budget -= cost
        position = data.find(b"GQ", position + 1)
    return -1


def _walk(data: bytes, start: int) -> Iterator[tuple[int, Fields, int]]:
    """Position, fields and end of each record from `start` on, checked by value only, up to the first invalid one."""
    check_start(start, len(data))
    position = start
    while len(data) - position >= HEADER_SIZE:
        fields = HEADER.unpack_from(data, position)
        end = position + HEADER_SIZE + fields[8] + fields[9] + fields[10]
        if end > len(data) or fault_of(fields):
            return
        yield position, fields, end
        position = end


def seek(buf: Buffer, offset: int, start: int = 0) -> tuple[int, int]:
    """Position and offset of the first record at or after `offset`; (where the walk ended, -1) if there is none."""
    end = start
    for position, fields, after in _walk(readable(buf), start):
        if fields[4] >= offset:
            return position, fields[4]
        end = after
    return end, -1


def seek_time(buf: Buffer, timestamp_ns: int, start: int = 0) -> tuple[int, int]:
    """Position and offset of the first record stamped at or after `timestamp_ns`, like `seek`."""
    end = start
    for position, fields, after in _walk(readable(buf), start):
        if fields[5] >= timestamp_ns:
            return position, fields[4]
        end = after
    return end, -1


def index_entries(buf: Buffer, file_position: int, next_at: int, interval: int, max_timestamp_ns: int) -> IndexEntries:
    """Index entries for the records in `buf`, at `file_position` of its file, about one per `interval` bytes.

    A time entry holds the highest timestamp *before* its record: a search for a time may then start at the last entry
    below it and misses nothing, in whatever order the timestamps are.
    """
    data = readable(buf)
    check_index_arguments(file_position, next_at, interval, max_timestamp_ns, len(data))
    offsets = bytearray()
    times = bytearray()
    for position, fields, _ in _walk(data, 0):
        at = file_position + position
        if at >= next_at:
            offsets += _entry(fields[4], at)
            times += _entry(max_timestamp_ns, at)
            next_at = at + interval
        max_timestamp_ns = max(max_timestamp_ns, fields[5])
    return IndexEntries(bytes(offsets), bytes(times), next_at, max_timestamp_ns)


def _entry(number: int, position: int) -> bytes:
    head = _ENTRY.pack(number, position)
    return head + _ENTRY_CRC.pack(value(head))


def pick(buf: Buffer, wanted: Buffer) -> tuple[bytes, bytes]:
    """The records at these offsets, and which of the offsets were found; control records are never returned.

    Offsets are passed and returned as packed native 64-bit integers, ascending. Raises CorruptBatch at a record that is
    not intact; of the records skipped only the frame is read, as they were verified when the bytes were read.
    """
    data = readable(buf)
    offsets = array("q", readable(wanted))
    kept: list[bytes] = []
    found = array("q")
    position = number = at = 0
    while position < len(data) and at < len(offsets):
        fields, end = framed_record(data, number, position)
        while at < len(offsets) and offsets[at] < fields[4]:
            at += 1
        if at < len(offsets) and offsets[at] == fields[4]:
            check_sum(data, number, position, fields, end)
            if not fields[2] & CONTROL:
                kept.append(data[position:end])
                found.append(fields[4])
            at += 1
        position = end
        number += 1
    return b"".join(kept), found.tobytes()


def starts(buf: Buffer) -> bytes:
    """Start positions of all records, and the end of the last one, as packed native 64-bit integers.

    Only frames are read, as for the records that `pick` skips; raises CorruptBatch at an invalid one.
    """
    data = readable(buf)
    found = array("q")
    position = 0
    while position < len(data):
        end = framed_record(data, len(found), position)[1]
        found.append(position)
        position = end
    found.append(position)
    return found.tobytes()


def unfold(runs: Iterable[tuple[int, int]], most: int) -> bytes | None:
    """The offsets of runs, given as tuples (first, count), as packed native 64-bit integers.

    None if there are more than `most`, if a run is empty, or if a value is not an offset.
    """
    found = array("q")
    for first, count in runs:
        if first < 0 or count < 1 or count > most - len(found) or first > LAST_OFFSET - count:
            return None
        found.extend(range(first, first + count))
    return found.tobytes()
