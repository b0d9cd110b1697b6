"""What happened to the records of each topic since the broker started, counted for whoever wants to watch it.

Plain numbers that only grow: those who publish and deliver add to them once for each batch, and nothing else is done
there. The counts of a topic go with it, so one made later under its name begins at nothing.
"""

from collections.abc import Iterator

from goqueue.core.delivery.tally import Tally

__all__ = ["Tallies", "TopicTally"]


class TopicTally:
    """Of one topic."""

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
        """Appended to the log and confirmed: by producers, by schedules, as dead letters, sent back from them."""
        self.published_bytes = 0
        self.refused: dict[str, int] = {}
        """Records that were not taken, by the code of the error."""
        self.fetched_records = 0
        """Read by offset, without a lease."""
        self.fetched_bytes = 0
        self.delivered = 0
        """Leased to consumers; one that comes again counts again."""
        self.delivered_bytes = 0
        self.expired = 0
        """Too old to be delivered, in each group that met them."""
        self.redriven = 0
        """Dead letters that were sent back to this topic."""
        self.fired = 0
        """Delayed records that fell due."""
        self.queue = Tally()
        """The sum over all groups, also of those that were deleted."""

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
    """Those of all topics that there are."""

    def __init__(self) -> None:
        self._topics: dict[str, TopicTally] = {}
        self._nobodys = TopicTally()

    def __iter__(self) -> Iterator[tuple[str, TopicTally]]:
        return iter(list(self._topics.items()))

    def of(self, topic: str) -> TopicTally:
        """Of a topic that does not exist, one that nobody looks at: such names are anybody's to make up."""
        return self._topics.get(topic, self._nobodys)

    def open(self, topic: str) -> TopicTally:
        """From here on it is counted."""
        return self._topics.setdefault(topic, TopicTally())

    def close(self, topic: str) -> None:
        self._topics.pop(topic, None)
