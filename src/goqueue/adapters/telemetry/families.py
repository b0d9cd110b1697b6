"""What a metric is: its name, its type, what it says and by what it is told apart. The reference is made from these."""

from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from goqueue.engine.histogram import Histogram

__all__ = ["OTHER", "Family", "Row", "counter", "gauge", "histogram", "single"]

OTHER = "other"
"""The name of all topics, and of all groups, beyond those that are shown by name."""

Row = tuple[Sequence[str], float]
"""The values of the labels, and that of the metric."""


class Family(NamedTuple):
    """As it is exported, a counter has `_total` behind its name."""

    name: str
    kind: Literal["counter", "gauge", "histogram"]
    text: str
    labels: tuple[str, ...] = ()

    @property
    def exported(self) -> str:
        return f"{self.name}_total" if self.kind == "counter" else self.name


def counter(family: Family, rows: Iterable[Row]) -> Metric:
    metric = CounterMetricFamily(family.name, family.text, labels=family.labels)
    for labels, value in rows:
        metric.add_metric(labels, value)
    return metric


def gauge(family: Family, rows: Iterable[Row]) -> Metric:
    metric = GaugeMetricFamily(family.name, family.text, labels=family.labels)
    for labels, value in rows:
        metric.add_metric(labels, value)
    return metric


def single(family: Family, value: float) -> Metric:
    """One without labels."""
    return (counter if family.kind == "counter" else gauge)(family, [((), value)])


def histogram(family: Family, rows: Iterable[tuple[Sequence[str], Histogram]]) -> Metric:
    metric = HistogramMetricFamily(family.name, family.text, labels=family.labels)
    for labels, counted in rows:
        metric.add_metric(labels, *_cumulative(counted))
    return metric


def _cumulative(counted: Histogram) -> tuple[list[tuple[str, float]], float]:
    buckets: list[tuple[str, float]] = []
    below = 0
    counts = tuple(counted.counts)
    for bound, count in zip(counted.bounds, counts, strict=False):
        below += count
        buckets.append((str(float(bound)), below))
    return [*buckets, ("+Inf", below + counts[-1])], counted.total
