"""How much happened for each key in each stretch of time: counts and sums in windows that move with the log.

A window is told when the watermark has passed it: the latest time seen, less the lateness that is allowed. From then on
it does not change, and what comes even later is left out. Until then it lives in Spark's state.
"""

from collections.abc import Callable
from concurrent.futures import Future
from tempfile import TemporaryDirectory

import msgspec
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.readwriter import DataStreamWriter

from goqueue.errors import InvalidRequest
from goqueue.spark.failures import reason
from goqueue.spark.pipelines.identity import feature
from goqueue.spark.pipelines.streams import Progress, finish, triggered

__all__ = ["WindowOptions", "WindowsJob", "WindowsSummary", "as_records", "run", "windowed"]

KEY = "key"
READ, WITHOUT_TIME = "read", "without_time"


class WindowOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Lengths are as Spark writes them: `1 minute`.

    `by`, `total` and `at` are field:NAME, of JSON values, or header:NAME; a name alone is a field: `user.id`.
    """

    length: str = "1 minute"
    slide: str | None = None
    late: str = "1 minute"
    by: str | None = None
    """None for the key of the record."""
    total: str | None = None
    at: str | None = None
    """None for the timestamp of the record."""


class WindowsJob(msgspec.Struct, frozen=True, kw_only=True):
    """Into a topic, a folder of Parquet, or, if neither is given, onto the console."""

    server: str
    topic: str
    into_topic: str | None = None
    into_folder: str | None = None
    checkpoint: str | None = None
    updates: bool = False
    """Tell windows each time they change, instead of once."""
    batch_records: int = 1_000_000
    follow: bool = False
    every: str = "10 seconds"


class WindowsSummary(msgspec.Struct, frozen=True):
    topic: str
    into: str
    batches: int
    records: int
    windows: int | None
    """Told in this run; unknown for sinks that Spark does not count for."""
    watermark: str | None
    without_time: int = 0
    """Records that are in no window, as they do not say when they happened."""


def windowed(frame: DataFrame, options: WindowOptions) -> DataFrame:
    """Columns window_start, window_end, key, count, and sum if a field is given; of a stream or of a table."""
    try:
        rows = frame.select(
            _moment(options.at).alias("moment"),
            (F.col(KEY).cast("string") if options.by is None else _text(options.by)).alias(KEY),
            (F.lit("") if options.total is None else _text(options.total)).try_cast("double").alias("amount"),
        )
        window = F.window("moment", options.length, options.slide or options.length)
        groups = rows.withWatermark("moment", options.late).groupBy(window.alias("window"), KEY)
        wanted = [F.count("*").alias("count")] + ([F.sum("amount").alias("sum")] if options.total else [])
        told = groups.agg(*wanted)
        return told.select(
            F.col("window.start").alias("window_start"), F.col("window.end").alias("window_end"), *told.columns[1:]
        )
    except PySparkException as error:
        slide = options.slide or options.length
        raise InvalidRequest(
            f"windows of {options.length} every {slide}, late by {options.late}: {reason(error)}",
            hint="write lengths like 30 seconds or 1 hour; a slide is no longer than its window",
        ) from None


def _moment(field: str | None) -> Column:
    """Text of ISO 8601, or milliseconds since 1970; a record that says neither belongs to no window."""
    if field is None:
        return F.col("timestamp")
    text = _text(field)
    return F.coalesce(F.timestamp_millis(text.try_cast("long")), text.try_cast("timestamp"))


def _text(what: str) -> Column:
    """As text; null for a record that does not have it."""
    return feature(what if ":" in what else f"field:{what}").cast("string")


def as_records(windows: DataFrame) -> DataFrame:
    """Key and JSON, to be written to a topic: windows of a key are in one partition, in their order."""
    return windows.select(KEY, F.to_json(F.struct(*windows.columns)).alias("value"))


def run(spark: SparkSession, job: WindowsJob, options: WindowOptions) -> WindowsSummary:
    """All that is there, or until somebody stops it; run again with its checkpoint, it goes on."""
    _check(job)
    reader = spark.readStream.format("goqueue").option("bootstrap", job.server).option("subscribe", job.topic)
    reader = reader.option("startingOffsets", "earliest").option("maxOffsetsPerTrigger", str(job.batch_records))
    # Partitions that are read at different speeds would be late to each other.
    reader = reader.option("alignByTime", "true")
    if any(one is not None and one.startswith("header") for one in (options.by, options.total, options.at)):
        reader = reader.option("includeHeaders", "true")
    moment = _moment(options.at)
    counts = F.count(F.lit(1)).alias(READ), F.count(F.when(moment.isNull(), 1)).alias(WITHOUT_TIME)
    windows = windowed(reader.load().observe("windows", *counts), options)
    with TemporaryDirectory(prefix="goqueue-windows-") as nowhere:
        checkpoint = job.checkpoint or (f"{job.into_folder}/_checkpoint" if job.into_folder else nowhere)
        query_id: Future[str] = Future()
        writer = _writer(windows, job, query_id).option("checkpointLocation", checkpoint)
        writer = writer.queryName(f"windows of {job.topic}")
        query = triggered(writer, follow=job.follow, every=job.every).start()
        query_id.set_result(query.id)
        (done,) = finish([query], follow=job.follow)
    _check_times(job, options, done)
    into = job.into_topic or job.into_folder or "console"
    without_time = done.observed.get(WITHOUT_TIME, 0)
    return WindowsSummary(job.topic, into, done.batches, done.rows_in, done.rows_out, done.watermark, without_time)


def _check_times(job: WindowsJob, options: WindowOptions, done: Progress) -> None:
    """A wrong name of a field shows in that no record has it."""
    read = done.observed.get(READ, 0)
    if read and done.observed[WITHOUT_TIME] == read:
        raise InvalidRequest(
            f"none of the {read:,} records of {job.topic} has a time in {options.at}",
            hint="name a field of JSON (field:NAME) or a header (header:NAME) that has ISO 8601 or milliseconds since "
            "1970, and give a new checkpoint",
        )


def _check(job: WindowsJob) -> None:
    if job.into_topic and job.into_folder:
        raise InvalidRequest("a topic and a folder to write to", hint="give one of them")
    if job.into_topic and not job.checkpoint:
        raise InvalidRequest(
            "no checkpoint", hint="say where the state is kept: with it every window is written to the topic once"
        )
    if job.into_topic == job.topic:
        raise InvalidRequest(f"{job.topic} would be read and written", hint="write to another topic")
    if job.into_folder and job.updates:
        raise InvalidRequest("files cannot be changed", hint="leave out --updates, or write to a topic")


def _writer(windows: DataFrame, job: WindowsJob, query_id: Future[str]) -> DataStreamWriter:
    mode = "update" if job.updates else "append"
    if job.into_topic:
        records = as_records(windows).writeStream.outputMode(mode)
        if job.updates:
            return records.foreachBatch(_changes_into(job, query_id))
        return records.format("goqueue").option("bootstrap", job.server).option("topic", job.into_topic)
    if job.into_folder:
        return windows.writeStream.format("parquet").option("path", job.into_folder).outputMode(mode)
    return windows.writeStream.format("console").option("truncate", "false").outputMode(mode)


def _changes_into(job: WindowsJob, query_id: Future[str]) -> Callable[[DataFrame, int], None]:
    """For each batch a write of its own, as Spark gives changes to no sink that is written in Python.

    Its name is that of the query, which is kept in the checkpoint, and of the batch: so it is written once.
    """

    def write(changed: DataFrame, number: int) -> None:
        sink = changed.write.format("goqueue").mode("append").option("bootstrap", job.server)
        sink.option("topic", job.into_topic).option("queryName", f"{query_id.result()}/{number}").save()

    return write
