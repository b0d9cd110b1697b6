"""Checks of a topic by itself: nothing missing in the log, no id twice, the records of each key in their order."""

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from goqueue.spark.pipelines.identity import REDRIVEN_FROM, feature, header
from goqueue.spark.pipelines.ledger import MISSING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["VIOLATION", "duplicates", "facts_of", "missing", "out_of_order", "split_keys", "violations_of"]

VIOLATION = "check string, kind string, partition int, offset long, key binary, records long, detail string"
_EARLIER = "earlier"


def violations_of(
    frame: "DataFrame", check: str, kind: "Column | str", detail: "Column", *, records: "Column | None" = None
) -> "DataFrame":
    """In the columns of `VIOLATION`; the frame has partition and offset, and perhaps a key."""
    key = F.col("key") if "key" in frame.columns else F.lit(None)
    return frame.select(
        F.lit(check).alias("check"),
        (F.lit(kind) if isinstance(kind, str) else kind).alias("kind"),
        F.col("partition").cast("int").alias("partition"),
        F.col("offset").cast("long").alias("offset"),
        key.cast("binary").alias("key"),
        (F.lit(1) if records is None else records).cast("long").alias("records"),
        detail.alias("detail"),
    )


def facts_of(frame: "DataFrame", id_by: str, sequence_by: str | None, link: "Column | None" = None) -> "DataFrame":
    """What the checks look at, of each record. A sequence that is no number is none."""
    sequence = F.lit(None) if sequence_by is None else feature(sequence_by).cast("string").try_cast("bigint")
    return frame.select(
        *("partition", "offset", "key"),
        feature(id_by).alias("id"),
        sequence.cast("bigint").alias("sequence"),
        (F.lit(None).cast("binary") if link is None else link).alias("link"),
        header(REDRIVEN_FROM).alias("redriven"),
    )


def missing(ledger: "DataFrame") -> "DataFrame":
    """Offsets at which nothing is stored, by runs."""
    gone = ledger.where(F.col("state") == MISSING).withColumn("offset", F.col("first"))
    last = F.col("first") + F.col("count") - 1
    detail = F.format_string("offsets %d to %d of partition %d hold nothing", "first", last, "partition")
    return violations_of(gone, "log", "missing", detail, records=F.col("count"))


def duplicates(facts: "DataFrame") -> "DataFrame":
    """A row for each id that occurs more than once, at its second place.

    A dead letter that was sent back has the id of the record it was: this one and each of its letters may come once.
    """
    known = facts.where("id is not null")
    alike = Window.partitionBy("id", "redriven")
    same = alike.orderBy("partition", "offset")
    numbered = (
        known.withColumn("number", F.row_number().over(same))
        .withColumn("times", F.count("*").over(alike))
        .withColumn("first", F.first(F.concat_ws("/", "partition", "offset")).over(same))
        .where("number = 2")
    )
    detail = F.format_string("id %s occurs %d times, first at %s", _shown("id"), "times", "first")
    return violations_of(numbered, "ids", "duplicated", detail, records=F.col("times") - 1)


def out_of_order(facts: "DataFrame", *, dense: bool = False) -> "DataFrame":
    """Records whose number is not above that of the one before them, of the same key in the same partition.

    When numbers have to be dense, a key begins wherever it does, and each number follows by one. What was sent back
    from the dead letters comes when somebody sent it, and is left out.
    """
    before = Window.partitionBy("key", "partition").orderBy("offset")
    known = facts.where("key is not null and sequence is not null and redriven is null")
    seen = known.withColumn(_EARLIER, F.lag("sequence").over(before))
    kind = F.when(F.col("sequence") < F.col(_EARLIER), "reordered").when(
        F.col("sequence") == F.col(_EARLIER), "repeated"
    )
    if dense:
        kind = kind.when(F.col("sequence") > F.col(_EARLIER) + 1, "skipped")
    found = seen.withColumn("kind", kind).where("kind is not null")
    detail = F.format_string("number %d comes after %d", "sequence", _EARLIER)
    return violations_of(found, "order", F.col("kind"), detail)


def split_keys(facts: "DataFrame") -> "DataFrame":
    """Keys that lie in more than one partition: between partitions there is no order to check."""
    keyed = facts.where("key is not null").groupBy("key")
    return keyed.agg(F.min("partition").alias("one"), F.max("partition").alias("other")).where("one <> other")


def _shown(name: str) -> "Column":
    """As text, or in hex digits where it is none."""
    data = F.substring(F.col(name), 1, 200)
    return F.coalesce(F.try_validate_utf8(data.cast("string")), F.concat(F.lit("0x"), F.lower(F.hex(data))))
