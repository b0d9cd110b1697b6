"""Sparse index of a segment: one 16-byte entry per 4 KiB of log, by offset or by time.

File: a 16-byte head (magic, version, zeros, CRC-32C), then entries of i64 number, u32 position in the `.log`
file, CRC-32C of those twelve bytes. The number is the record's offset (`.index`), or the highest timestamp of
all records before it (`.timeindex`). An index is derived from the log: missing or damaged entries are rebuilt from
the log, so a crash needs no special handling.

To change the layout, raise VERSION: a file of another version is treated as missing and rebuilt.
"""

import struct

from goqueue.codec import crc32c

__all__ = ["ENTRY_SIZE", "INDEX_INTERVAL", "DamagedIndex", "SparseIndex"]

INDEX_INTERVAL = 4096
ENTRY_SIZE = 16
VERSION = 1

_ENTRY = struct.Struct(">qII")
_NUMBER = struct.Struct(">q")


class DamagedIndex(Exception):
    """Entry with a wrong checksum; the index must be rebuilt from the log."""


class SparseIndex:
    """Index entries of one segment in memory, in log order."""

    def __init__(self, magic: bytes) -> None:
        self._head = self._make_head(magic)
        self._entries = bytearray()

    @staticmethod
    def _make_head(magic: bytes) -> bytes:
        head = struct.pack(">4sB7x", magic, VERSION)
        return head + crc32c(head).to_bytes(4, "big")

    def __len__(self) -> int:
        return len(self._entries) // ENTRY_SIZE

    def load(self, content: bytes) -> None:
        """Load the entries of a file; none if it is not an index of this kind and version."""
        whole = len(content) - len(content) % ENTRY_SIZE
        self._entries = bytearray(content[ENTRY_SIZE:whole] if content[:ENTRY_SIZE] == self._head else b"")

    def add(self, entries: bytes) -> None:
        self._entries += entries

    def entry(self, number: int) -> tuple[int, int]:
        """Number and position of one entry, after a check of its checksum."""
        start = number * ENTRY_SIZE if number >= 0 else len(self._entries) + number * ENTRY_SIZE
        value, position, crc = _ENTRY.unpack_from(self._entries, start)
        if crc != crc32c(self._entries[start : start + 12]):
            raise DamagedIndex
        return value, position

    def floor(self, value: int, *, inclusive: bool) -> int:
        """Index of the last entry with a number below (or, if inclusive, at) `value`; -1 if there is none."""
        limit = value + 1 if inclusive else value
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if _NUMBER.unpack_from(self._entries, middle * ENTRY_SIZE)[0] < limit:
                low = middle + 1
            else:
                high = middle
        # Only the two entries around the value are checked: if they are intact and the value lies between them, a
        # damaged entry on the way did not change the result.
        if low > 0 and self.entry(low - 1)[0] >= limit:
            raise DamagedIndex
        if low < len(self) and self.entry(low)[0] < limit:
            raise DamagedIndex
        return low - 1

    def cut(self, size: int) -> None:
        """Remove entries that point at or beyond `size` bytes of the log."""
        self.keep(self.count_below(size))

    def count_below(self, size: int) -> int:
        """Number of entries that point into the first `size` bytes of the log."""
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if self.entry(middle)[1] < size:
                low = middle + 1
            else:
                high = middle
        return low

    def keep(self, count: int) -> None:
        """Remove all but the first `count` entries."""
        del self._entries[count * ENTRY_SIZE :]

    def content(self, start: int, stop: int) -> bytes:
        """File content of entries `start` to `stop`, with the head if `start` is 0."""
        body = bytes(self._entries[start * ENTRY_SIZE : stop * ENTRY_SIZE])
        return body if start else self._head + body
