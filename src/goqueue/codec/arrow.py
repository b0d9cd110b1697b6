"""Arrow record batches of stored records, without a copy beyond the codec's own."""

from collections.abc import Callable, Sequence
from typing import Final

import pyarrow as pa

from goqueue.codec import Column, Columns
from goqueue.codec import columns as read_columns
from goqueue.errors import InvalidRequest

__all__ = ["SCHEMA", "to_arrow"]

_INT64: Final = pa.int64()
_UINT8: Final = pa.uint8()
_TIMESTAMP: Final = pa.timestamp("ns", tz="UTC")
_BINARY: Final = pa.binary()
_STRING: Final = pa.string()
_PAIR: Final = pa.struct([pa.field("key", _STRING, nullable=False), pa.field("value", _BINARY, nullable=False)])
_HEADERS: Final = pa.list_(_PAIR)

SCHEMA: Final = pa.schema(
    [
        pa.field("offset", _INT64, nullable=False),
        pa.field("timestamp", _TIMESTAMP, nullable=False),
        pa.field("priority", _UINT8, nullable=False),
        pa.field("flags", _UINT8, nullable=False),
        pa.field("key", _BINARY),
        pa.field("value", _BINARY),
        pa.field("headers", _HEADERS, nullable=False),
    ]
)
_NAMES: Final[tuple[str, ...]] = tuple(SCHEMA.names)
_ALL: Final = int(Column.ALL)


def to_arrow(buf: bytes | bytearray | memoryview, columns: Sequence[str] | None = None) -> pa.RecordBatch:
    """The stored records in `buf` as a batch of SCHEMA, or of its named columns, in the order named."""
    if columns is None:
        raw = read_columns(buf, _ALL)
        return pa.RecordBatch.from_arrays([build(raw) for build in _BUILD.values()], schema=SCHEMA)
    unknown = [name for name in columns if name not in _NAMES]
    if unknown:
        raise InvalidRequest(f"no such column: {', '.join(unknown)}", hint=f"the columns are {', '.join(_NAMES)}")
    want = 0
    for name in columns:
        want |= Column[name.upper()].value
    raw = read_columns(buf, want)
    if not columns:
        # A batch without columns still has a length, which a count over the log needs; `from_arrays` cannot set it.
        none = pa.StructArray.from_buffers(pa.struct([]), raw.length, [None])
        return pa.RecordBatch.from_struct_array(none)
    schema = pa.schema([SCHEMA.field(name) for name in columns])
    return pa.RecordBatch.from_arrays([_BUILD[name](raw) for name in columns], schema=schema)


def _fixed(kind: pa.DataType, length: int, data: bytes) -> pa.Array:
    return pa.Array.from_buffers(kind, length, [None, pa.py_buffer(data)], 0)


def _binary(length: int, nulls: int, validity: bytes, offsets: bytes, data: bytes) -> pa.Array:
    bitmap = pa.py_buffer(validity) if nulls else None
    return pa.Array.from_buffers(_BINARY, length, [bitmap, pa.py_buffer(offsets), pa.py_buffer(data)], nulls)


def _headers(raw: Columns) -> pa.Array:
    pairs = _pairs(raw) if raw.header_count else _NO_PAIRS
    list_buffers = [None, pa.py_buffer(raw.header_list_offsets)]
    return pa.Array.from_buffers(_HEADERS, raw.length, list_buffers, 0, children=[pairs])


def _pairs(raw: Columns) -> pa.Array:
    count = raw.header_count
    key_buffers = [None, pa.py_buffer(raw.header_key_offsets), pa.py_buffer(raw.header_key_data)]
    keys = pa.Array.from_buffers(_STRING, count, key_buffers, 0)
    values = _binary(count, 0, b"", raw.header_value_offsets, raw.header_value_data)
    return pa.Array.from_buffers(_PAIR, count, [None], 0, children=[keys, values])


# Making an empty array costs more than a hundred records without headers, and `pa.array` imports all of pandas.
_NO_PAIRS: Final = pa.Array.from_buffers(
    _PAIR,
    0,
    [None],
    0,
    children=[
        pa.Array.from_buffers(kind, 0, [None, pa.py_buffer(bytes(4)), pa.py_buffer(b"")], 0)
        for kind in (_STRING, _BINARY)
    ],
)

_BUILD: Final[dict[str, Callable[[Columns], pa.Array]]] = {
    "offset": lambda raw: _fixed(_INT64, raw.length, raw.offsets),
    "timestamp": lambda raw: _fixed(_TIMESTAMP, raw.length, raw.timestamps),
    "priority": lambda raw: _fixed(_UINT8, raw.length, raw.priorities),
    "flags": lambda raw: _fixed(_UINT8, raw.length, raw.flags),
    "key": lambda raw: _binary(raw.length, raw.key_nulls, raw.key_validity, raw.key_offsets, raw.key_data),
    "value": lambda raw: _binary(raw.length, raw.value_nulls, raw.value_validity, raw.value_offsets, raw.value_data),
    "headers": _headers,
}
