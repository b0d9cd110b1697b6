"""Values of records for validation: one by one, or in runs."""

from bisect import bisect_left
from itertools import pairwise
from typing import Protocol

from goqueue import codec
from goqueue.model.record import Flag, Record

__all__ = ["BYTES_PER_VALUE", "LARGE_VALUE", "SLICE_BYTES", "EncodedValues", "Value", "Values", "value_of"]

TOMBSTONE, COMPRESSED = int(Flag.TOMBSTONE), int(Flag.COMPRESSED)
AS_THEY_ARE = bytes(flags for flags in range(256) if not flags & (TOMBSTONE | COMPRESSED))
SLICE_BYTES = 96 * 1024
"""Takes about two milliseconds to check."""
LARGE_VALUE = SLICE_BYTES
"""Bytes. A larger value may be crafted so that its check takes seconds."""
BYTES_PER_VALUE = 64
"""The cost of the smallest value, in bytes of a larger one."""

Value = tuple[bytes, bool]
"""The value as stored in the record, and whether it is compressed."""


class Values(Protocol):
    """The values of a batch's records; None for a tombstone."""

    def __len__(self) -> int: ...
    def __getitem__(self, number: int, /) -> Value | None: ...


class EncodedValues:
    """The values of encoded records, each copied only when it is checked."""

    def __init__(self, records: bytes | bytearray) -> None:
        columns = codec.columns(records, codec.Column.FLAGS | codec.Column.VALUE)
        self._flags = columns.flags
        self._ends = memoryview(columns.value_offsets).cast("i")
        self._data = columns.value_data

    def __len__(self) -> int:
        return len(self._flags)

    def run(self, at: int) -> list[bytes]:
        """The values of a slice from `at` on; empty if one is a tombstone, compressed or large."""
        end = bisect_left(self._ends, self._ends[at] + SLICE_BYTES, at + 1, len(self._flags))
        if self._ends[end] - self._ends[end - 1] > LARGE_VALUE:
            # Only the last one can be large.
            end -= 1
        end = min(end, at + SLICE_BYTES // BYTES_PER_VALUE)
        if self._flags[at:end].translate(None, delete=AS_THEY_ARE):
            return []
        return [self._data[start:stop] for start, stop in pairwise(self._ends[at : end + 1])]

    def __getitem__(self, number: int) -> Value | None:
        flags = self._flags[number]
        if flags & TOMBSTONE:
            return None
        return self._data[self._ends[number] : self._ends[number + 1]], bool(flags & COMPRESSED)


def value_of(record: Record) -> Value | None:
    return None if record.value is None else (record.value, bool(record.flags & Flag.COMPRESSED))
