"""Whether anything of a topic was lost, duplicated or reordered: proven, violated, or not to be known, with reasons."""

from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from pyspark.sql import functions as F

from goqueue.client.admin import Admin
from goqueue.errors import InvalidRequest
from goqueue.model.topic import Topic
from goqueue.spark.broker import ask
from goqueue.spark.pipelines import audit_checks, audit_copy, audit_group
from goqueue.spark.pipelines.audit_copy import Mapping
from goqueue.spark.pipelines.audit_words import (
    Finding,
    copy_finding,
    copy_order_finding,
    group_finding,
    ids_finding,
    log_finding,
    order_finding,
    verdict_of,
)
from goqueue.spark.pipelines.dedup import BY_ID
from goqueue.spark.pipelines.ledger import ledger
from goqueue.spark.pipelines.stretches import Bound, Stretch, matching, stretch_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["Audit", "Wish", "run"]


class Wish(msgspec.Struct, frozen=True):
    """What is to be checked, besides that every offset of the log is accounted for."""

    id_by: str = BY_ID
    sequence_by: str | None = None
    """What numbers the records of each key."""
    dense: bool = False
    """Whether these numbers rise by one."""
    copy: str | None = None
    """A topic; with a slash, a folder of Parquet."""
    mapping: Mapping = Mapping.ID
    where: str | None = None
    """Which records of the source have to be in the copy."""
    group: str | None = None


class Audit(msgspec.Struct, frozen=True):
    topic: str
    verdict: str
    """`violated` if anything is; `open` if something could not be known; else `proven`."""
    findings: tuple[Finding, ...]
    starts: dict[int, int]
    ends: dict[int, int]
    page: str = ""
    violations: str = ""
    """A folder of Parquet, which is empty if there are none."""


def run(
    spark: "SparkSession",
    bootstrap: str,
    topic: str,
    folder: Path,
    wish: Wish | None = None,
    *,
    start: Bound = "earliest",
    end: Bound = "latest",
) -> Audit:
    """Check a stretch of a topic, and write `audit.html` and its data into the folder."""
    from goqueue.spark.pipelines.audit_report import write_report

    wanted = wish or Wish()
    if wanted.dense and wanted.sequence_by is None:
        raise InvalidRequest("numbers that rise by one, but no numbers", hint="say what numbers the records")
    stretch = stretch_of(bootstrap, topic, start, end)
    checking = _Checking(spark, stretch, _topic(bootstrap, topic), wanted)
    try:
        checking.check()
        findings = checking.findings()
        audit = Audit(topic, verdict_of(findings), findings, stretch.starts, stretch.ends)
        return write_report(audit, checking.violations, checking.states, checking.progress, folder)
    finally:
        checking.close()


def _topic(bootstrap: str, name: str) -> Topic:
    async def look() -> Topic:
        async with Admin(bootstrap) as admin:
            return await admin.topic(name)

    return ask(look)


