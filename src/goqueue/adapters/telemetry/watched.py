"""Sources of the metrics."""

import msgspec

from goqueue.adapters.telemetry.counts import Counts
from goqueue.engine.broker import Broker
from goqueue.engine.histogram import Histogram

__all__ = ["Watched"]


class Watched(msgspec.Struct, frozen=True):
    """Running broker, with its counters and start time."""

    broker: Broker
    counts: Counts
    loop_lag: Histogram
    start_ns: int
    """Duration of the start."""
