"""What a topic says by now, or said at a place in it: the last value of each key, as a table of Parquet."""

from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from goqueue.errors import InvalidRequest
from goqueue.spark.pipelines.files import Files
from goqueue.spark.pipelines.stretches import Bound, stretch_of
from goqueue.spark.pipelines.typed import Typing, find_typing, typed

__all__ = ["CompactOptions", "CompactSummary", "latest", "run"]

AS_OF = "_as_of.json"
COLUMNS = ("partition", "offset", "timestamp", "key", "value")


class CompactOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Of a broker, or of a data folder or a copy of one, if `path` is given."""

    topic: str
    to: str
    server: str
    path: str | None = None
    at: Bound = "latest"
    columns: str | None = None
    registry: str | None = None
    overwrite: bool = False


class CompactSummary(msgspec.Struct, frozen=True):
    topic: str
    to: str
    records: int
    without_key: int
    removed: int
    """Keys whose last value is a tombstone."""
    rows: int
    ends: dict[int, int]
    """Behind the last record of each partition that went into it."""


def latest(frame: DataFrame) -> DataFrame:
    """One row for each key: its last record, which may be a tombstone. Records without a key are left out.

    In a partition the offset decides. A key may have moved to another partition when the topic was given more of them:
    between partitions it is the time.
    """
    others = [name for name in frame.columns if name != "key"]
    record = F.struct(*others).alias("record")
    keyed = frame.where("key is not null").select("key", "partition", record)
    of_partitions = keyed.groupBy("key", "partition").agg(F.max_by("record", "record.offset").alias("record"))
    when = F.struct("record.timestamp", "record.partition")
    return of_partitions.groupBy("key").agg(F.max_by("record", when).alias("record")).select("key", "record.*")


def run(spark: SparkSession, options: CompactOptions) -> CompactSummary:
    """The folder is there with all of its rows, or it is not there; one that is overwritten is gone for a moment."""
    parent, slash, name = options.to.rstrip("/").rpartition("/")
    files = Files(spark, parent or slash or ".")
    if files.exists(name) and not options.overwrite:
        raise InvalidRequest(f"{options.to} is there already", hint="choose another folder, or give --overwrite")
    rows, ends = _source(spark, options)
    read, kept = Observation("read"), Observation("kept")
    rows = rows.observe(read, F.count("*").alias("records"), F.count_if(F.col("key").isNull()).alias("without_key"))
    last = latest(rows).observe(kept, F.count("*").alias("keys"), F.count_if(F.col("value").isNull()).alias("removed"))
    partial = f".{name}.partial"
    typed(last.where("value is not null"), _typing(options)).write.mode("overwrite").parquet(files.path(partial))
    # What is not counted is what Spark saw no need to look at, as there is nothing.
    records, without_key = (read.get.get(count, 0) for count in ("records", "without_key"))
    keys, removed = (kept.get.get(count, 0) for count in ("keys", "removed"))
    done = CompactSummary(options.topic, options.to, records, without_key, removed, keys - removed, ends)
    files.create(f"{partial}/{AS_OF}", msgspec.json.encode(done) + b"\n")
    files.remove(name)
    files.move(partial, name)
    return done


def _source(spark: SparkSession, options: CompactOptions) -> tuple[DataFrame, dict[int, int]]:
    if options.path is None:
        stretch = stretch_of(options.server, options.topic, end=options.at)
        return stretch.read(spark, COLUMNS), stretch.ends
    reader = spark.read.format("goqueue").option("path", options.path).option("subscribe", options.topic)
    rows = reader.options(**_ending(options.topic, options.at)).load().select(*COLUMNS)
    reached = rows.groupBy("partition").agg((F.max("offset") + 1).alias("end")).collect()
    return rows, {row["partition"]: row["end"] for row in reached}


def _ending(topic: str, at: Bound) -> Mapping[str, str]:
    """For a folder, of which nobody can be asked for the offsets that there are."""
    match at:
        case "latest":
            return {}
        case datetime():
            moment = at if at.tzinfo is not None else at.replace(tzinfo=UTC)
            return {"endingTimestamp": moment.isoformat()}
        case Mapping():
            return {"endingOffsets": msgspec.json.encode({topic: dict(at)}).decode()}
    raise InvalidRequest(f"{at} is no place in a folder", hint="give a time, or offsets by partition: 0=23,1=40")


def _typing(options: CompactOptions) -> Typing:
    if options.path is not None:
        return Typing(columns=options.columns)
    return find_typing(options.server, options.topic, columns=options.columns, registry=options.registry)
