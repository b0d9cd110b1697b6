"""A table of the lake: files are staged, committed by an entry of the manifest, and then moved to where readers look.

The entry is what counts. A job that dies before it leaves nothing that can be seen, and one that dies behind it is
finished by the next: whatever is still staged under a committed entry is moved then. An entry has a name that can be
given once, so that of two jobs which do the same only one counts.
"""

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from goqueue.errors import InvalidRequest
from goqueue.model.topic import topic_name
from goqueue.spark.pipelines.files import Files

__all__ = ["DATE", "Entry", "OffsetRange", "Table", "WrittenFile"]

DATE = "date"
MANIFEST, STAGING, CHECKPOINTS = "_manifest", "_staging", "_checkpoints"
ENTRY = (
    "name string, kind string, topic string, rows long, "
    "added array<struct<path:string,rows:long,bytes:long>>, removed array<string>, "
    "ranges array<struct<partition:int,start:long,end:long>>, schema string"
)
METADATA = "struct<file_path:string,file_size:long>"
TIMESTAMPS = "spark.sql.parquet.outputTimestampType"


class WrittenFile(msgspec.Struct, frozen=True):
    """`path` is that within the table: `date=2025-12-31/part-….parquet`."""

    path: str
    rows: int
    bytes: int


class OffsetRange(msgspec.Struct, frozen=True):
    """From `start` up to, but not including, `end`."""

    partition: int
    start: int
    end: int


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One line of the manifest: a batch adds files, a compaction replaces some by others with the same rows."""

    name: str
    kind: str
    topic: str
    staged: str
    rows: int = 0
    added: tuple[WrittenFile, ...] = ()
    removed: tuple[str, ...] = ()
    ranges: tuple[OffsetRange, ...] = ()
    schema: str = ""


class Table:
    """`LAKE/TOPIC`; what is not for readers lies beside it, so that they see nothing but finished files."""

    def __init__(self, spark: SparkSession, lake: str, topic: str) -> None:
        if topic.startswith(("_", ".")):
            raise InvalidRequest(f"{topic} cannot be a table", hint="readers pass over folders that begin with _ or .")
        self.spark = spark
        self.topic = topic_name(topic)
        self.files = Files(spark, lake)
        self.folder = self.files.path(topic)
        self.checkpoint = f"{CHECKPOINTS}/{topic}"
        self._manifest = f"{MANIFEST}/{topic}"
        self._staging = f"{STAGING}/{topic}"

    # What there is.

    def entries(self) -> DataFrame:
        if not self.files.exists(self._manifest):
            return _nothing(self.spark, ENTRY)
        return self.spark.read.schema(ENTRY).json(self.files.path(self._manifest))

    def rows(self, columns: str) -> DataFrame:
        """Of all files that lie in the table; those that cannot be read are left out."""
        if not self.files.exists(self.topic):
            return _nothing(self.spark, f"{columns}, _metadata {METADATA}")
        reader = self.spark.read.schema(columns).option("ignoreCorruptFiles", "true")
        return reader.option("ignoreMissingFiles", "true").parquet(self.folder)

    def live_files(self) -> DataFrame:
        """Columns path, rows, bytes, schema: what was added and not removed; in which order does not matter."""
        entries = self.entries()
        added = entries.select("schema", F.explode("added").alias("file")).select("file.*", "schema")
        removed = entries.select(F.explode("removed").alias("path"))
        return added.join(removed, "path", "left_anti")

    def ends(self) -> dict[int, int]:
        """Up to which offset of each partition the table goes."""
        if not self.files.exists(self._manifest):
            return {}
        ranges = self.entries().select(F.explode("ranges").alias("range")).select("range.*")
        return {
            row["partition"]: row["end"] for row in ranges.groupBy("partition").agg(F.max("end").alias("end")).collect()
        }

    def schemas(self, most: int = 100) -> list[StructType]:
        if not self.files.exists(self._manifest):
            return []
        found = self.entries().where("schema != ''").select("schema").distinct().limit(most).collect()
        return [StructType.fromJson(msgspec.json.decode(row["schema"])) for row in found]

    def entry(self, name: str) -> Entry | None:
        path = self._entry(name)
        return msgspec.json.decode(self.files.read(path), type=Entry) if self.files.exists(path) else None

    def _entry(self, name: str) -> str:
        return f"{self._manifest}/{name}.jsonl"

    def names(self, kind: str) -> list[str]:
        """Of all entries of a kind, in order."""
        found = (name.removesuffix(".jsonl") for name in self.files.names(self._manifest))
        return [name for name in found if name.startswith(f"{kind}-")]

    # How it changes.

    def stage(self, frame: DataFrame, name: str) -> tuple[str, tuple[WrittenFile, ...]]:
        """Write files where no reader looks; in folders by the column `date`."""
        staged = f"{name}~{secrets.token_hex(8)}"
        folder = self.files.path(f"{self._staging}/{staged}")
        with _timestamps_for_everybody(frame.sparkSession):
            frame.write.partitionBy(DATE).parquet(folder)
        return staged, written_files(self.spark, folder)

    def commit(self, entry: Entry) -> None:
        """From here on it counts."""
        self.files.create(self._entry(entry.name), msgspec.json.encode(entry) + b"\n")

    def settle(self, entry: Entry) -> None:
        """Readers see at any moment a part of the rows, or all of them, and none twice: what is replaced goes first."""
        for path in entry.removed:
            self.files.remove(f"{self.topic}/{path}")
        left = {f"{day}/{file}" for day in self._days(entry.staged) for file in self._staged(entry.staged, day)}
        for file in entry.added:
            if file.path in left:
                self.files.move(f"{self._staging}/{entry.staged}/{file.path}", f"{self.topic}/{file.path}")
        for staged in self.files.names(self._staging):
            if staged.partition("~")[0] == entry.name:
                # Also those of jobs that died: the name is taken, they can never be committed.
                self.files.remove(f"{self._staging}/{staged}")

    def _days(self, staged: str) -> list[str]:
        return self.files.names(f"{self._staging}/{staged}")

    def _staged(self, staged: str, day: str) -> Sequence[str]:
        return self.files.names(f"{self._staging}/{staged}/{day}") if day.startswith(f"{DATE}=") else ()

    def recover(self) -> None:
        """Finish what was committed by a job that died."""
        for staged in self.files.names(self._staging):
            entry = self.entry(staged.partition("~")[0])
            if entry is not None:
                self.settle(entry)


def written_files(spark: SparkSession, folder: str) -> tuple[WrittenFile, ...]:
    """Counted from the files themselves, of which only the footers are read."""
    rows = spark.read.schema("partition int").parquet(folder)
    found = count_by_file(rows).collect()
    return tuple(sorted((WrittenFile(*row) for row in found), key=lambda file: file.path))


def count_by_file(rows: DataFrame) -> DataFrame:
    """Columns path, rows, bytes."""
    path = F.regexp_extract(F.col("_metadata.file_path"), "[^/]+/[^/]+$", 0)
    return (
        rows.select(path.alias("path"), F.col("_metadata.file_size").alias("bytes"))
        .groupBy("path")
        .agg(F.count("*").alias("rows"), F.first("bytes").alias("bytes"))
    )


def _nothing(spark: SparkSession, columns: str) -> DataFrame:
    return spark.range(0).select(F.from_json(F.lit("{}"), columns).alias("row")).select("row.*")


@contextmanager
def _timestamps_for_everybody(spark: SparkSession) -> Iterator[None]:
    """What Spark writes by default is an old form, that others have given up."""
    before = spark.conf.get(TIMESTAMPS)
    spark.conf.set(TIMESTAMPS, "TIMESTAMP_MICROS")
    try:
        yield
    finally:
        spark.conf.set(TIMESTAMPS, str(before))
