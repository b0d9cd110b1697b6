"""What follows what in a trace: the time from one step of a record to the next, and the way that took longest."""

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["critical_paths", "hops", "percentiles"]

MOST_SPANS = 200
"""Of one trace, in its critical path."""
ACCURACY = 10_000
RECORD = ("trace_id", "topic", "partition", "offset")
ORDER = ("start_ns", "rank", "span_id")


def hops(spans: "DataFrame") -> "DataFrame":
    """Each span with the one before it: the last step of the same record in its group, or else its parent.

    What happens to a record before any group has it, such as being published, comes before the steps of every group.
    The first step of a record may have a parent that is another record's, as that of a dead letter has.
    `latency_ns` is from the end of one to the end of the other; a span without one before it has its own length.
    """
    step = F.struct(*ORDER, "operation", "end_ns")
    own = F.lag(step).over(Window.partitionBy(*RECORD, "group").orderBy(*ORDER))
    before = Window.partitionBy(*RECORD).orderBy(*ORDER).rowsBetween(Window.unboundedPreceding, -1)
    shared = F.last(F.when(F.col("group").isNull(), step), ignorenulls=True).over(before)
    guessed = spans.withColumn("guess", F.greatest(own, shared))
    parents = spans.select("trace_id", F.col("span_id").alias("parent_id"), step.alias("parent"))
    known = guessed.join(parents.dropDuplicates(["trace_id", "parent_id"]), ["trace_id", "parent_id"], "left")
    prior = known.withColumn("prior", F.coalesce("guess", "parent"))
    since = F.coalesce("prior.end_ns", "start_ns")
    return prior.select(
        *("trace_id", "span_id", "topic", "partition", "offset", "group", "operation", "start_ns", "end_ns", "rank"),
        "is_error",
        F.col("prior.span_id").alias("prior_id"),
        F.concat_ws("→", "prior.operation", "operation").alias("hop"),
        since.alias("since_ns"),
        F.greatest(F.col("end_ns") - since, F.lit(0)).alias("latency_ns"),
    )


def percentiles(hops: "DataFrame") -> "DataFrame":
    """Of the latency of each hop, in milliseconds, by topic; the slowest first."""
    latency = F.col("latency_ns") / 1e6

    def at(share: float) -> "Column":
        return F.percentile_approx(latency, share, ACCURACY)

    return (
        hops.where("prior_id is not null")
        .groupBy("hop", "topic")
        .agg(
            F.count("*").alias("count"),
            at(0.5).alias("p50_ms"),
            at(0.9).alias("p90_ms"),
            at(0.95).alias("p95_ms"),
            at(0.99).alias("p99_ms"),
            F.max(latency).alias("max_ms"),
            F.sum(latency).alias("total_ms"),
        )
        .orderBy(F.desc("p99_ms"), "hop", "topic")
    )


def critical_paths(hops: "DataFrame") -> "DataFrame":
    """Of each trace, the steps that lead to its last one, with the share of the time that each took.

    Give it few traces: the steps of one are looked at together, up to the first two hundred.
    """
    number = F.row_number().over(Window.partitionBy("trace_id").orderBy(*ORDER))
    some = hops.withColumn("number", number).where(F.col("number") <= MOST_SPANS)
    walked = some.groupBy("trace_id").agg(
        F.reverse(F.array_sort(F.collect_list(F.struct(*ORDER, "prior_id")))).alias("steps"),
        F.max_by("span_id", F.struct("end_ns", *ORDER)).alias("last"),
        F.min("start_ns").alias("begun_ns"),
    )
    path = walked.select(
        "trace_id",
        "begun_ns",
        F.posexplode(F.reverse(F.expr(_WALK))).alias("step", "span_id"),
    )
    steps = path.join(some, ["trace_id", "span_id"])
    total = F.sum("latency_ns").over(Window.partitionBy("trace_id"))
    return steps.select(
        *("trace_id", "step", "hop", "topic", "partition", "offset", "group", "is_error"),
        ((F.col("since_ns") - F.col("begun_ns")) / 1e6).alias("after_ms"),
        (F.col("latency_ns") / 1e6).alias("latency_ms"),
        F.when(total > 0, F.col("latency_ns") / total).otherwise(0.0).alias("share"),
    ).orderBy("trace_id", "step")


_WALK = """
    aggregate(
        steps,
        named_struct('wanted', last, 'path', cast(array() as array<string>)),
        (walk, one) -> if(
            one.span_id = walk.wanted,
            named_struct('wanted', one.prior_id, 'path', concat(walk.path, array(one.span_id))),
            walk
        ),
        walk -> walk.path
    )
"""
"""Backwards from the last step: whatever is before another comes later in the list."""
