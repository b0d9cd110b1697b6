"""Which records of a topic a job is about: from one place or time up to another, fixed in numbers before it begins."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec
from pyspark.errors import PySparkException
from pyspark.sql.types import StructType

from goqueue.errors import InvalidRequest
from goqueue.model.log import LogId
from goqueue.spark.broker import Places
from goqueue.spark.columns import COLUMNS
from goqueue.spark.failures import reason
from goqueue.spark.options import ReadOptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Bound", "Stretch", "matching", "stretch_of"]

Bound = str | int | Mapping[int, int] | datetime
"""`earliest` or `latest`; an offset, below zero counted from the end; offsets by partition; or a time."""

WHOLE_PARTITION = str((1 << 31) - 1)


class Stretch(msgspec.Struct, frozen=True):
    """By partition: from `starts` up to, but not including, `ends`."""

    bootstrap: str
    topic: str
    starts: dict[int, int]
    ends: dict[int, int]

    def __len__(self) -> int:
        return sum(end - self.starts[partition] for partition, end in self.ends.items())

    def options(self) -> dict[str, str]:
        """What both a batch and a stream are told."""
        return {
            "bootstrap": self.bootstrap,
            "assign": json.dumps({self.topic: sorted(self.starts)}),
            "startingOffsets": json.dumps({self.topic: self.starts}),
            "endingOffsets": json.dumps({self.topic: self.ends}),
            "includeHeaders": "true",
        }

    def read(
        self, spark: "SparkSession", columns: Sequence[str] | None = None, *, in_order: bool = False
    ) -> "DataFrame":
        """With `in_order` each partition is read by one task, so that what it writes keeps the order.

        Columns that are not named, if any are, are not even decoded.
        """
        more = {"maxRecordsPerPartition": WHOLE_PARTITION} if in_order else {}
        reader = spark.read.format("goqueue").options(**self.options(), **more)
        if columns is not None:
            reader = reader.schema(StructType([COLUMNS[name] for name in columns]))
        return reader.load()


def stretch_of(
    bootstrap: str,
    topic: str,
    start: Bound = "earliest",
    end: Bound = "latest",
    partitions: Sequence[int] | None = None,
) -> Stretch:
    """As of now; offsets that are not there are those nearest to them."""
    assigned = None if partitions is None else {topic: tuple(sorted(set(partitions)))}
    with Places(ReadOptions(bootstrap, topics=(topic,), assigned=assigned)) as places:
        logs = places.partitions()
        first, last = places.at(logs, "earliest"), places.at(logs, "latest")
        starts = _offsets(places, start, first, last, otherwise=first)
        ends = _offsets(places, end, first, last, otherwise=last)
    return Stretch(
        bootstrap,
        topic,
        {log.partition: min(starts[log], ends[log]) for log in logs},
        {log.partition: ends[log] for log in logs},
    )


def _offsets(
    places: Places,
    bound: Bound,
    first: Mapping[LogId, int],
    last: Mapping[LogId, int],
    *,
    otherwise: Mapping[LogId, int],
) -> dict[LogId, int]:
    if isinstance(bound, datetime):
        moment = bound if bound.tzinfo is not None else bound.replace(tzinfo=UTC)
        wanted: Mapping[LogId, int] = places.at(first, int(moment.timestamp() * 1_000_000) * 1000)
    elif isinstance(bound, int):
        wanted = {log: bound if bound >= 0 else last[log] + bound for log in first}
    elif isinstance(bound, str):
        if bound not in ("earliest", "latest"):
            raise InvalidRequest(f"{bound!r} is no place", hint="give earliest, latest, an offset or a time")
        wanted = first if bound == "earliest" else last
    else:
        wanted = {log: bound.get(log.partition, otherwise[log]) for log in first}
    return {log: min(max(wanted[log], first[log]), last[log]) for log in first}


def matching(frame: "DataFrame", expression: str | None) -> "DataFrame":
    """Those rows for which an SQL expression over the columns holds; `text` is the value as text."""
    if expression is None:
        return frame
    seen = frame.withColumn("text", frame["value"].cast("string"))
    try:
        found = seen.where(expression)
        # Over Spark Connect nothing is looked at before somebody asks.
        _ = found.schema
    except PySparkException as error:
        raise InvalidRequest(
            f"the filter {expression!r} is not understood: {reason(error).partition(' SQLSTATE')[0]}",
            hint=f"it is an SQL expression that is true or false, over {', '.join(seen.columns)}; "
            "JSON is read with get_json_object(text, '$.name')",
        ) from None
    return found.drop("text")
