"""Compare a topic with a copy of it: what is lost, extra, duplicated, or in another order for its key."""

from enum import StrEnum
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from goqueue.errors import InvalidRequest
from goqueue.spark.pipelines.audit_checks import violations_of
from goqueue.spark.pipelines.identity import REDRIVEN_FROM, REPLAYED_FROM, content, feature, header, place
from goqueue.spark.pipelines.stretches import Stretch

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["Mapping", "copy_links", "differences", "reordered", "source_link"]


class Mapping(StrEnum):
    """How a record of the copy is known to be that of the source."""

    ID = "id"
    """By the id of both."""
    CONTENT = "content"
    """By key and value: each has to be there as often as in the source."""
    REPLAYED_FROM = "replayed-from"
    """By the header that replays write."""
    PLACE = "place"
    """By columns partition and offset, which a table may have of the source."""


def source_link(mapping: Mapping, id_by: str) -> "Column":
    """What a record of the source is known by in the copy."""
    match mapping:
        case Mapping.ID:
            return feature(id_by)
        case Mapping.CONTENT:
            return content()
    return place(F.col("topic"))


def copy_links(frame: "DataFrame", mapping: Mapping, id_by: str, stretch: Stretch) -> "DataFrame":
    """Columns partition, offset, key, link, redriven. What was copied from elsewhere than the stretch is left out."""
    _check_columns(frame, mapping)
    match mapping:
        case Mapping.ID:
            link = feature(id_by)
        case Mapping.CONTENT:
            link = content()
        case Mapping.REPLAYED_FROM:
            link = header(REPLAYED_FROM)
        case Mapping.PLACE:
            link = place(F.lit(stretch.topic))
    where = ("partition", "offset") if {"partition", "offset"} <= set(frame.columns) else ()
    key = F.col("key") if "key" in frame.columns else F.lit(None).cast("binary")
    places = [F.col(name) if where else F.lit(None).cast("long").alias(name) for name in ("partition", "offset")]
    redriven = header(REDRIVEN_FROM) if "headers" in frame.columns else F.lit(None).cast("binary")
    linked = frame.select(*places, key.alias("key"), link.alias("link"), redriven.alias("redriven"))
    if mapping in (Mapping.REPLAYED_FROM, Mapping.PLACE):
        return linked.where(_is_inside(stretch))
    return linked


def _check_columns(frame: "DataFrame", mapping: Mapping) -> None:
    needed = {
        Mapping.ID: {"headers", "value"},
        Mapping.CONTENT: {"key", "value"},
        Mapping.REPLAYED_FROM: {"headers"},
        Mapping.PLACE: {"partition", "offset"},
    }[mapping]
    lacking = sorted(needed - set(frame.columns))
    if lacking:
        raise InvalidRequest(
            f"the copy has no column {' or '.join(lacking)}",
            hint=f"to compare by {mapping} it needs {' and '.join(sorted(needed))}; choose another mapping",
        )


def _is_inside(stretch: Stretch) -> "Column":
    parts = F.split(F.col("link").cast("string"), "/")
    partition, offset = (F.get(parts, F.lit(at)).try_cast("bigint") for at in (1, 2))
    bounds = [(number, first, stretch.ends[number]) for number, first in stretch.starts.items()]
    first, end = (
        F.create_map(*(F.lit(value) for row in bounds for value in (row[0], row[at])))[partition.cast("int")]
        for at in (1, 2)
    )
    return (F.get(parts, F.lit(0)) == F.lit(stretch.topic)) & (offset >= first) & (offset < end)


def differences(source: "DataFrame", copy: "DataFrame", mapping: Mapping) -> "DataFrame":
    """Records without a link are left out on both sides."""
    ours, theirs = _gathered(source, "source"), _gathered(copy, "copy")
    # An id or a place names one record, however often it was written, and what was sent back of it; a copy may have
    # only some of these. Contents may rightly be the same.
    sendings = F.least("source_sendings", F.coalesce("copy_sendings", F.lit(1)))
    expected = F.col("source_times") if mapping is Mapping.CONTENT else sendings
    joined = ours.join(theirs, "link", "full_outer")
    wanted = F.when(F.col("source_times").isNull(), 0).otherwise(expected)
    found = F.coalesce("copy_times", F.lit(0))
    kind = (
        F.when(F.col("source_times").isNull(), "extra").when(found < wanted, "lost").when(found > wanted, "duplicated")
    )
    at = F.coalesce("source_at", "copy_at")
    rows = joined.withColumn("kind", kind).where("kind is not null")
    rows = rows.withColumns({"partition": at["partition"], "offset": at["offset"], "key": at["key"]})
    detail = F.format_string("expected %d in the copy, found %d", wanted.cast("long"), found.cast("long"))
    return violations_of(rows, "copy", F.col("kind"), detail, records=F.abs(found - wanted))


def _gathered(links: "DataFrame", name: str) -> "DataFrame":
    return (
        links.where("link is not null")
        .groupBy("link")
        .agg(
            F.count("*").alias(f"{name}_times"),
            # Null, for the record itself, is one of them.
            F.countDistinct(F.struct("redriven")).alias(f"{name}_sendings"),
            F.min(F.struct("partition", "offset", "key")).alias(f"{name}_at"),
        )
    )


def reordered(source: "DataFrame", copy: "DataFrame") -> "DataFrame":
    """Of records that are once in both: those that come after one of their key that they were written before."""
    both = _gathered(source, "source").join(_gathered(copy, "copy"), "link")
    single = both.where("source_times = 1 and copy_times = 1 and source_at.key is not null")
    rows = single.select(
        F.col("copy_at.partition").alias("partition"),
        F.col("copy_at.offset").alias("offset"),
        F.col("source_at.key").alias("key"),
        F.col("source_at.partition").alias("from"),
        F.col("source_at.offset").alias("at"),
    )
    before = Window.partitionBy("key", "partition", "from").orderBy("offset")
    found = rows.withColumn("earlier", F.lag("at").over(before)).where("earlier > at")
    detail = F.format_string("offset %d of the source comes after offset %d of it", "at", "earlier")
    return violations_of(found, "copy order", "reordered", detail)
