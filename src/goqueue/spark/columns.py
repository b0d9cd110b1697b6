"""What a row of the log looks like to Spark, and how stored records become such rows."""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from goqueue.client.message import RawBatch, open_batch
from goqueue.codec.arrow import to_arrow
from goqueue.errors import InvalidRequest
from goqueue.model.record import Flag
from goqueue.model.runs import Runs, offsets_of

__all__ = ["DELIVERY_COUNT", "check_columns", "table_schema", "to_rows"]

HEADERS = ArrayType(
    StructType([StructField("key", StringType(), nullable=False), StructField("value", BinaryType(), nullable=False)])
)
COLUMNS = {
    "topic": StructField("topic", StringType(), nullable=False),
    "partition": StructField("partition", IntegerType(), nullable=False),
    "offset": StructField("offset", LongType(), nullable=False),
    "timestamp": StructField("timestamp", TimestampType(), nullable=False),
    "key": StructField("key", BinaryType()),
    "value": StructField("value", BinaryType()),
    "headers": StructField("headers", HEADERS),
    "priority": StructField("priority", IntegerType(), nullable=False),
    "trace_id": StructField("trace_id", StringType()),
}
DELIVERY_COUNT = "delivery_count"
OF_QUEUES = {DELIVERY_COUNT: StructField(DELIVERY_COUNT, IntegerType(), nullable=False)}
"""What rows have besides when they are leased."""
_TRACEPARENT = "traceparent"
_MICROSECONDS = pa.timestamp("us", tz="UTC")
_STORED = ("offset", "timestamp", "key", "value", "headers", "priority")
_PAIRS = pa.list_(
    pa.struct([pa.field("key", pa.string(), nullable=False), pa.field("value", pa.binary(), nullable=False)])
)


def table_schema(*, include_headers: bool, is_queue: bool = False) -> StructType:
    there = COLUMNS | (OF_QUEUES if is_queue else {})
    return StructType([field for name, field in there.items() if name != "headers" or include_headers])


def check_columns(schema: StructType, *, is_queue: bool = False) -> pa.Schema:
    """The columns that are wanted: what `.schema(…)` leaves out is neither decoded nor sent to Spark."""
    there = COLUMNS | (OF_QUEUES if is_queue else {})
    for field in schema:
        known = there.get(field.name)
        if known is None or known.dataType.simpleString() != field.dataType.simpleString():
            shown = ", ".join(f"{one.name} {one.dataType.simpleString()}" for one in there.values())
            raise InvalidRequest(f"no column {field.name} {field.dataType.simpleString()}", hint=f"there are {shown}")
    return to_arrow_schema(schema, timezone="UTC", prefers_large_types=False)


def to_rows(batch: RawBatch, schema: pa.Schema, hidden: Runs = ()) -> pa.RecordBatch:
    """Of all records but those that must not be seen."""
    columns: Sequence[str] = schema.names
    needed = {"headers" if name == "trace_id" else name for name in columns} & set(_STORED)
    stored = to_arrow(batch.records, (*sorted(needed | {"offset"} if hidden else needed), "flags"))
    if pc.any(pc.not_equal(pc.bit_wise_and(stored.column("flags"), int(Flag.COMPRESSED)), 0)).as_py():
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
            return pa.repeat(pa.scalar(batch.topic, pa.string()), stored.num_rows)
        case "partition":
            return pa.repeat(pa.scalar(batch.partition, pa.int32()), stored.num_rows)
        case "timestamp":
            return stored.column("timestamp").cast(_MICROSECONDS, safe=False)
        case "priority":
            return stored.column("priority").cast(pa.int32())
        case "trace_id":
            return _trace_ids(stored.column("headers"))
    return stored.column(name)


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
