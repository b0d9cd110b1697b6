"""How long records take on their way, where they wait, and what fails: a report of the spans of a broker."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from pyspark.sql import functions as F

from goqueue.errors import InvalidRequest
from goqueue.spark.pipelines.hops import critical_paths, hops, percentiles
from goqueue.spark.pipelines.moments import moment_in, width_s
from goqueue.spark.pipelines.spans import as_spans
from goqueue.spark.plots import bars, lines, waterfall
from goqueue.spark.report import Report

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

__all__ = ["Step", "Summary", "follow", "journeys", "kept_spans", "operations", "outcomes", "report", "run", "trend"]

SLOWEST = 20
PLOTTED = 6
PATHS = 5
KEPT, CHECKPOINT = "traces-spans", "traces-checkpoint"
ACCURACY = 1000
SETTLED = ("consume", "ack", "nack", "reject", "expire", "dlq")


class Step(msgspec.Struct, frozen=True):
    hop: str
    topic: str | None
    group: str | None
    latency_ms: float
    share: float


class Summary(msgspec.Struct, frozen=True):
    spans: int
    traces: int
    errors: int
    unreadable: int
    """Lines that are no spans: cut off, or something else."""
    hops: tuple[dict[str, Any], ...]
    slowest: tuple[dict[str, Any], ...]
    critical_path: tuple[Step, ...]
    """Of the slowest trace, or of the one that was asked for."""
    page: str


def run(lines: "DataFrame", folder: Path, *, slowest: int = SLOWEST, trace: str | None = None) -> Summary:
    """A report of all spans in these lines."""
    return report(as_spans(lines), folder, slowest=slowest, trace=trace)


def follow(
    spark: "SparkSession",
    lines: "DataFrame",
    folder: Path,
    *,
    every_s: float | None,
    after: Callable[["DataFrame"], object],
) -> "StreamingQuery":
    """Spans of a stream are kept as Parquet in the folder; `after` each batch all of them are there to be reported on.

    Without `every_s` the query ends when it has read what is there; started again it goes on behind that. A batch that
    is replayed after a crash takes its own place, so each span counts once.
    """

    def add(batch: "DataFrame", number: int) -> None:
        batch.write.mode("overwrite").parquet(str(folder / KEPT / f"batch={number}"))
        kept = kept_spans(spark, folder)
        assert kept is not None, "it was written just now"
        after(kept)

    stream = as_spans(lines).writeStream.foreachBatch(add).option("checkpointLocation", str(folder / CHECKPOINT))
    trigger: dict[str, Any] = {"availableNow": True} if every_s is None else {"processingTime": f"{every_s} seconds"}
    return stream.trigger(**trigger).start()


def kept_spans(spark: "SparkSession", folder: Path) -> "DataFrame | None":
    """What `follow` has kept in the folder so far."""
    return spark.read.parquet(str(folder / KEPT)) if (folder / KEPT).exists() else None


# Tables.


def journeys(spans: "DataFrame") -> "DataFrame":
    """Each trace from its first span to its last, the longest first."""
    total = F.max("end_ns") - F.min("start_ns")
    return (
        spans.groupBy("trace_id")
        .agg(
            (total / 1e6).alias("total_ms"),
            _moment(F.min("start_ns")).alias("began"),
            F.count("*").alias("spans"),
            F.count_if("is_error").alias("errors"),
            F.min_by("operation", F.struct("start_ns", "rank")).alias("first"),
            F.max_by("operation", F.struct("end_ns", "rank")).alias("last"),
            F.min_by("topic", F.struct("start_ns", "rank")).alias("topic"),
            F.min_by("key", F.struct("start_ns", "rank")).alias("key"),
        )
        .orderBy(F.desc("total_ms"), "trace_id")
    )


def operations(spans: "DataFrame") -> "DataFrame":
    """How many spans of each kind failed, and how long they took themselves."""
    length = (F.col("end_ns") - F.col("start_ns")) / 1e6
    return (
        spans.groupBy("topic", "operation", "group")
        .agg(
            F.count("*").alias("spans"),
            F.count_if("is_error").alias("errors"),
            (F.count_if("is_error") / F.count("*")).alias("error_rate"),
            F.percentile_approx(length, 0.5, ACCURACY).alias("p50_ms"),
            F.percentile_approx(length, 0.99, ACCURACY).alias("p99_ms"),
            F.max_by("error", "start_ns").alias("last_error"),
        )
        .orderBy(F.desc("error_rate"), "topic", "operation", "group")
    )


def outcomes(spans: "DataFrame") -> "DataFrame":
    """What became of deliveries, by topic and group."""
    counts = {name: F.count_if(F.col("operation") == name) for name in SETTLED}
    failed = counts["nack"] + counts["reject"] + counts["expire"]
    return (
        spans.where("group is not null")
        .groupBy("topic", "group")
        .agg(
            *(count.alias(name) for name, count in counts.items()),
            F.when(counts["consume"] > 0, failed / counts["consume"]).alias("failure_rate"),
        )
        .orderBy(F.desc_nulls_last("failure_rate"), "topic", "group")
    )


def trend(hops: "DataFrame", width_s: int, shown: Sequence[str]) -> "DataFrame":
    """Latency of some hops, and the rate of errors, in each stretch of time."""
    return (
        hops.where(F.col("hop").isin(list(shown)))
        .groupBy(moment_in(_moment(F.col("end_ns")), width_s).alias("from"), "hop")
        .agg(
            F.count("*").alias("count"),
            F.percentile_approx(F.col("latency_ns") / 1e6, 0.5, ACCURACY).alias("p50_ms"),
            F.percentile_approx(F.col("latency_ns") / 1e6, 0.99, ACCURACY).alias("p99_ms"),
            (F.count_if("is_error") / F.count("*")).alias("error_rate"),
        )
        .orderBy("from", "hop")
    )


def _moment(nanoseconds: "Column") -> "Column":
    return F.timestamp_micros(F.floor(nanoseconds / 1000))


# The report.


def report(lines: "DataFrame", folder: Path, *, slowest: int = SLOWEST, trace: str | None = None) -> Summary:
    """Of spans, and of lines that turned out to be none."""
    if trace is not None and lines.where(F.col("trace_id") == trace).isEmpty():
        raise InvalidRequest(f"there is no trace {trace} in these spans", hint="a trace id has 32 hex digits")
    kept = lines.persist()
    linked = hops(kept.where("is_span")).persist()
    try:
        return _report(kept, linked, folder, slowest, trace)
    finally:
        linked.unpersist()
        kept.unpersist()


def _report(kept: "DataFrame", linked: "DataFrame", folder: Path, slowest: int, trace: str | None) -> Summary:
    spans = kept.where("is_span")
    page = Report("Traces")
    totals = kept.agg(
        F.count_if("is_span").alias("spans"),
        F.count_if(~F.col("is_span")).alias("unreadable lines"),
        F.count_if(F.col("is_span") & F.col("is_error")).alias("errors"),
        F.approx_count_distinct(F.when(F.col("is_span"), F.col("trace_id"))).alias("traces, about"),
        _moment(F.min("start_ns")).alias("first"),
        _moment(F.max("end_ns")).alias("last"),
    ).first()
    assert totals is not None, "an aggregate of everything has one row"
    page.facts("Spans", totals.asDict())
    slow = page.frame("Hops", percentiles(linked))
    if slow:
        _plot_hops(page, linked, slow, width_s(totals["first"], totals["last"]))
    longest = page.frame("Slowest journeys", journeys(spans), most=slowest)
    wanted = [trace] if trace is not None else [row["trace_id"] for row in longest[:PATHS]]
    path = _critical(page, linked, wanted)
    page.frame("Operations", operations(spans))
    page.frame("Outcomes", outcomes(spans))
    return Summary(
        totals["spans"],
        totals["traces, about"],
        totals["errors"],
        totals["unreadable lines"],
        tuple(slow),
        tuple(longest),
        path,
        str(page.write(folder, "traces")),
    )


def _plot_hops(page: Report, linked: "DataFrame", slow: Sequence[dict[str, Any]], width: int) -> None:
    top = slow[:15]
    names = [f"{row['hop']} {row['topic'] or ''}" for row in top]
    page.plot("The 99th percentile of each hop", bars(names, [row["p99_ms"] for row in top], label="ms"))
    weightiest = sorted(slow, key=lambda row: row["total_ms"], reverse=True)
    shown = list(dict.fromkeys(row["hop"] for row in weightiest))[:PLOTTED]
    rows = page.frame("Trend", trend(linked, width, shown))
    for what, label in (("p99_ms", "ms"), ("error_rate", "errors")):
        series = {name: _points([row for row in rows if row["hop"] == name], what) for name in shown}
        title = "99th percentile of latency" if what == "p99_ms" else "Share of spans that failed"
        page.plot(f"{title}, in stretches of {width:,} s", lines(series, x_label="", y_label=label))


def _points(rows: Sequence[dict[str, Any]], what: str) -> tuple[list[Any], list[float]]:
    return [row["from"] for row in rows], [float(row[what]) for row in rows]


def _critical(page: Report, linked: "DataFrame", wanted: Sequence[str]) -> tuple[Step, ...]:
    """Of the first of those that are wanted; all of them are in the report."""
    found = page.frame("Critical paths", critical_paths(linked.where(F.col("trace_id").isin(list(wanted)))))
    if not found:
        return ()
    steps = [row for row in found if row["trace_id"] == wanted[0]]
    page.plot(
        f"Critical path of {wanted[0]}",
        waterfall(
            [f"{row['hop']} {row['topic'] or ''}" for row in steps],
            [row["after_ms"] for row in steps],
            [row["latency_ms"] for row in steps],
            label="ms since the beginning",
        ),
    )
    return tuple(Step(row["hop"], row["topic"], row["group"], row["latency_ms"], row["share"]) for row in steps)
