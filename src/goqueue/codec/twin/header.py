"""Record header and headers block: parsing and validation."""

import struct
from typing import Final, TypeAlias

from google_crc32c import extend, value

from goqueue.codec.faults import HEADER_SIZE, MAX_PRIORITY, MAX_VALUE, Fault, corrupt
from goqueue.model.record import Flag

__all__ = [
    "COMMIT",
    "COMPRESSED",
    "CONTROL",
    "EMPTY_KEY",
    "HAS_HEADERS",
    "HEADER",
    "TOMBSTONE",
    "Buffer",
    "Fields",
    "crc32c",
    "fault_of",
    "headers_fault",
    "read_headers",
    "readable",
    "stored_fault",
    "value",
    "view_of",
    "whole_record",
]

Buffer: TypeAlias = bytes | bytearray | memoryview
# magic, version, flags, crc, offset, timestamp, priority, copy of the flags, key, value and headers length
Fields: TypeAlias = tuple[int, int, int, int, int, int, int, int, int, int, int]

HEADER: Final = struct.Struct(">HBBIqqBBHIH")
MAGIC: Final = 0x4751
_PAIR: Final = struct.Struct(">H")

# Reading an enum member costs as much as several operations on a plain int, and this runs for every record.
COMPRESSED: Final = int(Flag.COMPRESSED)
HAS_HEADERS: Final = int(Flag.HAS_HEADERS)
TOMBSTONE: Final = int(Flag.TOMBSTONE)
CONTROL: Final = int(Flag.CONTROL)
COMMIT: Final = int(Flag.COMMIT)
EMPTY_KEY: Final = int(Flag.EMPTY_KEY)
_UNKNOWN: Final = 0xFF & ~(COMPRESSED | HAS_HEADERS | TOMBSTONE | CONTROL | COMMIT | EMPTY_KEY)


def view_of(buf: Buffer) -> memoryview:
    view = memoryview(buf)
    if not view.c_contiguous:
        raise BufferError("memoryview: underlying buffer is not C-contiguous")
    return view if view.format == "B" and view.ndim == 1 else view.cast("B")


def readable(buf: Buffer) -> bytes:
    """google-crc32c accepts only bytes, so any other buffer is copied once here."""
    return buf if type(buf) is bytes else bytes(view_of(buf))


def crc32c(buf: Buffer, crc: int = 0) -> int:
    """CRC-32C of `buf`, continued from `crc`."""
    return int(extend(crc & 0xFFFFFFFF, readable(buf)))


def fault_of(fields: Fields, *, client: bool = False) -> int:
    """Check a header by value: the CRC does not cover bytes 0..7, and it can be right for a wrong record."""
    magic, version, flags, _, offset, timestamp, priority, copy, key, size, headers = fields
    if magic != MAGIC:
        return Fault.MAGIC
    if version != 1:
        return Fault.VERSION
    if flags & _UNKNOWN:
        return Fault.UNKNOWN_FLAGS
    if copy != flags and not (client and copy == 0):
        return Fault.FLAGS_COPY
    if (headers > 0) != bool(flags & HAS_HEADERS):
        return Fault.HEADERS_FLAG
    if headers == 1:
        return Fault.HEADERS_SHORT
    if flags & ~HAS_HEADERS:
        fault = _flags_fault(flags, key, size)
        if fault:
            return fault
    if size > MAX_VALUE:
        return Fault.VALUE_TOO_LARGE
    if priority > MAX_PRIORITY:
        return Fault.PRIORITY
    if offset < 0:
        return Fault.OFFSET
    return Fault.TIMESTAMP if timestamp < 0 else 0


def _flags_fault(flags: int, key: int, size: int) -> int:
    if flags & TOMBSTONE and size:
        return Fault.TOMBSTONE_VALUE
    if flags & TOMBSTONE and flags & (CONTROL | COMPRESSED):
        return Fault.TOMBSTONE_FLAGS
    if flags & COMMIT and not flags & CONTROL:
        return Fault.COMMIT_ALONE
    if flags & CONTROL and flags & COMPRESSED:
        return Fault.CONTROL_COMPRESSED
    return Fault.EMPTY_KEY_LENGTH if flags & EMPTY_KEY and key else 0


def stored_fault(data: bytes, position: int, fields: Fields, end: int) -> int:
    """The fault of the stored record from `position` to `end`, including its CRC; 0 if it is intact."""
    fault = fault_of(fields)
    if fault:
        return fault
    if end > len(data):
        return Fault.SHORT_BODY
    return 0 if value(data[position + 8 : end]) == fields[3] else Fault.CRC


def framed_record(data: bytes, number: int, position: int) -> tuple[Fields, int]:
    """Like `whole_record`, without checking the CRC."""
    if len(data) - position < HEADER_SIZE:
        raise corrupt(Fault.SHORT_HEADER, data, number, position)
    fields = HEADER.unpack_from(data, position)
    end = position + HEADER_SIZE + fields[8] + fields[9] + fields[10]
    fault = fault_of(fields) or (Fault.SHORT_BODY if end > len(data) else 0)
    if fault:
        raise corrupt(fault, data, number, position)
    return fields, end


def check_sum(data: bytes, number: int, position: int, fields: Fields, end: int) -> None:
    if value(data[position + 8 : end]) != fields[3]:
        raise corrupt(Fault.CRC, data, number, position)


def whole_record(data: bytes, number: int, position: int) -> tuple[Fields, int]:
    """The fields and the end of an intact stored record; raises CorruptBatch if there is none at `position`."""
    fields, end = framed_record(data, number, position)
    check_sum(data, number, position, fields, end)
    return fields, end


def headers_fault(block: bytes) -> int:
    """The fault of a headers block; 0 if it is well formed."""
    headers = _parse_headers(block)
    return headers if isinstance(headers, int) else 0


def read_headers(data: bytes, start: int, end: int, number: int, position: int) -> tuple[tuple[str, bytes], ...]:
    """The headers of record `number` at `position`; raises CorruptBatch if their block is malformed."""
    if start == end:
        return ()
    headers = _parse_headers(data[start:end])
    if isinstance(headers, int):
        raise corrupt(headers, data, number, position)
    return headers


def _parse_headers(block: bytes) -> int | tuple[tuple[str, bytes], ...]:
    """The headers in a block, or the fault that makes it invalid."""
    size = len(block)
    count: int = _PAIR.unpack_from(block)[0]
    if count == 0:
        return Fault.HEADERS_NONE
    headers: list[tuple[str, bytes]] = []
    at = 2
    for _ in range(count):
        if at + 2 > size:
            return Fault.HEADERS_OVERRUN
        key_end = at + 2 + _PAIR.unpack_from(block, at)[0]
        if key_end + 2 > size:
            return Fault.HEADERS_OVERRUN
        value_end = key_end + 2 + _PAIR.unpack_from(block, key_end)[0]
        if value_end > size:
            return Fault.HEADERS_OVERRUN
        try:
            key = block[at + 2 : key_end].decode()
        except UnicodeDecodeError:
            return Fault.HEADERS_UTF8
        headers.append((key, block[key_end + 2 : value_end]))
        at = value_end
    return tuple(headers) if at == size else Fault.HEADERS_LEFTOVER
