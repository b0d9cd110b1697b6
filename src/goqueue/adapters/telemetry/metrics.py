"""Metrics for Prometheus. Names are part of the public contract; label sets are small and bounded.

Rare events are counted as they occur, in `counts.py`. All other values are read from the broker at each request: the
necessary minimum on the event loop, which owns the state, then the rest in a thread, which produces the text. The
library is not loaded before the first HTTP connection.
"""

import asyncio
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, disable_created_metrics, generate_latest
from prometheus_client.core import Metric
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from goqueue.adapters.telemetry import broker_metrics, counts, group_metrics, topic_metrics
from goqueue.adapters.telemetry.bounded import MetricsSettings
from goqueue.adapters.telemetry.broker_metrics import BrokerMetrics
from goqueue.adapters.telemetry.families import counter, gauge
from goqueue.adapters.telemetry.group_metrics import GroupMetrics
from goqueue.adapters.telemetry.topic_metrics import TopicMetrics
from goqueue.adapters.telemetry.watched import Watched

__all__ = ["FAMILIES", "Metrics"]

FAMILIES = (*broker_metrics.FAMILIES, *topic_metrics.FAMILIES, *group_metrics.FAMILIES, *counts.FAMILIES)


class _Scrape(Collector):
    """Collector of all metrics of a running broker."""

    def __init__(self, watched: Watched, settings: MetricsSettings) -> None:
        broker = watched.broker
        self._counts = watched.counts
        self._topics = TopicMetrics(broker, settings.topics)
        self._groups = GroupMetrics(broker, settings.groups)
        self._broker = BrokerMetrics(broker, self._topics, watched.loop_lag, watched.start_ns)

    async def look(self) -> None:
        """Read the broker, on the event loop; called before each `collect`."""
        await self._topics.look()
        self._broker.look()
        await self._groups.look()

    def collect(self) -> Iterator[Metric]:
        for count in self._counts.all():
            yield (counter if count.family.kind == "counter" else gauge)(count.family, count.rows())
        yield from self._broker.families()
        yield from self._topics.families()
        yield from self._groups.families()


class Metrics:
    """Metrics page as text."""

    def __init__(self, watched: Watched, settings: MetricsSettings) -> None:
        # The creation time of a counter would be one more series for each.
        disable_created_metrics()  # type: ignore[no-untyped-call]
        self._registry = CollectorRegistry()
        self._turn = asyncio.Lock()
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self._registry)
        self._scrape = _Scrape(watched, settings)
        self._registry.register(self._scrape)

    async def exposition(self) -> bytes:
        """Text of all metrics; one at a time, so that the values do not change before they are text."""
        async with self._turn:
            await self._scrape.look()
            return await asyncio.get_running_loop().run_in_executor(None, generate_latest, self._registry)
