"""Partitioner of single records: by key, or round-robin for records without one."""

from goqueue.model.partitioning import KeyRanges
from goqueue.model.topic import HashRange, Topic, TopicName

__all__ = ["Placement", "TopicPlacement"]

MOST_REMEMBERED = 10_000


class TopicPlacement:
    """Chooses partitions of one topic."""

    def __init__(self, ranges: tuple[HashRange, ...]) -> None:
        self.ranges = ranges
        self._by_key = KeyRanges(ranges)
        self._turn = -1

    def by_key(self, key: bytes) -> int:
        return self._by_key.partition_of(key)

    def by_turn(self) -> int:
        self._turn = (self._turn + 1) % len(self.ranges)
        return self._turn


class Placement:
    """Caches the partitioner of each topic until its ranges change."""

    def __init__(self) -> None:
        self._topics: dict[TopicName, TopicPlacement] = {}

    def of(self, topic: Topic) -> TopicPlacement:
        found = self._topics.get(topic.name)
        if found is None or found.ranges is not topic.ranges:
            if len(self._topics) >= MOST_REMEMBERED:
                # Deleted topics are among them; clearing costs no more than a restart of the round-robin.
                self._topics.clear()
            found = self._topics[topic.name] = TopicPlacement(topic.ranges)
        return found
