"""Which partition a record goes to: by its key, and without a key to one that is changed now and then."""

import random
from collections.abc import Callable
from typing import Literal

from goqueue.errors import UnknownPartition
from goqueue.model.partitioning import KeyRanges
from goqueue.model.topic import Topic

__all__ = ["PartitionerName", "TopicPartitioner", "kafka_murmur2"]

PartitionerName = Literal["murmur3", "murmur2", "round_robin"]

MURMUR2_SEED = 0x9747B28C


class TopicPartitioner:
    """Picks partitions of one topic."""

    def __init__(self, topic: Topic, name: PartitionerName) -> None:
        self.topic = topic
        self.name = topic.name
        self._ranges = KeyRanges(topic.ranges)
        self._count = len(topic.ranges)
        self._by_key = _BY_KEY[name]
        self._in_turns = name == "round_robin"
        # Many producers that send little each must not all send to the same one.
        self._current = random.randrange(self._count)

    def __len__(self) -> int:
        return self._count

    def check(self, partition: int | None) -> None:
        if partition is not None and not 0 <= partition < self._count:
            raise UnknownPartition(f"{self.topic.name} has partitions 0 to {self._count - 1}, not {partition}")

    def pick(self, key: bytes | None, partition: int | None) -> int:
        if partition is not None:
            self.check(partition)
            return partition
        if key is not None:
            return self._by_key(self, key)
        return self.move_on() if self._in_turns else self._current

    def chosen_among(self, key: bytes | None, partition: int | None) -> int | None:
        """How many partitions there were to choose from, if it was the key that chose."""
        return None if key is None or partition is not None or self._in_turns else self._count

    def move_on(self) -> int:
        """The next record without a key goes elsewhere."""
        self._current = (self._current + 1) % self._count
        return self._current

    def batch_left(self, partition: int) -> None:
        """A batch went off to this partition: records without a key stayed with it until now."""
        if partition == self._current and not self._in_turns:
            self.move_on()

    def by_range(self, key: bytes) -> int:
        return self._ranges.partition_of(key)

    def by_kafka(self, key: bytes) -> int:
        """As Kafka's clients do, so that a key lands in the partition it had there."""
        return (kafka_murmur2(key) & 0x7FFFFFFF) % self._count

    def by_turn(self, _: bytes) -> int:
        return self.move_on()


_BY_KEY: dict[PartitionerName, Callable[[TopicPartitioner, bytes], int]] = {
    "murmur3": TopicPartitioner.by_range,
    "murmur2": TopicPartitioner.by_kafka,
    "round_robin": TopicPartitioner.by_turn,
}


def kafka_murmur2(data: bytes) -> int:
    """The 32-bit hash that Kafka's clients use for keys."""
    mask, factor = 0xFFFFFFFF, 0x5BD1E995
    value = (MURMUR2_SEED ^ len(data)) & mask
    whole = len(data) - len(data) % 4
    for at in range(0, whole, 4):
        word = int.from_bytes(data[at : at + 4], "little") * factor & mask
        word = (word ^ word >> 24) * factor & mask
        value = (value * factor & mask) ^ word
    if rest := data[whole:]:
        value = (value ^ int.from_bytes(rest, "little")) * factor & mask
    value = (value ^ value >> 13) * factor & mask
    return value ^ value >> 15
