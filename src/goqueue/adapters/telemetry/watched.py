"""What metrics are made of."""

import msgspec

from goqueue.adapters.telemetry.counts import Counts
from goqueue.engine.broker import Broker
from goqueue.engine.histogram import Histogram

__all__ = ["Watched"]


class Watched(msgspec.Struct, frozen=True):
    """A broker that runs, and what is known of it besides."""

    broker: Broker
    counts: Counts
    loop_lag: Histogram
    start_ns: int
    """How long it took to start."""
