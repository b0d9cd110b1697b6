"""Dead letters as a table: what their header says as columns, without those that somebody has dealt with."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from goqueue.client.admin import Admin
from goqueue.spark.broker import ask
from goqueue.spark.columns import COLUMNS
from goqueue.spark.vectors import over_columns
from goqueue.wire.native.letters import Cursor, LetterSelect

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = [
    "DEAD_LETTER_HEADER",
    "READ",
    "RECORD",
    "as_letters",
    "pages_of_places",
    "readable",
    "still_open",
    "where_they_are",
]

DEAD_LETTER_HEADER = "goqueue-dead-letter"
READ = ("partition", "offset", "timestamp", "key", "value", "headers", "trace_id")
RECORD = StructType([COLUMNS[name] for name in READ])
LONGEST_TEXT = 1000
AT_ONCE = 500
"""Letters in one request."""
ORIGIN = """
    topic string, partition int, offset long, group string, timestamp_ns long, cause string, reason string,
    deliveries int, failures int, history array<array<string>>
"""
UNKNOWN = "(unknown)"


def as_letters(records: "DataFrame") -> "DataFrame":
    """Of records of a dead-letter topic; those that somebody else has put there have an unknown cause."""
    found = F.get(F.filter("headers", lambda one: one["key"] == DEAD_LETTER_HEADER), F.lit(0))["value"]
    return records.select(
        *("partition", "offset", "trace_id"),
        F.col("timestamp").alias("died"),
        readable(F.col("key")).alias("key"),
        readable(F.col("value")).alias("value"),
        F.from_json(found.cast("string"), ORIGIN).alias("origin"),
    ).select(
        *("partition", "offset", "died", "key", "value", "trace_id"),
        F.coalesce("origin.topic", F.lit(UNKNOWN)).alias("topic"),
        F.col("origin.partition").alias("origin_partition"),
        F.col("origin.offset").alias("origin_offset"),
        F.expr("timestamp_micros(origin.timestamp_ns div 1000)").alias("published"),
        F.coalesce("origin.group", F.lit(UNKNOWN)).alias("group"),
        F.coalesce("origin.cause", F.lit(UNKNOWN)).alias("cause"),
        F.coalesce("origin.reason", F.lit("")).alias("reason"),
        F.coalesce("origin.deliveries", F.lit(0)).alias("deliveries"),
        F.coalesce("origin.failures", F.lit(0)).alias("failures"),
    )


def readable(data: "Column") -> "Column":
    """The beginning of it as text, or in hex digits where it is none."""
    start = F.substring(data, 1, LONGEST_TEXT)
    return F.coalesce(F.try_validate_utf8(start.cast("string")), F.concat(F.lit("0x"), F.lower(F.hex(start))))


def where_they_are(server: str, topic: str) -> str:
    """The topic that has the dead letters of this one."""

    async def look() -> str:
        async with Admin(server) as admin:
            return (await admin.dead_letters(topic, limit=1)).topic

    return ask(look)


def still_open(letters: "DataFrame", server: str, topic: str) -> "DataFrame":
    """Without those that were sent back or purged, or belong to another topic.

    They stay in their log, and only the broker knows what became of them: each task asks it about its own.
    """

    def is_open(partitions: pa.Array, offsets: pa.Array) -> pa.Array:
        places = list(zip(partitions.to_pylist(), offsets.to_pylist(), strict=True))
        found = ask(lambda: _open_places(server, topic, places))
        return pa.array([place in found for place in places], pa.bool_())

    # What it says changes with time, so it must be asked once for each letter.
    asked = over_columns(is_open, "boolean", once=True)
    return letters.where(asked("partition", "offset"))


async def _open_places(server: str, topic: str, places: Sequence[tuple[int, int]]) -> set[tuple[int, int]]:
    found: set[tuple[int, int]] = set()
    async with Admin(server) as admin:
        for some in pages_of_places(places, AT_ONCE):
            after: Cursor | None = None
            while True:
                page = await admin.dead_letters(topic, LetterSelect(places=some), limit=AT_ONCE, after=after)
                found.update((one.partition, one.offset) for one in page.letters)
                after = page.next
                if after is None:
                    break
    return found


def pages_of_places(places: Sequence[tuple[int, int]], most: int) -> Iterator[tuple[tuple[int, int], ...]]:
    for start in range(0, len(places), most):
        yield tuple(places[start : start + most])
