"""Record: one message as a value, for code that handles records one by one."""

from enum import IntEnum

import msgspec

__all__ = ["Flag", "Record"]


class Flag(IntEnum):
    """Bits of the flags byte."""

    COMPRESSED = 1
    HAS_HEADERS = 2
    TOMBSTONE = 4
    CONTROL = 8
    COMMIT = 16
    EMPTY_KEY = 32


class Record(msgspec.Struct, frozen=True):
    """A record; `offset` and `timestamp_ns` are 0 until the broker stamps them.

    `key` is None for a record without a key, which is not the same as an empty key. `value` is None for a
    tombstone. `flags` carries COMPRESSED, CONTROL and COMMIT; the other bits follow from the fields.
    """

    value: bytes | None
    key: bytes | None = None
    headers: tuple[tuple[str, bytes], ...] = ()
    priority: int = 2
    timestamp_ns: int = 0
    offset: int = 0
    flags: int = 0
