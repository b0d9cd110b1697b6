"""Topic catalog events."""

import msgspec

from goqueue.model.topic import Topic, TopicConfig, TopicName

__all__ = ["CatalogEvent", "TopicAltered", "TopicCreated", "TopicDeleted"]


class TopicCreated(msgspec.Struct, frozen=True, tag="topic_created"):
    topic: Topic


class TopicAltered(msgspec.Struct, frozen=True, tag="topic_altered"):
    name: TopicName
    config: TopicConfig
    epoch: int


class TopicDeleted(msgspec.Struct, frozen=True, tag="topic_deleted"):
    name: TopicName


CatalogEvent = TopicCreated | TopicAltered | TopicDeleted
