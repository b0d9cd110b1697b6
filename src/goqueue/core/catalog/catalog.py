"""Topic catalog. Commands decide: they return an event and change nothing; `apply` is the only writer."""

from collections.abc import Iterator

import msgspec

from goqueue.core.catalog.events import CatalogEvent, TopicAltered, TopicCreated, TopicDeleted
from goqueue.errors import InvalidRequest, TopicExists, UnknownTopic
from goqueue.model.topic import MOST_PARTITIONS, Topic, TopicConfig, TopicName, hash_ranges

__all__ = ["DEFAULT_PARTITIONS", "Catalog"]

DEFAULT_PARTITIONS = 3


class Catalog:
    """Topics by name."""

    def __init__(self) -> None:
        self._topics: dict[TopicName, Topic] = {}

    def __iter__(self) -> Iterator[Topic]:
        return iter(self._topics.values())

    def __len__(self) -> int:
        return len(self._topics)

    def __contains__(self, name: str) -> bool:
        return name in self._topics

    def topic(self, name: TopicName) -> Topic:
        try:
            return self._topics[name]
        except KeyError:
            raise UnknownTopic(f"there is no topic {name}") from None

    def create(self, name: TopicName, partitions: int, config: TopicConfig, *, now: int = 0) -> TopicCreated:
        if name in self._topics:
            raise TopicExists(f"the topic {name} exists")
        if not 1 <= partitions <= MOST_PARTITIONS:
            raise InvalidRequest(f"{partitions} partitions", hint=f"a topic has 1 to {MOST_PARTITIONS}")
        _check_dead_letters(name, config)
        return TopicCreated(Topic(name, config, hash_ranges(partitions), created_ns=now))

    def alter(self, name: TopicName, config: TopicConfig) -> TopicAltered:
        _check_dead_letters(name, config)
        return TopicAltered(name, config, self.topic(name).epoch + 1)

    def delete(self, name: TopicName) -> TopicDeleted:
        return TopicDeleted(self.topic(name).name)

    def apply(self, event: CatalogEvent) -> None:
        match event:
            case TopicCreated(topic):
                self._topics[topic.name] = topic
            case TopicAltered(name, config, epoch):
                self._topics[name] = msgspec.structs.replace(self._topics[name], config=config, epoch=epoch)
            case TopicDeleted(name):
                del self._topics[name]

    def snapshot(self) -> tuple[Topic, ...]:
        return tuple(self._topics.values())

    def restore(self, topics: tuple[Topic, ...]) -> None:
        self._topics = {topic.name: topic for topic in topics}


def _check_dead_letters(name: TopicName, config: TopicConfig) -> None:
    """Refuse settings under which a failing record would return to its own topic for ever."""
    if config.dead_letter_topic == name:
        raise InvalidRequest(f"{name} cannot be its own dead_letter_topic", hint="name another topic, or none")
