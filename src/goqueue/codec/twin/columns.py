"""Columns: stored records as Arrow buffers."""

import sys
from array import array
from typing import Final

from goqueue.codec.faults import HEADER_SIZE, check_arrow_size
from goqueue.codec.results import Column, Columns
from goqueue.codec.twin.header import EMPTY_KEY, TOMBSTONE, Buffer, Fields, read_headers, readable, whole_record

__all__ = ["columns"]

_OFFSET: Final = int(Column.OFFSET)
_TIMESTAMP: Final = int(Column.TIMESTAMP)
_PRIORITY: Final = int(Column.PRIORITY)
_FLAGS: Final = int(Column.FLAGS)
_KEY: Final = int(Column.KEY)
_VALUE: Final = int(Column.VALUE)
_HEADERS: Final = int(Column.HEADERS)
_ALL: Final = int(Column.ALL)


class _Binary:
    """A nullable binary column."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []
        self.offsets = array("i", [0])
        self.missing: list[int] = []

    def add(self, data: bytes | None) -> None:
        if data is None:
            self.missing.append(len(self.offsets) - 1)
            data = b""
        self.parts.append(data)
        self.offsets.append(self.offsets[-1] + len(data))

    def validity(self) -> bytes:
        if not self.missing:
            return b""
        length = len(self.offsets) - 1
        bits = (1 << length) - 1
        for index in self.missing:
            bits ^= 1 << index
        return bits.to_bytes((length + 7) // 8, "little")


def columns(buf: Buffer, want: int = _ALL) -> Columns:
    """The stored records in `buf`, which must hold nothing else, as Arrow buffers; `want` is a mask of Column bits.

    Every record is verified, whichever columns are wanted; raises CorruptBatch at one that is not intact.
    """
    data = readable(buf)
    check_arrow_size(len(data))
    rows: list[Fields] = []
    keys, values, header_keys, header_values = _Binary(), _Binary(), _Binary(), _Binary()
    header_list = array("i", [0])
    position = 0
    while position < len(data):
        fields, end = whole_record(data, len(rows), position)
        flags, key_size, value_size, headers_size = fields[2], fields[8], fields[9], fields[10]
        headers = read_headers(data, end - headers_size, end, len(rows), position)
        value_at = position + HEADER_SIZE + key_size
        if want & _KEY:
            keyed = key_size or flags & EMPTY_KEY
            keys.add(data[position + HEADER_SIZE : value_at] if keyed else None)
        if want & _VALUE:
            values.add(None if flags & TOMBSTONE else data[value_at : value_at + value_size])
        if want & _HEADERS:
            for name, content in headers:
                header_keys.add(name.encode())
                header_values.add(content)
            header_list.append(len(header_keys.parts))
        rows.append(fields)
        position = end
    return Columns(
        length=len(rows),
        offsets=_little(array("q", [row[4] for row in rows])) if want & _OFFSET else b"",
        timestamps=_little(array("q", [row[5] for row in rows])) if want & _TIMESTAMP else b"",
        priorities=bytes([row[6] for row in rows]) if want & _PRIORITY else b"",
        flags=bytes([row[2] for row in rows]) if want & _FLAGS else b"",
        key_nulls=len(keys.missing),
        key_validity=keys.validity(),
        key_offsets=_little(keys.offsets) if want & _KEY else b"",
        key_data=b"".join(keys.parts),
        value_nulls=len(values.missing),
        value_validity=values.validity(),
        value_offsets=_little(values.offsets) if want & _VALUE else b"",
        value_data=b"".join(values.parts),
        header_count=len(header_keys.parts),
        header_list_offsets=_little(header_list) if want & _HEADERS else b"",
        header_key_offsets=_little(header_keys.offsets) if want & _HEADERS else b"",
        header_key_data=b"".join(header_keys.parts),
        header_value_offsets=_little(header_values.offsets) if want & _HEADERS else b"",
        header_value_data=b"".join(header_values.parts),
    )


def _little(numbers: "array[int]") -> bytes:
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()
