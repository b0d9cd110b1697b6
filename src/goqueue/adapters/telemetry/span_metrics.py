"""Span counters: spans that left the broker, and spans that were dropped or failed."""

from goqueue.adapters.telemetry.counts import Counts

__all__ = ["SpanCounters"]


class SpanCounters:
    """Counters by destination: `files`, or the name of an exporter. May be used by any thread."""

    def __init__(self, counts: Counts) -> None:
        self._sent, self._dropped, self._failed = counts.spans_sent, counts.spans_dropped, counts.spans_failed

    def begin(self, to: str) -> None:
        for count in (self._sent, self._dropped, self._failed):
            count.begin(to)

    def dropped(self, to: str, spans: int) -> None:
        self._dropped.add(spans, to)

    def went(self, to: str, sent: int, failed: int) -> None:
        self._sent.add(sent, to)
        self._failed.add(failed, to)
