"""History of the broker for charts: its tallies and gauges, sampled, so that charts are full at once."""

from collections.abc import Sequence
from typing import NamedTuple

from goqueue.engine.broker import Broker
from goqueue.engine.slices import in_slices
from goqueue.engine.tally import TopicTally
from goqueue.engine.timers import TimedJob, idle_until
from goqueue.gateways.console.timeline import Timeline

__all__ = ["EVERY_MS", "MOST_TOPICS", "History"]

EVERY_MS = 1000
MOST_FILLED = 5
"""Seconds without a sample, as an idle broker sleeps."""
MOST_TOPICS = 200
"""Topics whose last hour is kept one by one; those beyond are in the sums only."""
NS_PER_S = 1_000_000_000
NS_PER_MS = 1_000_000


class _Counts(NamedTuple):
    """Of one topic, since the broker started. `delivered` are leased from the queue, or read by offset."""

    published: int
    delivered: int
    acked: int
    failed: int
    dead_lettered: int
    bytes_in: int


class _Seen(NamedTuple):
    """A topic as it was at the last sample; its rates are in the order of its counts."""

    tally: TopicTally
    counts: _Counts
    rates: Sequence[float]


NOTHING = _Counts(0, 0, 0, 0, 0, 0)
GAUGES = ("in_flight", "delayed")


class History:
    """Sampled by its job. All columns but the gauges are rates per second."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._at_ns = broker.clock.now_ns()
        self._requests = 0
        self._is_idle = False
        self._before = {name: _Seen(tally, _counts(tally), NOTHING) for name, tally in broker.tally}
        self.whole = Timeline((*_Counts._fields, *GAUGES))
        self._topics: dict[str, Timeline] = {}

    def job(self) -> TimedJob:
        """Samples once a second, and less often while there are no requests."""
        return TimedJob("history", self.sample, deadline=self._next_sample, pause_ms=EVERY_MS)

    def _next_sample(self) -> int:
        return idle_until(self._at_ns) if self._is_idle else self._at_ns + EVERY_MS * NS_PER_MS

    def of(self, topic: str) -> Timeline:
        """Empty for a topic whose history is not kept."""
        found = self._topics.get(topic)
        return Timeline(_Counts._fields) if found is None else found

    def rate(self, topic: str, name: str) -> float:
        """The newest one of any topic, whether its history is kept or not."""
        seen = self._before.get(topic)
        return 0.0 if seen is None else seen.rates[_Counts._fields.index(name)]

    async def sample(self) -> None:
        """In slices, as there may be ten thousand topics."""
        now = self._broker.clock.now_ns()
        passed = (now - self._at_ns) / NS_PER_S
        if passed <= 0:
            # The clock was set back: this second has no rates.
            self._at_ns = now
            return
        self._at_ns = now
        requests = self._broker.traffic.requests()
        self._is_idle, self._requests = requests == self._requests, requests
        # Seconds that were slept through are shown like this one.
        instants = [now / NS_PER_S - step for step in reversed(range(min(round(passed), MOST_FILLED) or 1))]
        sums = [0.0] * len(NOTHING)
        seen: dict[str, _Seen] = {}
        async for name, tally in in_slices(self._broker.tally):
            counts = _counts(tally)
            before = self._before.get(name)
            old = before.counts if before is not None and before.tally is tally else NOTHING
            rates = [max(0, new - was) / passed for new, was in zip(counts, old, strict=True)]
            sums = [total + rate for total, rate in zip(sums, rates, strict=True)]
            seen[name] = _Seen(tally, counts, rates)
            self._note(name, instants, rates)
        for gone in self._topics.keys() - seen.keys():
            del self._topics[gone]
        self._before = seen
        gauges = (self._broker.queues.leases.leased, await self._delayed())
        for at in instants:
            self.whole.add(at, (*sums, *gauges))

    def _note(self, name: str, instants: list[float], rates: list[float]) -> None:
        kept = self._topics.get(name)
        if kept is None:
            if len(self._topics) >= MOST_TOPICS:
                return
            kept = self._topics[name] = Timeline(_Counts._fields)
        for at in instants:
            kept.add(at, rates)

    async def _delayed(self) -> int:
        broker, total = self._broker, 0
        async for topic in in_slices(list(broker.catalog)):
            if topic.name in broker.catalog:
                total += sum(len(one.delays) for one in broker.partitions(topic.name))
        return total


def _counts(tally: TopicTally) -> _Counts:
    return _Counts(
        tally.published_records,
        tally.delivered + tally.fetched_records,
        tally.acked,
        tally.nacked + tally.timed_out + tally.rejected,
        tally.dead_lettered,
        tally.published_bytes,
    )
