"""Span outlets: the destinations of a broker's spans besides memory, from its settings."""

from goqueue.adapters.telemetry.counts import Counts
from goqueue.adapters.telemetry.logs import Logger
from goqueue.adapters.telemetry.span_export import destination_of
from goqueue.adapters.telemetry.span_files import SpanFiles
from goqueue.adapters.telemetry.span_metrics import SpanCounters
from goqueue.adapters.telemetry.span_outlet import Destination, SpanOutlet
from goqueue.app.settings import Settings

__all__ = ["span_outlets"]


def span_outlets(settings: Settings, logger: Logger, counts: Counts) -> tuple[SpanOutlet, ...]:
    """The outlets, not started. Refuses settings that cannot be used here."""
    tracing = settings.tracing
    if not tracing.enabled:
        return ()
    found: list[Destination] = []
    if tracing.files.enabled:
        found.append(SpanFiles(tracing.files.folder or f"{settings.data}/traces", tracing.files, logger))
    exported = destination_of(tracing.export, tracing.endpoint, tracing.headers, logger)
    if exported is not None:
        found.append(exported)
    counters = SpanCounters(counts)
    return tuple(SpanOutlet(destination, logger, counters) for destination in found)
