"""An audit as a page for people, with its violations beside it as Parquet."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from pyspark.sql import functions as F

from goqueue.spark.pipelines.ledger import STATES
from goqueue.spark.pipelines.letters import readable
from goqueue.spark.plots import bars
from goqueue.spark.report import Report

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from goqueue.spark.pipelines.audit import Audit
    from goqueue.spark.pipelines.audit_group import GroupProgress

__all__ = ["write_report"]

SHOWN = 100
VIOLATIONS = "audit-violations"


def write_report(
    audit: "Audit",
    violations: "DataFrame",
    states: Mapping[tuple[int, str], int],
    progress: Sequence["GroupProgress"],
    folder: Path,
) -> "Audit":
    """`audit.html`, `audit.json`, and all violations in the folder `audit-violations`."""
    report = Report(f"Audit of {audit.topic}: {audit.verdict}")
    report.note("proven: shown by what is stored. violated: shown to be wrong. open: not to be known from here.")
    report.table(
        "Findings",
        ("check", "verdict", "what is found", "what this does not say", "violations"),
        [(one.check, one.verdict, one.says, "; ".join(one.limits), one.violations) for one in audit.findings],
    )
    partitions = sorted(audit.starts)
    rows = [
        (number, audit.starts[number], audit.ends[number], *(states.get((number, state), 0) for state in STATES))
        for number in partitions
    ]
    report.table("What the log holds", ("partition", "from", "up to", *STATES), rows)
    if rows:
        sums = [sum(row[3 + at] for row in rows) for at in range(len(STATES))]
        report.plot("Offsets of the stretch, by what they hold", bars(STATES, sums, label="offsets"))
    if progress:
        columns = ("partition", "log begins at", "committed", "stretch ends at")
        report.table("How far the group has come", columns, [msgspec.structs.astuple(one) for one in progress])
    found = [one for one in audit.findings if one.violations]
    if found:
        shown = violations.orderBy("check", "kind", "partition", "offset").withColumn("key", readable(F.col("key")))
        rows_shown = shown.limit(SHOWN).collect()
        report.table("Violations", shown.columns, [tuple(row) for row in rows_shown])
        report.note(f"up to {SHOWN} are shown; all of them are in the folder {VIOLATIONS}")
    folder.mkdir(parents=True, exist_ok=True)
    place = str(folder / VIOLATIONS)
    violations.write.mode("overwrite").parquet(place)
    page = report.write(folder, "audit")
    return msgspec.structs.replace(audit, page=str(page), violations=place)
