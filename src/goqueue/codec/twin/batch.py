"""Batches: records to bytes, bytes to records, and the broker's stamp on a client's batch."""

import struct
from collections.abc import Iterable, Sequence
from typing import Any, Final, TypeVar

from goqueue.codec.faults import (
    HEADER_SIZE,
    I64_MAX,
    MAX_HEADERS,
    MAX_KEY,
    MAX_PRIORITY,
    MAX_VALUE,
    NORMAL_PRIORITY,
    Fault,
    check_stamp_arguments,
    corrupt,
    empty_batch,
    invalid,
    too_large,
)
from goqueue.codec.results import Stamped
from goqueue.codec.twin.header import (
    COMMIT,
    COMPRESSED,
    CONTROL,
    EMPTY_KEY,
    HAS_HEADERS,
    HEADER,
    TOMBSTONE,
    Buffer,
    fault_of,
    headers_fault,
    read_headers,
    readable,
    value,
    view_of,
    whole_record,
)
from goqueue.model.record import Record

__all__ = ["decode", "decode_plain", "encode", "encode_values", "grouped", "rows", "stamp", "stamp_batch"]

Row = TypeVar("Row", bound=tuple[Any, ...])

_AFTER_CRC: Final = struct.Struct(">qqBBHIH")
_STAMP: Final = struct.Struct(">IqqBB")
_OFFSET_TO_COPY: Final = struct.Struct(">qqBB")
_COUNT: Final = struct.Struct(">H")
_GIVEN: Final = COMPRESSED | CONTROL | COMMIT


def encode(records: Iterable[Record]) -> bytes:
    """The records as bytes, in order, each with its CRC; offsets and timestamps as given."""
    parts: list[bytes] = []
    for number, record in enumerate(records):
        if not isinstance(record, Record):
            raise invalid(number, f"a {type(record).__name__} is not a Record")
        key = _checked_bytes(number, "key", record.key, MAX_KEY)
        body = _checked_bytes(number, "value", record.value, MAX_VALUE)
        headers = _headers_block(number, record.headers)
        priority = _checked_int(number, "priority", record.priority, MAX_PRIORITY)
        given = _checked_int(number, "flags", record.flags, 0xFF) & _GIVEN
        timestamp = _checked_int(number, "timestamp_ns", record.timestamp_ns, I64_MAX)
        offset = _checked_int(number, "offset", record.offset, I64_MAX)
        flags = _flags(number, given, key, body, headers)
        key = key or b""
        body = body or b""
        rest = b"".join(
            (
                _AFTER_CRC.pack(offset, timestamp, priority, flags, len(key), len(body), len(headers)),
                key,
                body,
                headers,
            )
        )
        parts.append(b"GQ\x01" + struct.pack(">BI", flags, value(rest)))
        parts.append(rest)
    return b"".join(parts)


def encode_values(
    values: Sequence[bytes | None],
    keys: Sequence[bytes | None] | None,
    headers: tuple[tuple[str, bytes], ...],
    priority: int,
) -> bytes:
    """Like `encode`, for records of these values and keys (None: no keys), all with these headers and this priority."""
    if keys is not None and len(keys) != len(values):
        raise ValueError(f"{len(keys)} keys for {len(values)} values")
    given = zip(values, keys or [None] * len(values), strict=True)
    return encode(Record(value, key, headers, priority) for value, key in given)


def _checked_bytes(number: int, what: str, data: object, limit: int) -> bytes | None:
    if data is None:
        return None
    if not isinstance(data, bytes):
        raise invalid(number, f"the {what} must be bytes or None, not {type(data).__name__}")
    if len(data) > limit:
        raise too_large(number, what, len(data), limit)
    return data


def _checked_int(number: int, what: str, given: object, limit: int) -> int:
    if not isinstance(given, int):
        raise invalid(number, f"the {what} must be an int, not {type(given).__name__}")
    if not 0 <= given <= limit:
        raise invalid(number, f"the {what} is outside 0..{limit}")
    return int(given)


def _headers_block(number: int, headers: object) -> bytes:
    if not isinstance(headers, tuple):
        raise invalid(number, f"the headers must be a tuple, not {type(headers).__name__}")
    if not headers:
        return b""
    parts: list[bytes] = []
    size = 2
    for pair in headers:
        if not (isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str) and isinstance(pair[1], bytes)):
            raise invalid(number, "a header must be a tuple of a str and a bytes")
        try:
            key = pair[0].encode()
        except UnicodeEncodeError:
            raise invalid(number, "a header key has a lone surrogate, which UTF-8 cannot carry") from None
        size += 4 + len(key) + len(pair[1])
        parts += (key, pair[1])
    if size > MAX_HEADERS:
        raise too_large(number, "headers block", size, MAX_HEADERS)
    return _COUNT.pack(len(headers)) + b"".join(_COUNT.pack(len(part)) + part for part in parts)


def _flags(number: int, given: int, key: bytes | None, body: bytes | None, headers: bytes) -> int:
    if body is None and given & (CONTROL | COMPRESSED):
        raise invalid(number, "a tombstone cannot be compressed or a control record")
    if given & COMMIT and not given & CONTROL:
        raise invalid(number, "the commit flag without the control flag")
    if given & CONTROL and given & COMPRESSED:
        raise invalid(number, "a control record cannot be compressed")
    flags = given
    if headers:
        flags |= HAS_HEADERS
    if body is None:
        flags |= TOMBSTONE
    if key is not None and not key:
        flags |= EMPTY_KEY
    return flags


