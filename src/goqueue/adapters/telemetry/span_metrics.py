"""How many spans went out of the broker, and how many did not."""

from prometheus_client import CollectorRegistry, Counter

__all__ = ["SpanCounters"]


class SpanCounters:
    """By where they go: `files`, or the name of an exporter. May be used by any thread."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._sent = Counter("goqueue_broker_spans_sent", "Spans written or exported", ["to"], registry=registry)
        self._dropped = Counter(
            "goqueue_broker_spans_dropped",
            "Spans for which there was no room on their way out",
            ["to"],
            registry=registry,
        )
        self._failed = Counter(
            "goqueue_broker_spans_failed", "Spans that could not be written or exported", ["to"], registry=registry
        )

    def begin(self, to: str) -> None:
        """So that there is a 0 before anything happens."""
        for counter in (self._sent, self._dropped, self._failed):
            counter.labels(to)

    def dropped(self, to: str, spans: int) -> None:
        self._dropped.labels(to).inc(spans)

    def went(self, to: str, sent: int, failed: int) -> None:
        self._sent.labels(to).inc(sent)
        self._failed.labels(to).inc(failed)
