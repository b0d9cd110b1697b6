"""Metric families of the Prometheus library, imported at the first request for metrics: see `metrics.py`."""

from collections.abc import Iterable, Sequence

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from goqueue.adapters.telemetry.family import Family, Row
from goqueue.engine.histogram import Histogram

__all__ = ["OTHER", "counter", "gauge", "histogram", "single"]

OTHER = "other"
"""Label of all topics, and of all groups, beyond those shown by name."""


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
    """Gauge without labels."""
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
