"""What does Spark say to it? One session reads the same log as tables: triage, audits, quality, traces.

As a program of its own it starts Spark while the shop is at work, and then answers one question for each line it reads.
"""

import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from examples.shop.opening import SUBJECT
from examples.shop.orders import INVOICES, ORDERS, PAYMENTS
from examples.shop.paying import GROUP
from goqueue.client.schemas.sync import Registry
from goqueue.spark import open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Analysis"]

SETTINGS = {
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.memory": "1g",
    "spark.log.level": "ERROR",
    # A laptop that was asleep for a while is no executor that is lost.
    "spark.network.timeout": "2h",
    "spark.executor.heartbeatInterval": "1h",
}


class Analysis:
    """Each method is a question. Pages are written into the folder, and named relative to it."""

    def __init__(self, spark: "SparkSession", native: str, registry: str, spans: str, folder: Path) -> None:
        self._spark = spark
        self._native = native
        self._registry = registry
        self._spans = spans
        self._folder = folder

    def warm_up(self) -> dict[str, Any]:
        """What is started now need not be waited for later."""
        from goqueue.spark.pipelines.stretches import stretch_of

        return {"records": stretch_of(self._native, ORDERS).read(self._spark).groupBy("partition").count().count()}

    def triage(self) -> dict[str, Any]:
        """Why did orders die? Reasons that are alike are one cluster."""
        from goqueue.spark.pipelines import dlq

        found = dlq.run(self._spark, dlq.letters_of(self._native, ORDERS), ORDERS, self._folder)
        clusters = [(one.title, one.letters) for one in found.clusters]
        return {"letters": found.letters, "clusters": clusters, "page": self._relative(found.page)}

    def audit_payments(self) -> dict[str, Any]:
        """Was an order charged twice? Does each payment have its invoice?"""
        from goqueue.spark.pipelines.audit import Wish
        from goqueue.spark.pipelines.audit_copy import Mapping

        return self._audit(PAYMENTS, Wish(id_by="field:order", copy=INVOICES, mapping=Mapping.ID))

    def audit_orders(self) -> dict[str, Any]:
        """Is every offset of the log accounted for? Was a letter sent back twice? Is anything left to do?"""
        from goqueue.spark.pipelines.audit import Wish

        return self._audit(ORDERS, Wish(id_by="header:goqueue-redriven-from", group=GROUP))

    def _audit(self, topic: str, wish: Any) -> dict[str, Any]:
        from goqueue.spark.pipelines import audit

        done = audit.run(self._spark, self._native, topic, self._folder / topic, wish)
        findings = [(one.check, one.verdict, one.says) for one in done.findings]
        return {"verdict": done.verdict, "findings": findings, "page": self._relative(done.page)}

    def quality(self) -> dict[str, Any]:
        """Do all values fit the schema? Are some customers busier than others?"""
        from goqueue.spark.pipelines import quality
        from goqueue.spark.pipelines.stretches import stretch_of
        from goqueue.spark.pipelines.violations import rules_from_registry

        rules = rules_from_registry(Registry(self._registry), SUBJECT)
        found = quality.run(self._spark, stretch_of(self._native, ORDERS), self._folder, rules=rules)
        counts = {"records": found.records, "violating": found.violating, "customers": found.keys}
        return {**counts, "page": self._relative(found.page)}

    def traces(self) -> dict[str, Any]:
        """How long did records wait, and where? What happened how often?"""
        from goqueue.spark.pipelines import spans, traces

        found = traces.run(spans.read_lines(self._spark, self._spans), self._folder)
        operations: Counter[str] = Counter()
        for row in json.loads(Path(found.page).with_suffix(".json").read_text())["Operations"]:
            operations[row["operation"]] += row["spans"]
        return {
            "spans": found.spans,
            "operations": dict(sorted(operations.items())),
            "page": self._relative(found.page),
        }

    def _relative(self, page: str) -> str:
        return str(Path(page).relative_to(self._folder))


def main(native: str, registry: str, spans: str, folder: str) -> None:
    spark = open_session("the shop", master="local[2]", settings=SETTINGS)
    analysis = Analysis(spark, native, registry, spans, Path(folder))
    for line in sys.stdin:
        question: Callable[[], dict[str, Any]] = getattr(analysis, line.strip())
        print(json.dumps(question()), flush=True)
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
