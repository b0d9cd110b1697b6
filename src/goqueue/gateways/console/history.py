"""The last ten minutes, second by second: what the tallies and gauges were, so that charts are full at once."""

from collections import deque
from typing import NamedTuple

from goqueue.engine.broker import Broker
from goqueue.engine.tally import TopicTally

__all__ = ["EVERY_MS", "KEPT", "MOST_TOPICS", "History", "Moment", "TopicMoment"]

EVERY_MS = 1000
KEPT = 600
MOST_TOPICS = 200
"""Of so many topics the last minutes are kept one by one; those beyond are in the sums only."""
NS_PER_S = 1_000_000_000


class TopicMoment(NamedTuple):
    """One second of one topic; all are per second."""

    at: float
    published: float
    delivered: float
    """Leased from the queue, or read by offset."""
    acked: float
    failed: float
    dead_lettered: float
    bytes_in: float


class Moment(NamedTuple):
    """One second of the broker: rates, and what there was at its end."""

    at: float
    published: float
    delivered: float
    acked: float
    failed: float
    dead_lettered: float
    bytes_in: float
    in_flight: float
    delayed: float


class _Counts(NamedTuple):
    published: int
    delivered: int
    acked: int
    failed: int
    dead_lettered: int
    bytes_in: int


NOTHING = _Counts(0, 0, 0, 0, 0, 0)


class History:
    """Sampled once a second by `run`."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._at_ns = broker.clock.now_ns()
        self._before: dict[str, tuple[TopicTally, _Counts]] = {
            name: (tally, _counts(tally)) for name, tally in broker.tally
        }
        self.moments: deque[Moment] = deque(maxlen=KEPT)
        self._topics: dict[str, deque[TopicMoment]] = {}

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self._broker.clock.sleep_ms(EVERY_MS)
            self.sample()

    def of(self, topic: str) -> deque[TopicMoment]:
        return self._topics.get(topic, deque())

    def sample(self) -> None:
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
        for name, tally in self._broker.tally:
            counts = _counts(tally)
            old_tally, old = self._before.get(name, (tally, NOTHING))
            if old_tally is not tally:
                old = NOTHING
            rates = [max(0, new - before) / passed for new, before in zip(counts, old, strict=True)]
            sums = [total + rate for total, rate in zip(sums, rates, strict=True)]
            seen[name] = (tally, counts)
            self._note(name, TopicMoment(at, *rates))
        for gone in self._topics.keys() - seen.keys():
            del self._topics[gone]
        self._before = seen
        self.moments.append(Moment._make((at, *sums, self._broker.queues.leases.leased, self._delayed())))

    def _note(self, name: str, moment: TopicMoment) -> None:
        kept = self._topics.get(name)
        if kept is None:
            if len(self._topics) >= MOST_TOPICS:
                return
            kept = self._topics[name] = deque(maxlen=KEPT)
        kept.append(moment)

    def _delayed(self) -> int:
        broker = self._broker
        return sum(len(one.delays) for topic in broker.catalog for one in broker.partitions(topic.name))


def _counts(tally: TopicTally) -> _Counts:
    return _Counts(
        tally.published_records,
        tally.delivered + tally.fetched_records,
        tally.acked,
        tally.nacked + tally.timed_out + tally.rejected,
        tally.dead_lettered,
        tally.published_bytes,
    )
