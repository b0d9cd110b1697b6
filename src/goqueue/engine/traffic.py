"""What clients ask of each listener: how many are connected, what they asked, how it ended and how long it took."""

from collections import defaultdict

from goqueue.engine.histogram import SECONDS, Histogram
from goqueue.engine.ports import Clock

__all__ = ["FAILED", "OK", "REFUSED", "ListenerTraffic", "Traffic"]

OK = "ok"
REFUSED = "refused"
"""The request was not right, or not right now."""
FAILED = "failed"
"""The broker could not do what it should be able to: storage, disk, a bug."""
NS_PER_S = 1_000_000_000


class ListenerTraffic:
    """Kinds of requests are those that the listener knows, so there are only so many."""

    def __init__(self, clock: Clock) -> None:
        self.now_ns = clock.now_ns
        self.connections = 0
        self.requests: defaultdict[tuple[str, str], int] = defaultdict(int)
        """By kind and outcome."""
        self.seconds: defaultdict[str, Histogram] = defaultdict(lambda: Histogram(SECONDS))
        """By kind, of those that do not wait for something to happen."""

    def count(self, kind: str, outcome: str) -> None:
        self.requests[kind, outcome] += 1

    def took(self, kind: str, duration_ns: int) -> None:
        # The clock of a machine may be set back.
        self.seconds[kind].add(max(0, duration_ns) / NS_PER_S)

    def answered(self, kind: str, outcome: str, began_ns: int) -> None:
        """Both, of a request that began then."""
        self.requests[kind, outcome] += 1
        self.seconds[kind].add(max(0, self.now_ns() - began_ns) / NS_PER_S)


class Traffic:
    """One for each kind of listener."""

    def __init__(self, clock: Clock) -> None:
        self.http = ListenerTraffic(clock)
        self.native = ListenerTraffic(clock)
        self.schemas = ListenerTraffic(clock)
        self.grpc = ListenerTraffic(clock)

    def listeners(self) -> tuple[tuple[str, ListenerTraffic], ...]:
        return ("http", self.http), ("native", self.native), ("schemas", self.schemas), ("grpc", self.grpc)

    def requests(self) -> int:
        """How many have been answered so far, whatever the answer was."""
        return sum(sum(listener.requests.values()) for _, listener in self.listeners())
