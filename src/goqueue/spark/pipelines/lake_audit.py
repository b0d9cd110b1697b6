"""Does a table of the lake hold what its manifest says: every file, every row, and no offset twice or left out?"""

import msgspec
from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F

from goqueue.spark.pipelines.lake_table import Table, count_by_file

__all__ = ["Audited", "Problem", "verify"]

MOST_PROBLEMS = 100


class Problem(msgspec.Struct, frozen=True):
    kind: str
    what: str


class Audited(msgspec.Struct, frozen=True):
    topic: str
    batches: int
    files: int
    rows: int
    problems: tuple[Problem, ...]

    @property
    def is_right(self) -> bool:
        return not self.problems


def verify(table: Table) -> Audited:
    """Reads the manifest, the footers of all files, and partition and offset of all rows."""
    table.recover()
    entries = table.entries()
    rows = table.rows("partition int, offset long, date date")
    listed = table.live_files()
    found = file_problems(listed, count_by_file(rows))
    found = found.unionByName(range_problems(entries)).unionByName(row_problems(rows, entries))
    problems = [Problem(*row) for row in found.orderBy("kind", "what").limit(MOST_PROBLEMS).collect()]
    batches, added, files, listed_rows = _totals(entries, listed)
    if added != listed_rows:
        problems.append(Problem("rows", f"batches added {added} rows, and the files that count have {listed_rows}"))
    return Audited(table.topic, batches, files, listed_rows, tuple(problems))


def _totals(entries: DataFrame, listed: DataFrame) -> Row:
    total = (F.count("*"), F.coalesce(F.sum("rows"), F.lit(0)))
    return entries.where("kind = 'batch'").agg(*total).crossJoin(listed.agg(*total)).collect()[0]


def file_problems(listed: DataFrame, there: DataFrame) -> DataFrame:
    """Columns kind, what."""
    both = listed.alias("said").join(there.alias("is"), "path", "full_outer")
    said, found = F.col("said.rows"), F.col("is.rows")
    kind = (
        F.when(found.isNull(), "missing file")
        .when(said.isNull(), "unknown file")
        .when(said != found, "rows")
        .when(F.col("said.bytes") != F.col("is.bytes"), "bytes")
    )
    what = F.concat_ws(
        "",
        "path",
        F.when(found.isNull(), " is not there, or cannot be read")
        .when(said.isNull(), " is in no entry of the manifest")
        .when(said != found, _compared("rows", said, found))
        .otherwise(_compared("bytes", F.col("said.bytes"), F.col("is.bytes"))),
    )
    return both.select(kind.alias("kind"), what.alias("what")).where("kind is not null")


def _compared(unit: str, said: Column, found: Column) -> Column:
    return F.format_string(f" has %d {unit}, and %d by the manifest", found, said)


def range_problems(entries: DataFrame) -> DataFrame:
    """Each batch has to begin where the one before it ended."""
    ranges = entries.select("name", F.explode("ranges").alias("range")).select("name", "range.*")
    before = F.lag("end").over(Window.partitionBy("partition").orderBy("start", "end"))
    text = F.format_string(
        "partition %d: %s begins at offset %d, and the one before ends at %d", "partition", "name", "start", "before"
    )
    kind = F.when(F.col("start") > F.col("before"), "gap").otherwise("overlap")
    return ranges.withColumn("before", before).where("start != before").select(kind.alias("kind"), text.alias("what"))


def row_problems(rows: DataFrame, entries: DataFrame) -> DataFrame:
    """Rows that are there more than once, and those of which no batch speaks."""
    twice = (
        rows.groupBy("partition", "offset")
        .agg(F.count("*").alias("times"))
        .where("times > 1")
        .select(
            F.lit("duplicate").alias("kind"),
            F.format_string("partition %d: offset %d is there %d times", "partition", "offset", "times").alias("what"),
        )
    )
    known = (
        entries.select(F.explode("ranges").alias("range"))
        .select("range.*")
        .groupBy("partition")
        .agg(F.min("start").alias("start"), F.max("end").alias("end"))
    )
    reach = rows.groupBy("partition").agg(F.min("offset").alias("first"), F.max("offset").alias("last"))
    outside = (
        reach.join(known, "partition", "left")
        .where("start is null or first < start or last >= end")
        .select(
            F.lit("outside").alias("kind"),
            F.format_string(
                "partition %d: rows from offset %d to %d, and batches from %d to %d",
                "partition",
                "first",
                "last",
                "start",
                "end",
            ).alias("what"),
        )
    )
    return twice.unionByName(outside)
