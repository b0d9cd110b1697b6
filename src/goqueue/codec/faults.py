"""Faults: the ways in which bytes can fail to be a record, and the errors that report them.

Both codecs find faults by number, in the same order, and leave the wording to this module: a fault is rare, so Python
is fast enough, and the message is the same whichever codec is active.
"""

import struct
from enum import IntEnum
from typing import Final

from goqueue.errors import CorruptBatch, GoQueueError, InvalidRecord, InvalidRequest, RecordTooLarge

__all__ = [
    "ARROW_MAX",
    "HEADER_SIZE",
    "I64_MAX",
    "MAX_HEADERS",
    "MAX_KEY",
    "MAX_PRIORITY",
    "MAX_VALUE",
    "NORMAL_PRIORITY",
    "U32_MAX",
    "Fault",
    "check_arrow_size",
    "check_index_arguments",
    "check_stamp_arguments",
    "check_start",
    "corrupt",
    "empty_batch",
    "invalid",
    "too_large",
]

HEADER_SIZE: Final = 34
MAX_KEY: Final = 65_535
MAX_HEADERS: Final = 65_535
MAX_VALUE: Final = 16_777_216
MAX_PRIORITY: Final = 4
NORMAL_PRIORITY: Final = 2
I64_MAX: Final = (1 << 63) - 1
U32_MAX: Final = (1 << 32) - 1
ARROW_MAX: Final = (1 << 31) - 1

_HEADER = struct.Struct(">2sBBIqqBBHIH")


class Fault(IntEnum):
    """In the order in which they are checked; record.pyx repeats these numbers."""

    NONE = 0
    SHORT_HEADER = 1
    MAGIC = 2
    VERSION = 3
    UNKNOWN_FLAGS = 4
    FLAGS_COPY = 5
    HEADERS_FLAG = 6
    HEADERS_SHORT = 7
    TOMBSTONE_VALUE = 8
    TOMBSTONE_FLAGS = 9
    COMMIT_ALONE = 10
    CONTROL_COMPRESSED = 11
    EMPTY_KEY_LENGTH = 12
    VALUE_TOO_LARGE = 13
    PRIORITY = 14
    OFFSET = 15
    TIMESTAMP = 16
    SHORT_BODY = 17
    CRC = 18
    HEADERS_NONE = 19
    HEADERS_OVERRUN = 20
    HEADERS_LEFTOVER = 21
    HEADERS_UTF8 = 22


_WORDS: Final = {
    Fault.SHORT_HEADER: "{left} bytes are left, a record header takes 34",
    Fault.MAGIC: "the magic is 0x{magic}, not 0x4751 ('GQ')",
    Fault.VERSION: "the version is {version}, this codec reads version 1",
    Fault.UNKNOWN_FLAGS: "the flags 0x{flags:02x} have bits that mean nothing",
    Fault.FLAGS_COPY: "byte 25 is 0x{copy:02x}, the flags are 0x{flags:02x}",
    Fault.HEADERS_FLAG: "the flags 0x{flags:02x} and a headers length of {headers} contradict each other",
    Fault.HEADERS_SHORT: "a headers length of {headers} has no room for the count",
    Fault.TOMBSTONE_VALUE: "a tombstone with a value of {value} bytes",
    Fault.TOMBSTONE_FLAGS: "a tombstone cannot be compressed or a control record (flags 0x{flags:02x})",
    Fault.COMMIT_ALONE: "the commit flag without the control flag (flags 0x{flags:02x})",
    Fault.CONTROL_COMPRESSED: "a control record cannot be compressed (flags 0x{flags:02x})",
    Fault.EMPTY_KEY_LENGTH: "flagged as having an empty key, but the key length is {key}",
    Fault.VALUE_TOO_LARGE: "the value is {value} bytes, the limit is 16777216",
    Fault.PRIORITY: "the priority is {priority}, the highest number is 4",
    Fault.OFFSET: "the offset {offset} is negative",
    Fault.TIMESTAMP: "the timestamp {timestamp} is negative",
    Fault.SHORT_BODY: "the record takes {size} bytes, {left} are left",
    Fault.CRC: "the CRC-32C 0x{crc:08x} in the header does not match the bytes",
    Fault.HEADERS_NONE: "a headers block with a count of 0",
    Fault.HEADERS_OVERRUN: "a header runs past the end of the headers block",
    Fault.HEADERS_LEFTOVER: "bytes are left in the headers block after the last header",
    Fault.HEADERS_UTF8: "a header key is not valid UTF-8",
}


def corrupt(
    fault: int, buf: bytes | bytearray | memoryview, number: int, position: int, *, client: bool = False
) -> GoQueueError:
    """The error for a fault in record `number` (counted from 0), whose first byte is at `position` of `buf`."""
    view = memoryview(buf).cast("B")
    left = len(view) - position
    words = _WORDS[Fault(fault)]
    if fault == Fault.SHORT_HEADER:
        text = words.format(left=left)
    else:
        magic, version, flags, crc, offset, timestamp, priority, copy, key, value, headers = _HEADER.unpack_from(
            view, position
        )
        text = words.format(
            left=left, magic=magic.hex(), version=version, flags=flags, crc=crc, offset=offset, timestamp=timestamp,
            priority=priority, copy=copy, key=key, value=value, headers=headers,
            size=HEADER_SIZE + key + value + headers,
        )  # fmt: skip
    message = f"record {number} at byte {position}: {text}"
    if client and fault == Fault.VALUE_TOO_LARGE:
        return RecordTooLarge(message)
    return CorruptBatch(message, position=position)


def empty_batch() -> CorruptBatch:
    return CorruptBatch("the batch is empty: it must hold at least one record", position=0)


def invalid(number: int, text: str) -> InvalidRecord:
    """The error for record `number` (counted from 0) of the records given for encoding."""
    return InvalidRecord(f"record {number}: {text}")


def too_large(number: int, what: str, size: int, limit: int) -> RecordTooLarge:
    return RecordTooLarge(f"record {number}: the {what} is {size} bytes, the limit is {limit}")


def check_start(start: int, size: int) -> None:
    if not 0 <= start <= size:
        raise ValueError(f"start {start} is outside the buffer of {size} bytes")


def check_stamp_arguments(base_offset: int, timestamp_ns: int, size: int) -> None:
    """A batch of `size` bytes holds fewer than `size` records, so no offset can overflow either."""
    if not 0 <= base_offset <= I64_MAX - size:
        raise ValueError(f"base_offset {base_offset} is outside 0..2**63-1")
    if not 0 <= timestamp_ns <= I64_MAX:
        raise ValueError(f"timestamp_ns {timestamp_ns} is outside 0..2**63-1")


def check_index_arguments(file_position: int, next_at: int, interval: int, max_timestamp_ns: int, size: int) -> None:
    if not 0 <= file_position <= U32_MAX + 1 - size:
        raise ValueError(f"{size} bytes at file position {file_position} do not fit a file of 4 GiB")
    if not 0 <= next_at <= I64_MAX:
        raise ValueError(f"next_at {next_at} is outside 0..2**63-1")
    if not 1 <= interval <= U32_MAX:
        raise ValueError(f"interval {interval} is outside 1..2**32-1")
    if not -1 <= max_timestamp_ns <= I64_MAX:
        raise ValueError(f"max_timestamp_ns {max_timestamp_ns} is outside -1..2**63-1")


def check_arrow_size(size: int) -> None:
    """Arrow's binary columns have 32-bit offsets."""
    if size > ARROW_MAX:
        raise InvalidRequest(f"{size} bytes of records do not fit one Arrow batch, the limit is {ARROW_MAX}")
