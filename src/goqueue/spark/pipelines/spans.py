"""Spans as a table: which fields a line of a span file has, under which names, and how each becomes a column."""

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

__all__ = ["OPERATIONS", "as_spans", "read_lines", "stream_lines", "topic_lines"]

OPERATIONS = ("publish", "delay", "replicate", "redrive", "consume", "expire", "ack", "nack", "reject", "dlq")
"""What happens to a record, in the order in which it does if two of them have the same time."""

FIELDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "trace_id": ("string", ("trace_id", "traceId")),
    "span_id": ("string", ("span_id", "spanId")),
    "parent_id": ("string", ("parent_id", "parent_span_id", "parentSpanId")),
    "operation": ("string", ("operation", "name")),
    "topic": ("string", ("topic",)),
    "partition": ("int", ("partition",)),
    "offset": ("bigint", ("offset",)),
    "group": ("string", ("group", "consumer_group")),
    "key": ("string", ("key",)),
    "status": ("string", ("status",)),
    "error": ("string", ("error", "reason")),
    "start_ns": ("bigint", ("start_ns", "startTimeUnixNano")),
    "end_ns": ("bigint", ("end_ns", "endTimeUnixNano")),
    "duration_ns": ("bigint", ("duration_ns",)),
    "start": ("string", ("start", "start_time")),
    "end": ("string", ("end", "end_time")),
}
"""By column: its type, and the names that it may have in a line; whatever is not there is null."""

FAILED = ("error", "failed")
_LINE = ", ".join(f"`{name}` {kind}" for kind, names in FIELDS.values() for name in names)


def read_lines(spark: "SparkSession", path: str) -> "DataFrame":
    """A file, a folder or a pattern; files that end in .gz are opened."""
    return spark.read.text(path)


def stream_lines(spark: "SparkSession", path: str) -> "DataFrame":
    """Files of a folder as they come. Each is read once, so it must be complete when it gets its name."""
    return spark.readStream.text(path)


def topic_lines(records: "DataFrame") -> "DataFrame":
    """Spans that were published: one in each value."""
    return records.select(F.col("value").cast("string").alias("value"))


def as_spans(lines: "DataFrame") -> "DataFrame":
    """One row for each line that is not blank; `is_span` says whether it has what a span needs."""
    read = lines.where("trim(value) <> ''").select(F.from_json("value", _LINE).alias("line"))
    found = read.select(*(_column(names).alias(name) for name, (_, names) in FIELDS.items()))
    started = F.coalesce("start_ns", _nanoseconds(F.col("start")))
    ended = F.coalesce("end_ns", _nanoseconds(F.col("end")), started + F.col("duration_ns"), started)
    is_error = F.coalesce(F.lower("status").isin(list(FAILED)), F.lit(False)) | F.col("error").isNotNull()
    timed = found.withColumns({"start_ns": started, "end_ns": ended, "is_error": is_error})
    return timed.select(
        *("trace_id", "span_id", "parent_id", "operation", "topic", "partition", "offset", "group", "key"),
        *("start_ns", "error", "is_error"),
        F.greatest("start_ns", "end_ns").alias("end_ns"),
        _order().alias("rank"),
        F.expr("trace_id is not null and span_id is not null and operation is not null and start_ns is not null").alias(
            "is_span"
        ),
    )


def _column(names: tuple[str, ...]) -> "Column":
    return F.coalesce(*(F.col(f"line.{name}") for name in names))


def _nanoseconds(text: "Column") -> "Column":
    return F.unix_micros(F.try_to_timestamp(text)) * 1000


def _order() -> "Column":
    return F.array_position(F.array(*map(F.lit, OPERATIONS)), F.col("operation"))
