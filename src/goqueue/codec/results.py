"""Results of the codec functions; the compiled codec and its Python twin share these types."""

from enum import IntFlag
from typing import Literal, NamedTuple

__all__ = ["Column", "Columns", "Contexts", "IndexEntries", "Scan", "Stamped", "Stop"]

Stop = Literal["end", "limit", "torn", "damaged"]


class Column(IntFlag):
    """Columns that `columns` fills; the others are returned as empty buffers."""

    OFFSET = 1
    TIMESTAMP = 2
    PRIORITY = 4
    FLAGS = 8
    KEY = 16
    VALUE = 32
    HEADERS = 64
    ALL = 127


class Stamped(NamedTuple):
    """Number of records in a batch, and facts about all of them that the broker needs."""

    count: int  # type: ignore[assignment]  # hides tuple.count, which is never called on a result
    max_timestamp_ns: int
    largest_value: int
    """Length of the longest value."""
    flags: int
    """The union of all flags."""
    priorities: bytes | None
    """A byte for each record; None when all are normal, so that the common case costs nothing."""


class Scan(NamedTuple):
    """A run of intact records; `end` is the position after the last one, `stop` says why it ends there.

    `first_offset`, `last_offset` and `max_timestamp_ns` are -1 when the run is empty.
    """

    count: int  # type: ignore[assignment]  # hides tuple.count, which is never called on a result
    end: int
    first_offset: int
    last_offset: int
    max_timestamp_ns: int
    stop: Stop


class IndexEntries(NamedTuple):
    """Encoded index entries, and the state to pass in with the bytes that follow."""

    offsets: bytes
    times: bytes
    next_at: int
    max_timestamp_ns: int


class Columns(NamedTuple):
    """Records as raw little-endian Arrow buffers; validity bitmaps are empty when there are no nulls."""

    length: int
    offsets: bytes
    timestamps: bytes
    priorities: bytes
    flags: bytes
    key_nulls: int
    key_validity: bytes
    key_offsets: bytes
    key_data: bytes
    value_nulls: int
    value_validity: bytes
    value_offsets: bytes
    value_data: bytes
    header_count: int
    header_list_offsets: bytes
    header_key_offsets: bytes
    header_key_data: bytes
    header_value_offsets: bytes
    header_value_data: bytes


class Contexts(NamedTuple):
    """The records of a batch that carry a trace context."""

    carried: int
    """Number of records that carry a context."""
    first: int
    """Index in the batch, from 0 on, of the first selected record."""
    packed: bytes
    """Contexts of the selected records, by distance from the first: see `goqueue.model.contexts`."""
    states: bytes = b""
    """Their `tracestate` values, likewise; one of more than 512 bytes is left out."""
