"""Tracing: keeps the newest spans in memory, and passes all of them to sinks."""

from collections.abc import Sequence
from typing import Protocol

from goqueue.core.tracing.carried import Carried
from goqueue.core.tracing.ring import Ring
from goqueue.core.tracing.sampling import Sampler, sampler
from goqueue.engine.ports import Clock
from goqueue.engine.tracing.policy import TracingSettings
from goqueue.model.span import SpanRun
from goqueue.model.topic import Topic

__all__ = ["EVERYTHING", "Sink", "Tracing"]

EVERYTHING = sampler(1.0)
"""For failures, which are traced at any rate."""
MOST_CARRIED = 50_000


class Sink(Protocol):
    """A destination of spans besides memory. It is called on the event loop: it must neither wait nor fail."""

    def take(self, runs: Sequence[SpanRun]) -> int | None:
        """The number of spans dropped for lack of room; None for none."""


class Tracing:
    """One for a broker. Callers check `is_on` first, so that disabled tracing costs nothing more."""

    def __init__(self, clock: Clock, settings: TracingSettings | None = None) -> None:
        self.settings = settings or TracingSettings()
        self.is_on = self.settings.enabled
        self._rate = self.settings.rate
        self.clock = clock
        self.started_ns = clock.now_ns()
        self.ring = Ring(self.settings.ring)
        self.carried = Carried(MOST_CARRIED)
        self.recorded = 0
        """Spans noted since the start."""
        self.sampled_out = 0
        """Spans not noted because their records are not sampled."""
        self.dropped = 0
        """Spans that sinks had no room for."""
        self.under_way = 0
        """Reads in progress of records whose spans are still to be made."""
        self._sinks: tuple[Sink, ...] = ()

    def add_sink(self, sink: Sink) -> None:
        self._sinks = (*self._sinks, sink)

    def sampler(self, topic: Topic) -> Sampler:
        rate = topic.config.trace_rate
        return sampler(self._rate if rate is None else rate)

    def leaves_out(self, topic: Topic, records: int) -> bool:
        """Whether no record of the topic is traced unless it fails; if so, these are counted."""
        config = topic.config
        rate = config.trace_rate
        if (self._rate if rate is None else rate) > 0:
            return False
        self.sampled_out += records
        return True

    def note(self, run: SpanRun) -> None:
        self.note_all((run,))

    def note_all(self, runs: Sequence[SpanRun]) -> None:
        """Note spans that happened together."""
        if not self.is_on or not runs:
            return
        for run in runs:
            self.ring.add(run)
            self.recorded += run.count
        for sink in self._sinks:
            self.dropped += sink.take(runs) or 0
