"""Counters and gauges for Prometheus. Names are part of the public contract; label sets are small and fixed."""

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, generate_latest

__all__ = ["Metrics"]


class Metrics:
    """What the broker counts."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.damaged_ranges = self._counter("goqueue_storage_damaged_ranges", "Unreadable ranges met in log files")
        self.damaged_bytes = self._counter("goqueue_storage_damaged_bytes", "Bytes in unreadable ranges of log files")
        self.lost_journal_entries = self._counter(
            "goqueue_storage_damaged_journal_entries", "Journal entries found unreadable after they were durable"
        )
        self.dropped_tail_bytes = self._counter(
            "goqueue_storage_dropped_tail_bytes", "Bytes cut at recovery that had never been confirmed"
        )
        self.failed_logs = self._counter("goqueue_storage_failed_logs", "Partition logs that went read-only")
        self.storage_failed = self._gauge(
            "goqueue_storage_failed", "1 when the journal failed and all writes are refused"
        )
        self.disk_full = self._gauge("goqueue_storage_disk_full", "1 while writes are refused because the disk is full")
        self.dropped_segments = self._counter("goqueue_storage_dropped_segments", "Segments removed by retention")
        self.dropped_bytes = self._counter("goqueue_storage_dropped_bytes", "Bytes removed by retention")
        self.id_index_rebuilds = self._counter(
            "goqueue_storage_id_index_rebuilds", "Times the index of ids was built again"
        )
        self.tripped_breakers = self._counter(
            "goqueue_consumer_tripped_breakers", "Groups paused because their dead letters came too fast"
        )
        self.failed_jobs = Counter(
            "goqueue_storage_failed_jobs", "Maintenance jobs that failed, by job", ["job"], registry=self.registry
        )

    def _counter(self, name: str, text: str) -> Counter:
        return Counter(name, text, registry=self.registry)

    def _gauge(self, name: str, text: str) -> Gauge:
        return Gauge(name, text, registry=self.registry)

    def watch(self, name: str, text: str, read: Callable[[], float]) -> None:
        """A gauge that is read when it is asked for."""
        self._gauge(name, text).set_function(read)

    def exposition(self) -> bytes:
        return generate_latest(self.registry)
