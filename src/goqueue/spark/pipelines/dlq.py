"""Triage of dead letters: why they died, whose they are, since when, and which of them to send back."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from pyspark.sql import functions as F

from goqueue.errors import InvalidRequest, UnknownTopic
from goqueue.spark.pipelines.letters import READ, RECORD, as_letters, still_open, where_they_are
from goqueue.spark.pipelines.moments import moment_in, width_s
from goqueue.spark.pipelines.reasons import OTHERS, clustered, with_templates
from goqueue.spark.pipelines.redriving import Redriven, redrive
from goqueue.spark.pipelines.stretches import Bound, Stretch, matching, stretch_of
from goqueue.spark.plots import bars, over_time
from goqueue.spark.report import Report

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = [
    "Cluster",
    "Redrive",
    "Triage",
    "attempts",
    "by_group",
    "clusters",
    "letters_of",
    "run",
    "selection",
    "top_keys",
    "trend",
]

TOP_KEYS = 50
PLOTTED = 7


class Cluster(msgspec.Struct, frozen=True):
    cluster: str
    letters: int
    title: str


class Redrive(msgspec.Struct, frozen=True):
    """Which letters are to be sent back, and how."""

    where: str | None = None
    """An expression of SQL over the columns of a letter."""
    cluster: str | None = None
    dry_run: bool = False
    per_second: float | None = None


class Triage(msgspec.Struct, frozen=True):
    topic: str
    letters: int
    clusters: tuple[Cluster, ...]
    page: str
    redriven: Redriven | None = None


def letters_of(server: str, topic: str, start: Bound = "earliest", end: Bound = "latest") -> Stretch:
    """The dead letters that there are now, or those that died in a stretch of time."""
    kept = where_they_are(server, topic)
    try:
        return stretch_of(server, kept, start, end)
    except UnknownTopic:
        # The broker knows the topic they would come from: none ever came.
        return Stretch(server, kept, {}, {})


def run(spark: "SparkSession", stretch: Stretch, topic: str, folder: Path, *, wish: Redrive | None = None) -> Triage:
    """A report in the folder; what is wished for is sent back. Letters that came later are left alone."""
    server = stretch.bootstrap
    records = stretch.read(spark, READ) if stretch.ends else spark.createDataFrame([], RECORD)
    letters = with_templates(still_open(as_letters(records), server, topic)).persist()
    try:
        named = clustered(letters)
        found = _report(named, topic, folder)
        names = tuple(Cluster(row["cluster"], row["letters"], row["title"]) for row in found)
        triage = Triage(topic, sum(one.letters for one in names), names, str(folder / f"dlq-{topic}.html"))
        if wish is None:
            return triage
        chosen = selection(named, names, where=wish.where, cluster=wish.cluster)
        done = redrive(chosen, server, topic, dry_run=wish.dry_run, per_second=wish.per_second)
        return msgspec.structs.replace(triage, redriven=done)
    finally:
        letters.unpersist()


def selection(
    letters: "DataFrame", names: Sequence[Cluster], *, where: str | None = None, cluster: str | None = None
) -> "DataFrame":
    """Letters that fit what is given."""
    if cluster is not None:
        if cluster not in {one.cluster for one in names}:
            there = ", ".join(one.cluster for one in names[:10]) or "none at all"
            raise InvalidRequest(f"there is no cluster {cluster}", hint=f"there are: {there}")
        letters = letters.where(F.col("cluster") == cluster)
    return matching(letters, where)


# Tables.


def clusters(letters: "DataFrame") -> "DataFrame":
    """Reasons that are alike, the most frequent first."""
    return (
        letters.groupBy("cluster", "title")
        .agg(
            F.count("*").alias("letters"),
            F.min("died").alias("first_seen"),
            F.max("died").alias("last_seen"),
            F.count_distinct("key").alias("keys"),
            F.array_sort(F.collect_set("group")).alias("groups"),
            F.array_sort(F.collect_set("cause")).alias("causes"),
            F.array_sort(F.collect_set("topic")).alias("topics"),
            F.min_by("reason", F.struct("died", "partition", "offset")).alias("example"),
            F.min_by(F.concat_ws("/", "partition", "offset"), F.struct("died", "partition", "offset")).alias("first"),
        )
        .orderBy(F.desc("letters"), "cluster")
    )


def top_keys(letters: "DataFrame") -> "DataFrame":
    return (
        letters.where("key is not null")
        .groupBy("key")
        .agg(
            F.count("*").alias("letters"),
            F.count_distinct("cluster").alias("clusters"),
            F.min("died").alias("first_seen"),
            F.max("died").alias("last_seen"),
        )
        .orderBy(F.desc("letters"), "key")
    )


def by_group(letters: "DataFrame") -> "DataFrame":
    return (
        letters.groupBy("topic", "group", "cause")
        .agg(F.count("*").alias("letters"), F.max("died").alias("last_seen"))
        .orderBy(F.desc("letters"), "topic", "group", "cause")
    )


def attempts(letters: "DataFrame") -> "DataFrame":
    """How often they were tried before they were given up."""
    return (
        letters.groupBy("deliveries", "failures").agg(F.count("*").alias("letters")).orderBy("deliveries", "failures")
    )


def trend(letters: "DataFrame", width_s: int, shown: Sequence[str]) -> "DataFrame":
    """How many died in each stretch of time, by cluster; those that are not shown are together."""
    name = F.when(F.col("cluster").isin(list(shown)), F.col("cluster")).otherwise(OTHERS)
    return (
        letters.groupBy(moment_in(F.col("died"), width_s).alias("from"), name.alias("cluster"))
        .agg(F.count("*").alias("letters"))
        .orderBy("from", "cluster")
    )


# The report.


def _report(letters: "DataFrame", topic: str, folder: Path) -> list[dict[str, Any]]:
    """What is in the table of clusters."""
    report = Report(f"Dead letters of {topic}")
    found = report.frame("Clusters", clusters(letters))
    if found:
        name = found[0]["cluster"]
        report.note(f"See what would be sent back: goqueue pipeline dlq {topic} --redrive --cluster {name} --dry-run")
    shown = [row["cluster"] for row in found if row["cluster"] != OTHERS][:PLOTTED]
    if found:
        first, last = min(row["first_seen"] for row in found), max(row["last_seen"] for row in found)
        width = width_s(first, last)
        rows = report.frame("Trend", trend(letters, width, shown))
        names = {row["cluster"]: f"{row['cluster']} {row['title']}" for row in found}
        series = {
            names.get(name, name): _points([row for row in rows if row["cluster"] == name])
            for name in (*shown, OTHERS)
            if any(row["cluster"] == name for row in rows)
        }
        report.plot(f"Letters in {width:,} s each, by cluster", over_time(series, width_s=width, label="letters"))
    keys = report.frame("Top keys", top_keys(letters), most=TOP_KEYS)
    if keys:
        most = keys[:15]
        figure = bars([row["key"] for row in most], [row["letters"] for row in most], label="letters")
        report.plot("Keys with the most dead letters", figure)
    report.frame("Groups", by_group(letters))
    report.frame("Attempts", attempts(letters))
    report.write(folder, f"dlq-{topic}")
    return found


def _points(rows: Sequence[dict[str, Any]]) -> tuple[list[Any], list[float]]:
    return [row["from"] for row in rows], [float(row["letters"]) for row in rows]