class _Checking:
    """What is found is worked out once, and kept by Spark until it is closed."""

    def __init__(self, spark: "SparkSession", stretch: Stretch, topic: Topic, wish: Wish) -> None:
        self._spark = spark
        self._stretch = stretch
        self._topic = topic
        self._wish = wish
        self._source = stretch.read(spark)
        self._facts = self._facts_of(self._source).persist()
        self._ledger = ledger(spark, stretch).persist()
        self._kept = [self._facts, self._ledger]
        self._letters: DataFrame | None = None
        self._copy: tuple[DataFrame, DataFrame] | None = None
        self.progress: list[audit_group.GroupProgress] = []

    def _facts_of(self, records: "DataFrame") -> "DataFrame":
        wish = self._wish
        link = None if wish.copy is None else audit_copy.source_link(wish.mapping, wish.id_by)
        return audit_checks.facts_of(records, wish.id_by, wish.sequence_by, link)

    def check(self) -> None:
        wish, found = self._wish, []
        if not self._topic.config.cleanup.startswith("compact"):
            found.append(audit_checks.missing(self._ledger))
        found.append(audit_checks.duplicates(self._facts))
        if wish.sequence_by is not None:
            found.append(audit_checks.out_of_order(self._facts, dense=wish.dense))
        if wish.copy is not None:
            source, copy = self._links(wish.copy)
            self._copy = (source, copy)
            found.append(audit_copy.differences(source, copy, wish.mapping))
            if self._has_order:
                found.append(audit_copy.reordered(source, copy))
        if wish.group is not None:
            self.progress = audit_group.progress_of_group(self._stretch.bootstrap, wish.group, self._stretch)
            found.append(audit_group.unreachable(self._spark, self.progress))
            self._letters = audit_group.dead_letters_of(self._spark, self._stretch, wish.group)
            if self._letters is not None:
                found.append(audit_group.dead_twice(self._letters))
        empty = self._spark.createDataFrame([], audit_checks.VIOLATION)
        self.violations = reduce(lambda one, other: one.unionByName(other), found, empty).persist()
        self._kept.append(self.violations)
        self.states = {
            (row.partition, row.state): int(row.offsets)
            for row in self._ledger.groupBy("partition", "state").agg(F.sum("count").alias("offsets")).collect()
        }

    @property
    def _has_order(self) -> bool:
        return self._wish.copy is not None and "/" not in self._wish.copy

    def _links(self, copy: str) -> "tuple[DataFrame, DataFrame]":
        wish, stretch = self._wish, self._stretch
        if self._has_order:
            other = stretch_of(stretch.bootstrap, copy).read(self._spark)
        else:
            other = self._spark.read.parquet(copy)
        # What was read for the other checks serves here as well, unless only some records are wanted.
        wanted = self._facts if wish.where is None else self._facts_of(matching(self._source, wish.where)).persist()
        links = (wanted, audit_copy.copy_links(other, wish.mapping, wish.id_by, stretch).persist())
        self._kept += links
        return links

    def findings(self) -> tuple[Finding, ...]:
        """A few numbers for each check, in words."""
        wish = self._wish
        counted = self.violations.groupBy("check", "kind").agg(F.sum("records").alias("records")).collect()
        kinds: dict[str, dict[str, int]] = {}
        for row in counted:
            kinds.setdefault(row.check, {})[row.kind] = row.records
        totals = self._facts.agg(
            F.count("*").alias("records"),
            F.count("id").alias("ids"),
            F.count("key").alias("keys"),
            F.count(F.when(F.expr("key is not null and redriven is null"), F.col("sequence"))).alias("numbered"),
            F.count("redriven").alias("redriven"),
            F.count(F.when(F.col("id").isNotNull(), F.col("redriven"))).alias("redriven_ids"),
        ).first()
        assert totals is not None
        found = [
            log_finding(self._topic.config, self.states, self._stretch),
            ids_finding(wish.id_by, kinds.get("ids", {}), totals.records, totals.ids, totals.redriven_ids),
        ]
        if wish.sequence_by is not None:
            split = audit_checks.split_keys(self._facts).count()
            numbers = (totals.records, totals.numbered, split, totals.redriven)
            found.append(order_finding(kinds.get("order", {}), *numbers, wish.dense))
        if wish.copy is not None and self._copy is not None:
            (ours, unlinked), (_, others) = map(_linked, self._copy)
            found.append(copy_finding(wish.copy, wish.mapping, kinds.get("copy", {}), ours, (unlinked, others)))
            found.append(copy_order_finding(self._has_order, kinds.get("copy order", {})))
        if wish.group is not None:
            left = audit_group.undone(self._facts, self.progress).count()
            dead = {} if self._letters is None else self._dead(self._letters)
            found.append(group_finding(wish.group, self.progress, kinds.get("group", {}), left, dead))
        return tuple(found)

    def _dead(self, letters: "DataFrame") -> dict[str, int]:
        return {row.cause: row["count"] for row in letters.groupBy("cause").count().collect()}

    def close(self) -> None:
        for frame in self._kept:
            frame.unpersist()


def _linked(side: "DataFrame") -> tuple[int, int]:
    """How many records there are, and how many without a link."""
    row = side.agg(F.count("*").alias("records"), F.count("link").alias("linked")).first()
    assert row is not None
    return row.records, row.records - row.linked
