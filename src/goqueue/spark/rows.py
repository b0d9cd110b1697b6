"""How stored records become rows of Spark: loaded in tasks alone, as computing with Arrow takes a while to load."""

from array import array
from collections.abc import Sequence
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from goqueue.client.message import RawBatch, open_batch
from goqueue.codec.arrow import to_arrow
from goqueue.model.record import Flag
from goqueue.model.runs import Runs, offsets_of

__all__ = ["to_rows"]

_TRACEPARENT = "traceparent"
_MICROSECONDS = pa.timestamp("us", tz="UTC")
_STORED = ("offset", "timestamp", "key", "value", "headers", "priority")
_PAIRS = pa.list_(
    pa.struct([pa.field("key", pa.string(), nullable=False), pa.field("value", pa.binary(), nullable=False)])
)


def to_rows(batch: RawBatch, schema: pa.Schema, hidden: Runs = ()) -> pa.RecordBatch:
    """Of all records but those that must not be seen."""
    columns: Sequence[str] = schema.names
    needed = {"headers" if name == "trace_id" else name for name in columns} & set(_STORED)
    stored = to_arrow(batch.records, (*sorted(needed | {"offset"} if hidden else needed), "flags"))
    if _any_has(stored.column("flags"), Flag.COMPRESSED):
        stored = _decompressed(batch)
    if hidden:
        not_for_readers = pa.array(offsets_of(hidden), pa.int64())
        stored = stored.filter(pc.invert(pc.is_in(stored.column("offset"), value_set=not_for_readers)))
    arrays = [_array(name, batch, stored) for name in columns]
    if "headers" in columns:
        # Spark has names of its own for what lies in a list.
        at = columns.index("headers")
        arrays[at] = arrays[at].cast(schema.field(at).type)
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _array(name: str, batch: RawBatch, stored: pa.RecordBatch) -> pa.Array:
    match name:
        case "topic":
            return _topics(batch.topic, _at_least(stored.num_rows)).slice(0, stored.num_rows)
        case "partition":
            return _partitions(batch.partition, _at_least(stored.num_rows)).slice(0, stored.num_rows)
        case "timestamp":
            return stored.column("timestamp").cast(_MICROSECONDS, safe=False)
        case "priority":
            return stored.column("priority").cast(pa.int32())
        case "trace_id":
            return _trace_ids(stored.column("headers"))
    return stored.column(name)


# A worker reads chunks of about as many rows from a few partitions: these columns are made once for many of them. They
# are made of buffers, as whatever turns a value of Python into one of Arrow loads all of pandas.


def _at_least(rows: int) -> int:
    return 1 << rows.bit_length()


@lru_cache(maxsize=4)
def _topics(topic: str, rows: int) -> pa.Array:
    data = topic.encode()
    offsets = array("i", range(0, (rows + 1) * len(data), len(data)))
    return pa.Array.from_buffers(pa.string(), rows, [None, pa.py_buffer(offsets), pa.py_buffer(data * rows)], 0)


@lru_cache(maxsize=4)
def _partitions(partition: int, rows: int) -> pa.Array:
    return pa.Array.from_buffers(pa.int32(), rows, [None, pa.py_buffer(array("i", [partition]) * rows)], 0)


def _any_has(flags: pa.Array, flag: Flag) -> bool:
    """Mostly there are none at all."""
    data = flags.buffers()[1].to_pybytes()
    return data.count(0) < len(data) and any(one & flag for one in set(data))


def _trace_ids(headers: pa.ListArray) -> pa.Array:
    """Of the W3C trace context; records without one, mostly all, cost nothing each."""
    pairs = headers.flatten()
    if len(pairs) == 0:
        return pa.nulls(len(headers), pa.string())
    is_trace = pc.equal(pairs.field("key"), _TRACEPARENT)
    rows = pc.list_parent_indices(headers).filter(is_trace).to_pylist()
    values = pairs.field("value").filter(is_trace).to_pylist()
    found: list[str | None] = [None] * len(headers)
    # Of several the last counts, as with other headers.
    for row, value in zip(rows, values, strict=True):
        found[row] = _trace_id(value)
    return pa.array(found, pa.string())


def _trace_id(traceparent: bytes) -> str | None:
    parts = traceparent.decode("ascii", "replace").split("-")
    return parts[1] if len(parts) >= 4 and len(parts[1]) == 32 else None


def _decompressed(batch: RawBatch) -> pa.RecordBatch:
    """One by one: each value has to be opened."""
    opened = open_batch(batch)
    if opened.fault is not None:
        raise opened.fault
    messages = opened.messages
    return pa.RecordBatch.from_pydict(
        {
            "offset": pa.array([one.offset for one in messages], pa.int64()),
            "timestamp": pa.array([one.timestamp_ns for one in messages], pa.timestamp("ns", tz="UTC")),
            "key": pa.array([one.key for one in messages], pa.binary()),
            "value": pa.array([one.value for one in messages], pa.binary()),
            "headers": pa.array([[{"key": k, "value": v} for k, v in one.headers] for one in messages], _PAIRS),
            "priority": pa.array([one.priority for one in messages], pa.uint8()),
        }
    )
