"""History of the broker for charts: its tallies and gauges, sampled once a second, so that charts are full at once."""

from typing import NamedTuple

from goqueue.engine.broker import Broker
from goqueue.engine.slices import in_slices
from goqueue.engine.tally import TopicTally
from goqueue.gateways.console.timeline import Timeline

__all__ = ["EVERY_MS", "MOST_TOPICS", "History"]

EVERY_MS = 1000
MOST_TOPICS = 200
"""Topics whose last hour is kept one by one; those beyond are in the sums only."""
NS_PER_S = 1_000_000_000


class _Counts(NamedTuple):
    """Of one topic, since the broker started. `delivered` are leased from the queue, or read by offset."""

    published: int
    delivered: int
    acked: int
    failed: int
    dead_lettered: int
    bytes_in: int


NOTHING = _Counts(0, 0, 0, 0, 0, 0)
GAUGES = ("in_flight", "delayed")


class History:
    """Sampled once a second by `run`. All columns but the gauges are rates per second."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._at_ns = broker.clock.now_ns()
        self._before: dict[str, tuple[TopicTally, _Counts]] = {
            name: (tally, _counts(tally)) for name, tally in broker.tally
        }
        self.whole = Timeline((*_Counts._fields, *GAUGES))
        self._topics: dict[str, Timeline] = {}

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self._broker.clock.sleep_ms(EVERY_MS)
            await self.sample()

    def of(self, topic: str) -> Timeline:
        """Empty for a topic whose history is not kept."""
        found = self._topics.get(topic)
        return Timeline(_Counts._fields) if found is None else found

    async def sample(self) -> None:
        """In slices, as there may be ten thousand topics."""
        now = self._broker.clock.now_ns()
        passed = (now - self._at_ns) / NS_PER_S
        if passed <= 0:
            # The clock was set back: this second has no rates.
            self._at_ns = now
            return
        self._at_ns = now
        at = now / NS_PER_S
        sums = [0.0] * len(NOTHING)
        seen: dict[str, tuple[TopicTally, _Counts]] = {}
        async for name, tally in in_slices(self._broker.tally):
            counts = _counts(tally)
            old_tally, old = self._before.get(name, (tally, NOTHING))
            if old_tally is not tally:
                old = NOTHING
            rates = [max(0, new - before) / passed for new, before in zip(counts, old, strict=True)]
            sums = [total + rate for total, rate in zip(sums, rates, strict=True)]
            seen[name] = (tally, counts)
            self._note(name, at, rates)
        for gone in self._topics.keys() - seen.keys():
            del self._topics[gone]
        self._before = seen
        self.whole.add(at, (*sums, self._broker.queues.leases.leased, await self._delayed()))

    def _note(self, name: str, at: float, rates: list[float]) -> None:
        kept = self._topics.get(name)
        if kept is None:
            if len(self._topics) >= MOST_TOPICS:
                return
            kept = self._topics[name] = Timeline(_Counts._fields)
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
