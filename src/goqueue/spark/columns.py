"""What a row of the log looks like to Spark."""

import pyarrow as pa
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

from goqueue.errors import InvalidRequest

__all__ = ["COLUMNS", "DELIVERY_COUNT", "check_columns", "table_schema"]

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
