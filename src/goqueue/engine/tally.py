"""Topic counters: what happened to the records of each topic since the broker started.

Plain counters that only grow; publishing and delivery add to them once per batch and do nothing else here. The counters
of a topic are deleted with it, so a later topic of this name starts at zero.
"""

from collections.abc import Iterator

from goqueue.core.delivery.tally import Tally

__all__ = ["Tallies", "TopicTally"]


class TopicTally:
    """The counters of one topic."""

    __slots__ = (
        "delivered",
        "delivered_bytes",
        "expired",
        "fetched_bytes",
        "fetched_records",
        "fired",
        "published_bytes",
        "published_records",
        "queue",
        "redriven",
        "refused",
    )

    def __init__(self) -> None:
        self.published_records = 0
        """Appended to the log and confirmed: by producers, by schedules, as dead letters and by redrives."""
        self.published_bytes = 0
        self.refused: dict[str, int] = {}
        """Refused records, by error code."""
        self.fetched_records = 0
        """Read by offset, without a lease."""
        self.fetched_bytes = 0
        self.delivered = 0
        """Leased to consumers; each redelivery counts."""
        self.delivered_bytes = 0
        self.expired = 0
        """Expired before delivery, counted in each group that met them."""
        self.redriven = 0
        """Dead letters that were redriven to this topic."""
        self.fired = 0
        """Delayed records that became due."""
        self.queue = Tally()
        """The sum over all groups, including deleted ones."""

    def refuse(self, code: str, records: int) -> None:
        self.refused[code] = self.refused.get(code, 0) + records

    @property
    def refused_records(self) -> int:
        return sum(self.refused.values())

    @property
    def acked(self) -> int:
        return self.queue.acked

    @property
    def nacked(self) -> int:
        return self.queue.nacked

    @property
    def rejected(self) -> int:
        return self.queue.rejected

    @property
    def timed_out(self) -> int:
        return self.queue.expired

    @property
    def dead_lettered(self) -> int:
        return self.queue.dead_lettered


class Tallies:
    """The counters of all topics."""

    def __init__(self) -> None:
        self._topics: dict[str, TopicTally] = {}
        self._nobodys = TopicTally()

    def __iter__(self) -> Iterator[tuple[str, TopicTally]]:
        return iter(list(self._topics.items()))

    def of(self, topic: str) -> TopicTally:
        """The counters of the topic. Unknown topics share one that is never read, as clients may send any name."""
        return self._topics.get(topic, self._nobodys)

    def open(self, topic: str) -> TopicTally:
        """Start counting the topic."""
        return self._topics.setdefault(topic, TopicTally())

    def close(self, topic: str) -> None:
        self._topics.pop(topic, None)
