"""Placement: the member of each partition, indexed from either side."""

from collections.abc import Iterable, Iterator, Mapping, Set
from types import MappingProxyType

from goqueue.model.log import LogId

__all__ = ["ByTopic", "Placement", "by_topic", "each_partition"]

ByTopic = dict[str, tuple[int, ...]]
"""Partition numbers by topic: the persistent form of a set of partitions."""


def by_topic(partitions: Iterable[LogId]) -> ByTopic:
    grouped: dict[str, list[int]] = {}
    for topic, number in sorted(partitions):
        grouped.setdefault(topic, []).append(number)
    return {topic: tuple(numbers) for topic, numbers in grouped.items()}


def each_partition(grouped: Mapping[str, Iterable[int]]) -> Iterator[LogId]:
    return (LogId(topic, number) for topic, numbers in grouped.items() for number in numbers)


class Placement:
    """Each partition has at most one member: nothing else can be represented."""

    def __init__(self) -> None:
        self._member_of: dict[LogId, str] = {}
        self._partitions_of: dict[str, set[LogId]] = {}

    def __len__(self) -> int:
        return len(self._member_of)

    @property
    def members(self) -> Mapping[LogId, str]:
        """The member of each partition."""
        return MappingProxyType(self._member_of)

    def of(self, member_id: str) -> Set[LogId]:
        return self._partitions_of.get(member_id, frozenset())

    def put(self, partition: LogId, member_id: str) -> None:
        self.drop(partition)
        self._member_of[partition] = member_id
        self._partitions_of.setdefault(member_id, set()).add(partition)

    def drop(self, partition: LogId) -> None:
        member_id = self._member_of.pop(partition, None)
        if member_id is None:
            return
        partitions = self._partitions_of[member_id]
        partitions.discard(partition)
        if not partitions:
            del self._partitions_of[member_id]

    def drop_member(self, member_id: str) -> None:
        for partition in self._partitions_of.pop(member_id, ()):
            del self._member_of[partition]

    def rename(self, old_id: str, new_id: str) -> None:
        for partition in tuple(self.of(old_id)):
            self.put(partition, new_id)

    def clear(self) -> None:
        self._member_of.clear()
        self._partitions_of.clear()
