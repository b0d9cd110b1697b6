"""Request metrics of each listener: connections, requests, outcomes and durations."""

import asyncio
from collections.abc import Callable
from typing import Protocol

from goqueue.engine.histogram import SECONDS, Histogram
from goqueue.engine.ports import Clock

__all__ = ["FAILED", "OK", "REFUSED", "Acceptor", "ListenerTraffic", "Meter", "Traffic"]

OK = "ok"
REFUSED = "refused"
"""The request was invalid, or not possible in the current state."""
FAILED = "failed"
"""The broker failed: storage, disk or a bug."""
NS_PER_S = 1_000_000_000


class Meter:
    """Requests of one kind: their outcomes and, unless they wait for an event, their durations."""

    __slots__ = ("failed", "ok", "refused", "seconds")

    def __init__(self) -> None:
        self.ok = 0
        self.refused = 0
        self.failed = 0
        self.seconds = Histogram(SECONDS)

    def count(self, outcome: str) -> None:
        if outcome == OK:
            self.ok += 1
        elif outcome == REFUSED:
            self.refused += 1
        else:
            self.failed += 1

    def took(self, duration_ns: int) -> None:
        # The system clock may be set back.
        self.seconds.add(max(0, duration_ns) / NS_PER_S)


class ListenerTraffic:
    """The kinds of requests are those that the listener knows, so their number is bounded."""

    def __init__(self, clock: Clock) -> None:
        self.now_ns = clock.now_ns
        self.connections = 0
        self.most_connections = 0
        """0 while the listener is not running."""
        self.refused_connections = 0
        self._meters: dict[str, Meter] = {}

    def meter(self, kind: str) -> Meter:
        found = self._meters.get(kind)
        if found is None:
            found = self._meters[kind] = Meter()
        return found

    def count(self, kind: str, outcome: str) -> None:
        self.meter(kind).count(outcome)

    def took(self, kind: str, duration_ns: int) -> None:
        self.meter(kind).took(duration_ns)

    @property
    def requests(self) -> dict[tuple[str, str], int]:
        """Number of requests, by kind and outcome."""
        counted = (
            (kind, outcome, number)
            for kind, meter in tuple(self._meters.items())
            for outcome, number in ((OK, meter.ok), (REFUSED, meter.refused), (FAILED, meter.failed))
        )
        return {(kind, outcome): number for kind, outcome, number in counted if number}

    @property
    def seconds(self) -> dict[str, Histogram]:
        """Durations by kind, of requests that do not wait for an event."""
        return {kind: meter.seconds for kind, meter in tuple(self._meters.items()) if any(meter.seconds.counts)}


class Acceptor(Protocol):
    """Accepts the connections of a listener, within the limit of its traffic."""

    def serve(self, make: Callable[[], asyncio.BaseProtocol], refusal: bytes) -> None:
        """Start: `make` makes a protocol for each connection, and connections beyond the limit are sent `refusal`."""

    def close(self) -> None:
        """Stop accepting connections."""

    async def wait_closed(self) -> None:
        """Wait until all accepted connections have their protocol."""


class Traffic:
    """The traffic of all listeners."""

    def __init__(self, clock: Clock) -> None:
        self.http = ListenerTraffic(clock)
        self.native = ListenerTraffic(clock)
        self.schemas = ListenerTraffic(clock)
        self.grpc = ListenerTraffic(clock)

    def listeners(self) -> tuple[tuple[str, ListenerTraffic], ...]:
        return ("http", self.http), ("native", self.native), ("schemas", self.schemas), ("grpc", self.grpc)

    def requests(self) -> int:
        """Number of requests answered so far, with any outcome."""
        return sum(sum(listener.requests.values()) for _, listener in self.listeners())
