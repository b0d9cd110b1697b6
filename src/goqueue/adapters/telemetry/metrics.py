"""Metrics for Prometheus. Names are part of the public contract; label sets are small and bounded.

What happens seldom is counted here as it happens. All the rest is read from the broker when somebody asks: first on the
event loop, which owns it, and only as much as has to be; then in a thread, where it becomes text.
"""

import asyncio
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, disable_created_metrics, generate_latest
from prometheus_client.core import Metric
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from goqueue.adapters.telemetry import broker_metrics, group_metrics, topic_metrics
from goqueue.adapters.telemetry.bounded import MetricsSettings
from goqueue.adapters.telemetry.broker_metrics import BrokerMetrics
from goqueue.adapters.telemetry.families import Family
from goqueue.adapters.telemetry.group_metrics import GroupMetrics
from goqueue.adapters.telemetry.topic_metrics import TopicMetrics
from goqueue.engine.broker import Broker
from goqueue.engine.histogram import Histogram

__all__ = ["FAMILIES", "Metrics", "Scrape"]

DAMAGED_RANGES = Family("goqueue_storage_damaged_ranges", "counter", "Unreadable ranges met in log files")
DAMAGED_BYTES = Family("goqueue_storage_damaged_bytes", "counter", "Bytes in unreadable ranges of log files")
DAMAGED_ENTRIES = Family(
    "goqueue_storage_damaged_journal_entries", "counter", "Journal entries found unreadable after they were durable"
)
DROPPED_TAIL = Family(
    "goqueue_storage_dropped_tail_bytes", "counter", "Bytes cut at recovery that had never been confirmed"
)
FAILED_LOGS = Family("goqueue_storage_failed_logs", "counter", "Partition logs that went read-only")
STORAGE_FAILED = Family("goqueue_storage_failed", "gauge", "1 when the journal failed and all writes are refused")
DISK_FULL = Family("goqueue_storage_disk_full", "gauge", "1 while writes are refused because the disk is full")
DROPPED_SEGMENTS = Family("goqueue_storage_dropped_segments", "counter", "Segments removed by retention")
DROPPED_BYTES = Family("goqueue_storage_dropped_bytes", "counter", "Bytes removed by retention")
REBUILDS = Family("goqueue_storage_id_index_rebuilds", "counter", "Times the index of ids was built again")
TRIPPED = Family(
    "goqueue_consumer_tripped_breakers", "counter", "Groups paused because their dead letters came too fast"
)
FAILED_JOBS = Family("goqueue_storage_failed_jobs", "counter", "Maintenance jobs that failed, by name", ("task",))
SPANS_SENT = Family("goqueue_broker_spans_sent", "counter", "Spans written or exported", ("to",))
SPANS_DROPPED = Family(
    "goqueue_broker_spans_dropped", "counter", "Spans for which there was no room on their way out", ("to",)
)
SPANS_FAILED = Family("goqueue_broker_spans_failed", "counter", "Spans that could not be written or exported", ("to",))
AS_IT_HAPPENS = (
    *(DAMAGED_RANGES, DAMAGED_BYTES, DAMAGED_ENTRIES, DROPPED_TAIL, FAILED_LOGS, STORAGE_FAILED, DISK_FULL),
    *(DROPPED_SEGMENTS, DROPPED_BYTES, REBUILDS, TRIPPED, FAILED_JOBS, SPANS_SENT, SPANS_DROPPED, SPANS_FAILED),
)
FAMILIES = (*broker_metrics.FAMILIES, *topic_metrics.FAMILIES, *group_metrics.FAMILIES, *AS_IT_HAPPENS)


class Scrape(Collector):
    """All there is to see of a running broker."""

    def __init__(self, broker: Broker, settings: MetricsSettings, loop_lag: Histogram, start_ns: int) -> None:
        self._topics = TopicMetrics(broker, settings.topics)
        self._groups = GroupMetrics(broker, settings.groups)
        self._broker = BrokerMetrics(broker, self._topics, loop_lag, start_ns)

    async def look(self) -> None:
        """On the event loop, before each `collect`."""
        self._topics.look()
        self._broker.look()
        await self._groups.look()

    def collect(self) -> Iterator[Metric]:
        yield from self._broker.families()
        yield from self._topics.families()
        yield from self._groups.families()


class Metrics:
    """What the broker counts as it happens, and everything together as text."""

    def __init__(self) -> None:
        # When a counter was made would be a series of its own for each of them.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self.registry = CollectorRegistry()
        self._scrapes: list[Scrape] = []
        self._turn = asyncio.Lock()
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self.registry)
        self.damaged_ranges = self._counter(DAMAGED_RANGES)
        self.damaged_bytes = self._counter(DAMAGED_BYTES)
        self.lost_journal_entries = self._counter(DAMAGED_ENTRIES)
        self.dropped_tail_bytes = self._counter(DROPPED_TAIL)
        self.failed_logs = self._counter(FAILED_LOGS)
        self.storage_failed = self._gauge(STORAGE_FAILED)
        self.disk_full = self._gauge(DISK_FULL)
        self.dropped_segments = self._counter(DROPPED_SEGMENTS)
        self.dropped_bytes = self._counter(DROPPED_BYTES)
        self.id_index_rebuilds = self._counter(REBUILDS)
        self.tripped_breakers = self._counter(TRIPPED)
        self.failed_jobs = self._counter(FAILED_JOBS)

    def _counter(self, family: Family) -> Counter:
        return Counter(family.name, family.text, family.labels, registry=self.registry)

    def _gauge(self, family: Family) -> Gauge:
        return Gauge(family.name, family.text, family.labels, registry=self.registry)

    def show(self, scrape: Scrape) -> None:
        self._scrapes.append(scrape)
        self.registry.register(scrape)

    async def exposition(self) -> bytes:
        """One at a time: what was looked at is not to change before it is text."""
        async with self._turn:
            for scrape in self._scrapes:
                await scrape.look()
            return await asyncio.get_running_loop().run_in_executor(None, generate_latest, self.registry)
