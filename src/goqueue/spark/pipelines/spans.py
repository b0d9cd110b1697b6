"""Spans as a table: runs of records, as a broker writes them line by line, become a row for each record."""

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

__all__ = ["OPERATIONS", "as_spans", "read_lines", "stream_lines", "topic_lines"]

OPERATIONS = (
    *("transaction", "publish", "delay", "replicate", "redrive"),
    *("consume", "expire", "ack", "nack", "reject", "dlq"),
)
"""What happens to a record, in the order in which it does if two of them have the same time."""

LINE = """
    operation string, start_ns bigint, end_ns bigint, topic string, created_ns bigint, partition int, offset bigint,
    count bigint, step bigint, group string, delivery bigint, error string, key string, key_base64 string,
    transaction bigint, context string, contexts binary
"""
"""What is read of a line; its ids are made anew, as only lines of one record have them."""

COMPLETE = "*.{jsonl,jsonl.gz}"
MOST_RECORDS = 10_000_000
"""Of one line; one that claims more is damaged."""


def read_lines(spark: "SparkSession", path: str) -> "DataFrame":
    """A file, a folder or a pattern, with the file that is being written; files that end in .gz are opened."""
    return spark.read.text(path)


def stream_lines(spark: "SparkSession", path: str) -> "DataFrame":
    """Files of a folder as they are completed, each read once."""
    return spark.readStream.option("pathGlobFilter", COMPLETE).text(path)


def topic_lines(records: "DataFrame") -> "DataFrame":
    """Lines that were published: one in each value."""
    return records.select(F.col("value").cast("string").alias("value"))


def as_spans(lines: "DataFrame") -> "DataFrame":
    """A row for each record of each line that is not blank; `is_span` is false for a line that could not be read."""
    read = lines.where("trim(value) <> ''").select(F.from_json("value", LINE).alias("run")).select("run.*")
    checked = read.withColumns(
        {
            "is_span": F.coalesce(F.expr(_IS_RUN), F.lit(False)),
            "count": F.coalesce("count", F.lit(1)),
            "step": F.greatest(F.coalesce("step", F.lit(1)), F.lit(1)),
            "group": F.nullif("group", F.lit("")),
            "key": F.coalesce("key", "key_base64"),
        }
    )
    single = checked.withColumn("place", F.explode_outer(F.expr(_PLACES)))
    single = single.withColumns({"offset": F.col("place.offset"), "context": F.col("place.context")})
    return _with_ids(single).select(
        *("trace_id", "span_id", "parent_id", "operation", "topic", "partition", "offset", "group", "key"),
        *("start_ns", "error"),
        F.col("error").isNotNull().alias("is_error"),
        F.greatest("start_ns", F.coalesce("end_ns", "start_ns")).alias("end_ns"),
        F.array_position(F.array(*map(F.lit, OPERATIONS)), F.col("operation")).alias("rank"),
        "is_span",
    )


_IS_RUN = f"""
    operation in ({", ".join(f"'{name}'" for name in OPERATIONS)})
    and start_ns is not null
    and offset is not null
    and coalesce(count, 1) between 1 and {MOST_RECORDS}
    and (topic is not null or transaction is not null)
    and (contexts is null or length(contexts) = 33 * coalesce(count, 1))
"""

_PLACES = """
    case when is_span and contexts is not null then transform(
        sequence(0, count - 1),
        number -> named_struct(
            'offset', offset + cast(conv(hex(substring(contexts, 33 * number + 1, 8)), 16, 10) as bigint),
            'context', lower(concat(
                '00-', hex(substring(contexts, 33 * number + 9, 16)),
                '-', hex(substring(contexts, 33 * number + 25, 8)),
                '-', hex(substring(contexts, 33 * number + 33, 1))
            ))
        )
    ) else transform(
        sequence(offset, offset + if(is_span, (count - 1) * step, 0), step),
        place -> named_struct('offset', place, 'context', context)
    ) end
"""
"""Where each record of a run is, and what it carries; `goqueue.model.contexts` says how many contexts are packed."""


def _with_ids(runs: "DataFrame") -> "DataFrame":
    """Ids follow from places as `goqueue.model.span.spans_of` makes them: the same words give the same names."""
    number = F.when(F.col("operation") == "transaction", F.col("transaction")).otherwise(F.col("offset"))
    birth = _digest(_or("topic", ""), _or("created_ns", 0), _or("partition", 0), number)
    carried = F.col("context").isNotNull()
    sender = F.substring("context", 37, 16)
    trace = F.when(carried, F.substring("context", 4, 32)).otherwise(F.substring("birth", 1, 32))
    born = F.substring("birth", 33, 16)
    published = F.when(carried, _child("trace_id", sender, born)).otherwise(born)
    words = F.concat_ws(" ", "operation", "group", F.when(F.col("group").isNotNull(), _or("delivery", 0)))
    consumed = _child("trace_id", "published", F.concat_ws(" ", F.lit("consume"), _or("group", ""), "delivery"))
    before_delivery = F.col("operation").isin("publish", "transaction", "consume") | (_or("delivery", 0) == 0)
    parent = F.when(before_delivery, F.col("published")).otherwise(consumed)
    is_first = F.col("operation").isin("publish", "transaction")
    return (
        runs.withColumn("birth", birth)
        .withColumn("trace_id", trace)
        .withColumn("published", published)
        .withColumn("parent_id", parent)
        .withColumn("span_id", F.when(is_first, F.col("published")).otherwise(_child("trace_id", "parent_id", words)))
        .withColumn("parent_id", F.when(is_first, F.when(carried, sender)).otherwise(F.col("parent_id")))
    )


def _digest(*parts: "Column | str") -> "Column":
    return F.sha2(F.concat_ws("\n", *parts), 256)


def _child(trace: "Column | str", parent: "Column | str", what: "Column") -> "Column":
    return F.substring(_digest(trace, parent, what), 1, 16)


def _or(name: str, value: object) -> "Column":
    return F.coalesce(name, F.lit(value))
