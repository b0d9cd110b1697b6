"""A topic without its duplicates: told apart by key, value, header or field, over a stretch or as it comes."""

import secrets
from typing import TYPE_CHECKING, Literal

import msgspec
from pyspark.sql import Observation, Window
from pyspark.sql import functions as F

from goqueue.errors import InvalidRequest
from goqueue.spark.pipelines.following import progress_of, start_writing
from goqueue.spark.pipelines.identity import feature
from goqueue.spark.pipelines.once import WITHIN_MS, key_of, was_written, write_once
from goqueue.spark.pipelines.stretches import Bound, stretch_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

__all__ = ["BY_ID", "Deduplicated", "as_records", "distinct", "distinct_within", "follow", "run"]

BY_ID = "header:goqueue-id"
WATERMARK = "1 hour"
BATCH_RECORDS = 1_000_000
"""In one trigger, also in the first, which finds all that the topic has."""
ID, ITSELF = "_id", "_itself"

Keep = Literal["first", "last"]


class Deduplicated(msgspec.Struct, frozen=True):
    """Of this run: what was read is what was kept, dropped and late together."""

    topic: str
    into: str
    by: str
    read: int
    kept: int
    dropped: int
    late: int = 0
    """Older than the watermark, so that nobody knows any more whether they are duplicates: left out."""
    without_id: int = 0
    """They have nothing to tell them by, and are all kept."""
    already_done: bool = False


def distinct(frame: "DataFrame", by: str = BY_ID, keep: Keep = "first") -> "DataFrame":
    """One of each, by the time it was written; of the same time, by partition and offset."""
    order = [F.col(name) for name in ("timestamp", "partition", "offset")]
    if keep == "last":
        order = [column.desc() for column in order]
    same = Window.partitionBy(ID, ITSELF).orderBy(*order)
    numbered = _identified(frame, by).withColumn("_number", F.row_number().over(same))
    return numbered.where("_number = 1").drop(ID, ITSELF, "_number")


def distinct_within(stream: "DataFrame", by: str = BY_ID, watermark: str = WATERMARK) -> "DataFrame":
    """Of a stream: one of those that come within so much time of each other; in one batch, any of them."""
    seen = _identified(stream.withWatermark("timestamp", watermark), by)
    return seen.dropDuplicatesWithinWatermark([ID, ITSELF]).drop(ID, ITSELF)


def _identified(frame: "DataFrame", by: str) -> "DataFrame":
    """A record without an id is like no other: its place is part of what it is told by."""
    itself = F.when(F.col(ID).isNull(), F.concat_ws("/", "partition", "offset"))
    return frame.withColumn(ID, feature(by)).withColumn(ITSELF, itself)


def as_records(frame: "DataFrame") -> "DataFrame":
    """For the sink: those of a partition one after the other, so that those of a key keep their order."""
    ordered = frame.repartition("partition").sortWithinPartitions("partition", "offset")
    return ordered.select("key", "value", "headers", "priority")


def _is_folder(into: str) -> bool:
    """A topic has no slash in its name."""
    return "/" in into


def run(
    spark: "SparkSession",
    bootstrap: str,
    topic: str,
    into: str,
    *,
    by: str = BY_ID,
    keep: Keep = "first",
    start: Bound = "earliest",
    end: Bound = "latest",
    name: str | None = None,
    within_ms: int = WITHIN_MS,
) -> Deduplicated:
    """A stretch as it is now, into a topic or, when `into` has a slash, a folder of Parquet that is not there yet."""
    _check(topic, into)
    # Not of the stretch: an age, or the end, is another place whenever it is looked at.
    key = key_of(f"dedup/{name or secrets.token_hex(8)}", topic=topic, into=into, by=by, keep=keep)
    if not _is_folder(into) and was_written(bootstrap, key):
        return Deduplicated(topic, into, by, 0, 0, 0, already_done=True)
    source, result = Observation(), Observation()
    frame = stretch_of(bootstrap, topic, start, end).read(spark)
    seen = frame.observe(source, F.count(F.lit(1)).alias("read"), _without(by).alias("without_id"))
    kept = distinct(seen, by, keep).observe(result, F.count(F.lit(1)).alias("kept"))
    if _is_folder(into):
        kept.write.mode("error").parquet(into)
    else:
        write_once(as_records(kept), bootstrap, into, key, within_ms=within_ms)
    # Of a write without a single task nothing is told.
    read, without, left = (
        told.get.get(name) or 0 for told, name in ((source, "read"), (source, "without_id"), (result, "kept"))
    )
    return Deduplicated(topic, into, by, read, left, read - left, without_id=without)


def _without(by: str) -> "Column":
    return F.count(F.when(feature(by).isNull(), 1))


def _check(topic: str, into: str) -> None:
    if topic == into:
        raise InvalidRequest(f"{topic} cannot be deduplicated into itself", hint="choose another topic, or a folder")


# As it comes.


def follow(
    spark: "SparkSession",
    bootstrap: str,
    topic: str,
    into: str,
    checkpoint: str,
    *,
    by: str = BY_ID,
    watermark: str = WATERMARK,
    for_ever: bool = False,
    batch_records: int = BATCH_RECORDS,
) -> Deduplicated:
    """What has come since the last run with this checkpoint; for ever, until it is interrupted.

    The partitions of a trigger are read up to the same time: at different speeds they would be late to each other.
    """
    _check(topic, into)
    options = {
        **{"bootstrap": bootstrap, "subscribe": topic, "startingOffsets": "earliest", "includeHeaders": "true"},
        **{"maxOffsetsPerTrigger": str(batch_records), "alignByTime": "true"},
    }
    stream = spark.readStream.format("goqueue").options(**options).load()
    seen = stream.observe("source", F.count(F.lit(1)).alias("read"), _without(by).alias("without_id"))
    query = _start(distinct_within(seen, by, watermark), bootstrap, into, checkpoint, for_ever)
    read = without = dropped = late = 0
    try:
        for one in progress_of(query):
            found = one["observedMetrics"].get("source")
            if found is not None:
                read, without = read + found["read"], without + found["without_id"]
            for state in one["stateOperators"]:
                dropped += state["customMetrics"].get("numDroppedDuplicateRows", 0)
                late += state["numRowsDroppedByWatermark"]
    except KeyboardInterrupt:
        if not for_ever:
            raise
    finally:
        query.stop()
    return Deduplicated(topic, into, by, read, read - dropped - late, dropped, late, without)


def _start(kept: "DataFrame", bootstrap: str, into: str, checkpoint: str, for_ever: bool) -> "StreamingQuery":
    writer = kept.writeStream
    writer = writer.trigger(processingTime="1 second") if for_ever else writer.trigger(availableNow=True)
    if _is_folder(into):
        return writer.format("parquet").option("path", into).option("checkpointLocation", checkpoint).start()

    def write(batch: "DataFrame", key: str) -> None:
        write_once(as_records(batch), bootstrap, into, f"dedup/{key}")

    return start_writing(writer, write, checkpoint)
