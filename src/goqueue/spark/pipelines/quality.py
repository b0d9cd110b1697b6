"""How good the records of a topic are: what is missing, broken, mixed up or unevenly spread."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from pyspark.sql import Window
from pyspark.sql import functions as F

from goqueue.spark.pipelines.letters import readable
from goqueue.spark.pipelines.skew import gini, lorenz, spread
from goqueue.spark.pipelines.stretches import Stretch
from goqueue.spark.pipelines.violations import Rules, found_faults, violations
from goqueue.spark.plots import bars, lines
from goqueue.spark.report import Report

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

__all__ = ["Summary", "columns", "key_counts", "partitions", "run", "sizes", "top_keys", "totals", "values_of"]

READ = ("partition", "offset", "timestamp", "key", "value")
DEPTH = 3
FIELDS = "array<struct<within: string, name: string, json: variant>>"
TOP_KEYS = 50
PLOTTED = 20
FRAME_BYTES = 5
"""A zero and the id of a schema, before values that were written with a serializer."""


class Summary(msgspec.Struct, frozen=True):
    topic: str
    records: int
    null_values: int
    unparsable: int
    """Values that are no JSON."""
    violating: int | None
    """Values that break the schema; None when there was none to check against."""
    keys: int
    null_keys: int
    gini: float
    """Of records over keys: 0 when all keys have as many, near 1 when one has nearly all."""
    top_key_share: float
    violations: tuple[dict[str, Any], ...]
    columns: tuple[dict[str, Any], ...]
    page: str


def run(spark: "SparkSession", stretch: Stretch, folder: Path, *, rules: Rules | None = None) -> Summary:
    values = values_of(stretch.read(spark, READ))
    if rules is not None:
        values = found_faults(values, rules)
    values = values.persist()
    counts = key_counts(values).persist()
    try:
        return _report(values, counts, stretch.topic, folder, rules)
    finally:
        counts.unpersist()
        values.unpersist()


# Tables.


def values_of(records: "DataFrame") -> "DataFrame":
    """Records with their `size`, and the `text` and the parsed `json` of values that are JSON."""
    value = F.col("value")
    framed = (F.substring(value, 1, 1) == F.lit(b"\x00")) & (F.length(value) > FRAME_BYTES)
    body = F.when(framed, F.expr(f"substring(value, {FRAME_BYTES + 1})")).otherwise(value)
    text = F.try_validate_utf8(body.cast("string"))
    parsed = records.select(
        *("partition", "offset", "timestamp", "key"),
        F.length(value).alias("size"),
        text.alias("text"),
    ).withColumn("json", F.expr("try_parse_json(text)"))
    return parsed.withColumn("text", F.when(F.col("json").isNotNull(), F.col("text")))


def totals(values: "DataFrame") -> "DataFrame":
    """One row."""
    is_object = F.col("json").try_cast("map<string, variant>").isNotNull()
    return values.agg(
        F.count("*").alias("records"),
        F.count_if(F.col("size").isNull()).alias("null values"),
        F.count_if(F.col("size").isNotNull() & F.col("json").isNull()).alias("values that are no JSON"),
        F.count_if(is_object).alias("values that are objects"),
        F.count_if(F.col("key").isNull()).alias("records without a key"),
        F.sum("size").alias("bytes of values"),
        F.min("timestamp").alias("first"),
        F.max("timestamp").alias("last"),
    )


def columns(values: "DataFrame", depth: int = DEPTH) -> "DataFrame":
    """Fields of objects, also of objects within them: how often they are null or missing, and which types they have.

    A field within another is compared with the objects that it could be in.
    """
    fields = values.select(F.inline(_fields(F.col("json"), F.lit(""), depth)))
    kind = F.regexp_extract(F.expr("schema_of_variant(json)"), r"^\w+", 0)
    counts = fields.groupBy("within", "name").agg(
        F.count("*").alias("seen"),
        F.count_if(kind != "VOID").alias("present"),
        F.array_sort(F.collect_set(F.when(kind != "VOID", kind))).alias("types"),
    )
    objects = F.max(F.when(F.col("name").isNull(), F.col("seen"))).over(Window.partitionBy("within"))
    return (
        counts.withColumn("objects", objects)
        .where("name is not null")
        .select(
            F.concat("within", "name").alias("column"),
            "objects",
            (F.col("objects") - F.col("present")).alias("nulls"),
            (1 - F.col("present") / F.col("objects")).alias("null_rate"),
            "types",
        )
        .orderBy(F.desc("null_rate"), "column")
    )


def _fields(json: "Column", within: "Column", depth: int) -> "Column":
    """Of an object: itself, without a name, and its fields, so deep; of anything else, nothing."""
    fields = json.try_cast("map<string, variant>")
    nothing = F.lit(None)
    itself = F.struct(
        within.alias("within"), nothing.cast("string").alias("name"), nothing.cast("variant").alias("json")
    )

    def named(field: "Column") -> "Column":
        return F.struct(within.alias("within"), field["key"].alias("name"), field["value"].alias("json"))

    def deeper(field: "Column") -> "Column":
        return _fields(field["value"], F.concat(within, field["key"], F.lit(".")), depth - 1)

    entries = F.map_entries(fields)
    found = [F.array(itself), F.transform(entries, named)]
    if depth > 1:
        found.append(F.flatten(F.transform(entries, deeper)))
    return F.when(fields.isNotNull(), F.concat(*found)).otherwise(F.array().cast(FIELDS))


def sizes(values: "DataFrame") -> "DataFrame":
    """How many values have between so many and twice as many bytes."""
    most = F.when(F.col("size") == 0, 0).otherwise(F.pow(F.lit(2), F.ceil(F.log2("size"))))
    return (
        values.where("size is not null")
        .groupBy(most.cast("long").alias("up_to_bytes"))
        .agg(F.count("*").alias("values"))
        .orderBy("up_to_bytes")
    )


def partitions(values: "DataFrame") -> "DataFrame":
    return (
        values.groupBy("partition")
        .agg(
            F.count("*").alias("records"),
            F.sum("size").alias("bytes"),
            F.min("offset").alias("first_offset"),
            F.max("offset").alias("last_offset"),
            F.max("timestamp").alias("newest"),
            F.count_if(F.col("size").isNotNull() & F.col("json").isNull()).alias("unparsable"),
        )
        .orderBy("partition")
    )


def key_counts(values: "DataFrame") -> "DataFrame":
    """How many records each key has."""
    return values.where("key is not null").groupBy("key").agg(F.count("*").alias("records"))


def top_keys(counts: "DataFrame", records: int) -> "DataFrame":
    share: Column = F.col("records") / max(1, records)
    return counts.select(readable(F.col("key")).alias("key"), "records", share.alias("share")).orderBy(
        F.desc("records"), "key"
    )


# The report.


def _report(values: "DataFrame", counts: "DataFrame", topic: str, folder: Path, rules: Rules | None) -> Summary:
    page = Report(f"Quality of {topic}")
    row = totals(values).first()
    assert row is not None, "an aggregate of everything has one row"
    page.facts("Records", row.asDict())
    violating, broken = _violations(page, values, rules)
    fields = page.frame("Columns", columns(values))
    _plot(page, "Null or missing, of the objects there are", fields[:PLOTTED], "column", "null_rate")
    keyed = row["records"] - row["records without a key"]
    spread_rows = spread(counts).collect()
    keys = sum(one["keys"] for one in spread_rows)
    skew = gini(spread_rows)
    top = page.frame("Top keys", top_keys(counts, keyed), most=TOP_KEYS)
    page.facts("Keys", {"different keys": keys, "Gini coefficient": skew, "share of the first key": _share(top)})
    if keys:
        _plot(page, "Keys with the most records", top[:PLOTTED], "key", "records")
        series = {"records": lorenz(spread_rows), "if all had as many": ([0.0, 1.0], [0.0, 1.0])}
        page.plot("Records over keys", lines(series, x_label="share of keys", y_label="share of records"))
    sized = page.frame("Sizes of values", sizes(values))
    _plot(page, "Values by size", sized, "up_to_bytes", "values")
    _plot(page, "Records by partition", page.frame("Partitions", partitions(values)), "partition", "records")
    return Summary(
        topic,
        row["records"],
        row["null values"],
        row["values that are no JSON"],
        violating,
        keys,
        row["records without a key"],
        skew,
        _share(top),
        tuple(broken),
        tuple(fields),
        str(page.write(folder, f"quality-{topic}")),
    )


def _violations(page: Report, values: "DataFrame", rules: Rules | None) -> tuple[int | None, list[dict[str, Any]]]:
    if rules is None:
        return None, []
    count = values.where("size(faults) > 0").count()
    page.facts("Schema", {"checked against": rules.name, "values that break it": count})
    found = page.frame("Violations", violations(values))
    named = [{"what": f"{one['path']} {one['rule']}", "values": one["values"]} for one in found[:PLOTTED]]
    _plot(page, "Values that break a rule", named, "what", "values")
    return count, found


def _plot(page: Report, caption: str, rows: Sequence[dict[str, Any]], name: str, amount: str) -> None:
    if rows:
        page.plot(caption, bars([row[name] for row in rows], [row[amount] for row in rows], label=amount))


def _share(top: Sequence[dict[str, Any]]) -> float:
    return float(top[0]["share"]) if top else 0.0
