"""Topics as Parquet tables: a folder for each topic, in it one for each date, with every record once.

Records go by their own timestamp, so those that come late land where they belong. What was read is noted with the
offsets of each batch in a manifest (`goqueue.spark.pipelines.lake_table`), and a run goes on where the last one stood.
"""

from collections.abc import Mapping

import msgspec
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import ArrayType, DataType, StructType

from goqueue.errors import InvalidRequest
from goqueue.spark.broker import Places
from goqueue.spark.failures import plainly
from goqueue.spark.options import EARLIEST, ReadOptions
from goqueue.spark.pipelines.lake_table import DATE, Entry, OffsetRange, Table
from goqueue.spark.pipelines.streams import finish, triggered
from goqueue.spark.pipelines.typed import Typing, find_typing, typed

__all__ = ["LakeOptions", "LakeSummary", "Loaded", "append", "dated", "run"]

SIDE_BY_SIDE = 4
"""Queries at a time: each has a process of Python besides the tasks."""
QUERY_ID = "sql.streaming.queryId"
DAY_US = 86_400_000_000


class LakeOptions(msgspec.Struct, frozen=True, kw_only=True):
    """`schemas` has columns for topics whose values are JSON; others are looked up in the registry, if one is given."""

    server: str
    topics: tuple[str, ...]
    to: str
    schemas: Mapping[str, str] = {}
    registry: str | None = None
    batch_records: int = 1_000_000
    follow: bool = False
    every: str = "10 seconds"


class Loaded(msgspec.Struct, frozen=True):
    topic: str
    batches: int = 0
    rows: int = 0
    files: int = 0
    bytes: int = 0

    def plus(self, entry: Entry) -> "Loaded":
        size = sum(file.bytes for file in entry.added)
        return Loaded(
            self.topic, self.batches + 1, self.rows + entry.rows, self.files + len(entry.added), self.bytes + size
        )


class LakeSummary(msgspec.Struct, frozen=True):
    to: str
    topics: tuple[Loaded, ...]


def run(spark: SparkSession, options: LakeOptions) -> LakeSummary:
    """Load all that is there, or follow until somebody stops it."""
    loads = [_Load(spark, options, topic) for topic in dict.fromkeys(options.topics)]
    size = len(loads) if options.follow else SIDE_BY_SIDE
    for some in (loads[first : first + size] for first in range(0, len(loads), size)):
        finish([load.start() for load in some], follow=options.follow)
    return LakeSummary(options.to, tuple(load.done for load in loads))


def dated(frame: DataFrame) -> DataFrame:
    """With the date of the record in UTC, whatever zone the session is in."""
    days = F.floor(F.unix_micros("timestamp") / F.lit(DAY_US)).cast("int")
    return frame.withColumn(DATE, F.date_add(F.lit("1970-01-01").cast(DATE), days))


def append(table: Table, frame: DataFrame, name: str, ranges: tuple[OffsetRange, ...]) -> Entry:
    """Add a batch under its name; a batch of that name that is there already is left as it is."""
    known = table.entry(name)
    if known is not None:
        # By a job that died before Spark knew of it.
        table.settle(known)
        return known
    staged, files = table.stage(frame, name)
    schema = frame.drop("topic").schema.json()
    rows = sum(file.rows for file in files)
    entry = Entry(
        name=name, kind="batch", topic=table.topic, staged=staged, rows=rows, added=files, ranges=ranges, schema=schema
    )
    table.commit(entry)
    table.settle(entry)
    return entry


class _Load:
    """The query that loads one topic."""

    def __init__(self, spark: SparkSession, options: LakeOptions, topic: str) -> None:
        self._options = options
        self._spark = spark
        self._table = Table(spark, options.to, topic)
        columns = options.schemas.get(topic)
        self._typing = find_typing(options.server, topic, columns=columns, registry=options.registry)
        self._starts: dict[int, int] = {}
        self.done = Loaded(topic)

    def start(self) -> StreamingQuery:
        table, options = self._table, self._options
        table.recover()
        self._starts = self._first_offsets()
        rows = table_rows(self._read(), self._typing)
        check_evolution(table, rows.schema)
        writer = rows.writeStream.foreachBatch(self._batch).queryName(f"lake {table.topic}")
        writer = writer.option("checkpointLocation", table.files.path(table.checkpoint))
        return triggered(writer, follow=options.follow, every=options.every).start()

    def _first_offsets(self) -> dict[int, int]:
        """Where a query that has done nothing yet begins: behind what the table has."""
        if self._table.files.names(f"{self._table.checkpoint}/commits"):
            return {}
        with Places(ReadOptions(bootstrap=self._options.server, topics=(self._table.topic,))) as places:
            first = {log.partition: at for log, at in places.given(places.partitions(), EARLIEST).items()}
        return first | self._table.ends()

    def _read(self) -> DataFrame:
        starts = {self._table.topic: self._starts}
        reader = self._spark.readStream.format("goqueue").option("bootstrap", self._options.server)
        reader = reader.option("subscribe", self._table.topic).option("includeHeaders", "true")
        reader = reader.option("startingOffsets", msgspec.json.encode(starts).decode())
        return reader.option("maxOffsetsPerTrigger", str(self._options.batch_records)).load()

    @plainly
    def _batch(self, frame: DataFrame, number: int) -> None:
        query = frame.sparkSession.sparkContext.getLocalProperty(QUERY_ID)
        entry = append(self._table, frame, f"batch-{query}-{number:012d}", self._ranges(number))
        self.done = self.done.plus(entry)

    def _ranges(self, number: int) -> tuple[OffsetRange, ...]:
        ends = self._noted(number)
        starts = self._noted(number - 1) if number else self._starts
        return tuple(OffsetRange(log, starts.get(log, 0), end) for log, end in sorted(ends.items()))

    def _noted(self, number: int) -> dict[int, int]:
        """What Spark wrote down before it began the batch: a version, its own settings, and a line for each source."""
        lines = self._table.files.read(f"{self._table.checkpoint}/offsets/{number}").splitlines()
        noted = msgspec.json.decode(lines[2], type=dict[str, dict[int, int]], strict=False)
        return noted[self._table.topic]


def table_rows(frame: DataFrame, typing: Typing) -> DataFrame:
    """The columns of a table: those of the record without its topic, which the folder says, and the date."""
    return dated(typed(frame.drop("topic"), typing))


def check_evolution(table: Table, schema: StructType) -> None:
    """Columns and fields may be added; what there is keeps its type, so that all files can be read together."""
    for known in table.schemas():
        place = _difference(known, schema)
        if place is not None:
            raise InvalidRequest(
                f"the table {table.folder} has another type for {place}",
                hint="load into another folder, or give the schema that it was begun with",
            )


def _difference(old: DataType, new: DataType, place: str = "") -> str | None:
    if isinstance(old, ArrayType) and isinstance(new, ArrayType):
        return _difference(old.elementType, new.elementType, place)
    if not isinstance(old, StructType) or not isinstance(new, StructType):
        return None if old.simpleString() == new.simpleString() else place
    for field in old:
        if field.name in new.names:
            found = _difference(field.dataType, new[field.name].dataType, f"{place}.{field.name}".lstrip("."))
            if found is not None:
                return found
    return None
