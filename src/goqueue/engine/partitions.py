"""Open partitions of all topics, by name and number."""

from collections.abc import Iterator

from goqueue.engine.partition import Partition
from goqueue.errors import UnknownPartition, UnknownTopic
from goqueue.model.topic import TopicName

__all__ = ["Partitions"]


class Partitions:
    """Every publish looks here first, so the lookup is one dictionary access."""

    def __init__(self) -> None:
        self._topics: dict[TopicName, tuple[Partition, ...]] = {}

    def __iter__(self) -> Iterator[Partition]:
        return (partition for partitions in self._topics.values() for partition in partitions)

    def __contains__(self, partition: Partition) -> bool:
        """False if the partition's topic was deleted, even if there is another topic of that name."""
        return partition in self._topics.get(TopicName(partition.id.topic), ())

    def add(self, name: TopicName, partitions: tuple[Partition, ...]) -> None:
        self._topics[name] = partitions

    def remove(self, name: TopicName) -> tuple[Partition, ...]:
        return self._topics.pop(name)

    def of(self, name: TopicName) -> tuple[Partition, ...]:
        found = self._topics.get(name)
        if found is None:
            raise UnknownTopic(f"there is no topic {name}")
        return found

    def find(self, name: TopicName, number: int) -> Partition:
        partitions = self.of(name)
        if not 0 <= number < len(partitions):
            raise UnknownPartition(f"{name} has partitions 0 to {len(partitions) - 1}, not {number}")
        return partitions[number]
