"""Many small files of a date become few large ones, in one step that either counts or does not."""

from collections.abc import Iterator

import msgspec
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from goqueue.errors import DataFolderDamaged
from goqueue.spark.pipelines.lake_table import DATE, Entry, Table

__all__ = ["Compacted", "compact", "small_files", "stage_compaction"]

KIND = "compaction"
MIB = 1024 * 1024
SMALL_BYTES = 32 * MIB
TARGET_BYTES = 128 * MIB


class Compacted(msgspec.Struct, frozen=True):
    topic: str
    dates: int = 0
    files_before: int = 0
    files_after: int = 0
    rows: int = 0


def compact(table: Table, *, below_bytes: int = SMALL_BYTES, target_bytes: int = TARGET_BYTES) -> Compacted:
    """Date by date; each is committed on its own, so what is interrupted goes on with the next run."""
    table.recover()
    done = Compacted(table.topic)
    for group in _groups(table, below_bytes):
        entry = stage_compaction(table, group, target_bytes)
        if entry is None:
            continue
        table.commit(entry)
        table.settle(entry)
        done = Compacted(
            table.topic,
            done.dates + 1,
            done.files_before + len(entry.removed),
            done.files_after + len(entry.added),
            done.rows + entry.rows,
        )
    return done


def small_files(table: Table, below_bytes: int) -> DataFrame:
    """A row for each date with more than one small file; files of different schemas are not mixed."""
    day = F.split("path", "/")[0]
    return (
        table.live_files()
        .where(F.col("bytes") < below_bytes)
        .groupBy(day.alias("day"), "schema")
        .agg(
            F.sort_array(F.collect_list("path")).alias("paths"),
            F.sum("rows").alias("rows"),
            F.sum("bytes").alias("bytes"),
        )
        .where(F.size("paths") > 1)
        .orderBy("day", "schema")
    )


def _groups(table: Table, below_bytes: int) -> Iterator[Row]:
    """One by one: each is no larger than a date has files."""
    yield from small_files(table, below_bytes).toLocalIterator()


def stage_compaction(table: Table, group: Row, target_bytes: int = TARGET_BYTES) -> Entry | None:
    """The entry that would replace these files, which is not committed yet; nothing if one of them is not in place."""
    if not set(group["paths"]) <= {
        f"{group['day']}/{name}" for name in table.files.names(f"{table.topic}/{group['day']}")
    }:
        # A batch is being committed right now, or somebody took a file away: checking the table tells which.
        return None
    name = f"{KIND}-{len(table.names(KIND)):012d}"
    pieces = max(1, -(-group["bytes"] // target_bytes))
    paths = [f"{table.folder}/{path}" for path in group["paths"]]
    schema = StructType.fromJson(msgspec.json.decode(group["schema"]))
    rows = table.spark.read.schema(schema).option("basePath", table.folder).parquet(*paths)
    # In the order of the log, so that a reader of some offsets opens few files.
    ordered = rows.repartitionByRange(pieces, "partition", "offset").sortWithinPartitions(DATE, "partition", "offset")
    staged, files = table.stage(ordered, name)
    counted = sum(file.rows for file in files)
    if counted != group["rows"]:
        raise DataFolderDamaged(
            f"{table.folder}/{group['day']} has {counted} rows in small files, and {group['rows']} by its manifest",
            hint="check the table with --verify; nothing was changed",
        )
    return Entry(
        name=name,
        kind=KIND,
        topic=table.topic,
        staged=staged,
        rows=counted,
        added=files,
        removed=tuple(group["paths"]),
        schema=group["schema"],
    )
