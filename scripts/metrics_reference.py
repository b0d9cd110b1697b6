"""Writes docs/reference/metrics.md from the metrics that the broker has."""

from goqueue.adapters.telemetry.family import Family
from goqueue.adapters.telemetry.metrics import FAMILIES
from scripts.references import DOCS, code, table

__all__ = ["PAGE", "page"]

PAGE = DOCS / "reference" / "metrics.md"
HEAD = """# Metrics

What `/metrics` answers, in the text format of Prometheus. This page is made from the code (`make references`).
How to scrape, what to look at and what to do about it stands under [monitoring](../operations/monitoring.md).

- Counters begin at 0 with the process. Exceptions: transactions that ended, which count since there is data, and
  rebalances, which count since the group was made.
- The counts of a topic go with it.
- At most `metrics.topics` topics (200) are shown by name, and at most `metrics.groups` (200) groups, and groups in
  topics. All others are added up under the name `other`. Whoever has a name keeps it until it is deleted; a restart
  deals them out anew.
- HTTP and the native protocol count alike, as it is the engine that counts.
- Labels beside those named here come from Prometheus: `instance` and `job`.
- Of a compacted topic, `goqueue_consumer_fetched_records_total` counts offsets, those that are gone included.
- The process adds `process_…` (processor, memory, files, start) and `python_…` (garbage collection, version).
"""
PARTS = (
    ("goqueue_broker_", "The broker", "Records coming in, clients, transactions, spans, the process."),
    ("goqueue_consumer_", "Consumers", "Records going out, and what became of them; groups and queues."),
    ("goqueue_storage_", "Storage", "Disk, journal, logs."),
)


def page() -> str:
    lines = [HEAD]
    for prefix, title, text in PARTS:
        rows = sorted(_row(family) for family in FAMILIES if family.name.startswith(prefix))
        lines += [f"## {title}", "", text, "", *table(("Metric", "Type", "Labels", "Meaning"), rows)]
    return "\n".join(lines)


def _row(family: Family) -> tuple[str, str, str, str]:
    return code(family.exported), family.kind, ", ".join(map(code, family.labels)), family.text