def stamp(batch: bytearray | memoryview, base_offset: int, timestamp_ns: int, keep_timestamps: bool = False) -> Stamped:
    """Check each record of a client's batch and set its offset, its timestamp and a new CRC, in place.

    Offsets are assigned from `base_offset` on. With `keep_timestamps` a timestamp other than 0 stays. After an error,
    the content of the batch is undefined.
    """
    view = view_of(batch)
    if view.readonly:
        raise BufferError("Object is not writable.")
    size = len(view)
    check_stamp_arguments(base_offset, timestamp_ns, size)
    if not size:
        raise empty_batch()
    position = count = max_timestamp = largest_value = flags_seen = 0
    priorities = bytearray()
    while position < size:
        if size - position < HEADER_SIZE:
            raise corrupt(Fault.SHORT_HEADER, view, count, position)
        fields = HEADER.unpack_from(view, position)
        fault = fault_of(fields, client=True)
        if fault:
            raise corrupt(fault, view, count, position, client=True)
        _, _, flags, crc, _, timestamp, priority, _, key_size, value_size, headers_size = fields
        end = position + HEADER_SIZE + key_size + value_size + headers_size
        if end > size:
            raise corrupt(Fault.SHORT_BODY, view, count, position)
        rest = bytes(view[position + 8 : end])
        fault = 0 if value(rest) == crc else Fault.CRC
        if not fault and headers_size:
            fault = headers_fault(rest[len(rest) - headers_size :])
        if fault:
            raise corrupt(fault, view, count, position)
        if not (keep_timestamps and timestamp):
            timestamp = timestamp_ns
        stamped = _OFFSET_TO_COPY.pack(base_offset + count, timestamp, priority, flags)
        crc = value(stamped + rest[18:])
        _STAMP.pack_into(view, position + 4, crc, base_offset + count, timestamp, priority, flags)
        max_timestamp = max(max_timestamp, timestamp)
        largest_value = max(largest_value, value_size)
        flags_seen |= flags
        priorities.append(priority)
        count += 1
        position = end
    mixed = priorities.count(NORMAL_PRIORITY) < count
    return Stamped(count, max_timestamp, largest_value, flags_seen, bytes(priorities) if mixed else None)


def stamp_batch(
    batch: bytearray | memoryview, base_offset: int, timestamp_ns: int, keep_timestamps: bool = False
) -> tuple[int, int, int, int, bytes | None]:
    """Like `stamp`, with the result as a plain tuple, which is cheaper to create and to unpack."""
    count, max_timestamp_ns, largest_value, flags, priorities = stamp(batch, base_offset, timestamp_ns, keep_timestamps)
    return count, max_timestamp_ns, largest_value, flags, priorities


def decode(buf: Buffer) -> list[Record]:
    """The stored records in `buf`, which must hold nothing else; raises CorruptBatch if it does."""
    data = readable(buf)
    size = len(data)
    records: list[Record] = []
    position = 0
    while position < size:
        fields, end = whole_record(data, len(records), position)
        _, _, flags, _, offset, timestamp, priority, _, key_size, value_size, headers_size = fields
        value_at = position + HEADER_SIZE + key_size
        records.append(
            Record(
                value=None if flags & TOMBSTONE else data[value_at : value_at + value_size],
                key=data[position + HEADER_SIZE : value_at] if key_size or flags & EMPTY_KEY else None,
                headers=read_headers(data, end - headers_size, end, len(records), position),
                priority=priority,
                timestamp_ns=timestamp,
                offset=offset,
                flags=flags & _GIVEN,
            )
        )
        position = end
    return records


def decode_plain(buf: Buffer, kind: type[Row], before: tuple[object, ...]) -> list[Row] | None:
    """Like `decode`, with each record as a `kind` of tuple: `before`, offset, timestamp, key, value, headers, priority.

    None when some record cannot be returned as it is: one that is compressed, or a control record.
    """
    if not issubclass(kind, tuple):
        raise TypeError(f"{kind!r} is no kind of tuple")
    records = decode(buf)
    if any(one.flags for one in records):
        return None
    return [
        tuple.__new__(kind, (*before, one.offset, one.timestamp_ns, one.key, one.value, one.headers, one.priority))
        for one in records
    ]


def rows(items: list[Any], kind: type[Row], after: tuple[object, ...]) -> list[Row]:
    """For each item a `kind` of tuple: the item and `after`. These must never contain a reference back to the tuple."""
    if not issubclass(kind, tuple):
        raise TypeError(f"{kind!r} is no kind of tuple")
    return [tuple.__new__(kind, (item, *after)) for item in items]


def grouped(rows: Iterable[Any], field: int) -> dict[Any, list[Any]]:
    """Group by the last item of each row the values that its first item has at `field`; all of them are tuples."""
    found: dict[Any, list[Any]] = {}
    for row in rows:
        if not (isinstance(row, tuple) and row):
            raise TypeError(f"{row!r} is no row")
        if not (isinstance(row[0], tuple) and 0 <= field < len(row[0])):
            raise TypeError(f"{row[0]!r} has no field {field}")
        found.setdefault(row[-1], []).append(row[0][field])
    return found
