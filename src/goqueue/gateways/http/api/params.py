"""Path parameters that several endpoints share."""

from typing import Annotated

import msgspec

from goqueue.model.topic import MOST_PARTITIONS, NAME_PATTERN, OWN_NAME_PATTERN

__all__ = ["NAME_PATTERN", "OWN_NAME_PATTERN", "NewTopicText", "PartitionParams", "TopicParams", "TopicText"]

TopicText = Annotated[
    str, msgspec.Meta(description="name of the topic", extra_json_schema={"pattern": NAME_PATTERN}, examples=["orders"])
]
"""Documented with its rule; `topic_name` checks it, and says what is wrong."""

NewTopicText = Annotated[
    str,
    msgspec.Meta(
        description="name of the topic; those that begin with __ are the broker's own",
        extra_json_schema={"pattern": OWN_NAME_PATTERN},
        examples=["orders"],
    ),
]
"""The same of a topic that is to be."""


class TopicParams(msgspec.Struct, frozen=True):
    topic: TopicText


class PartitionParams(msgspec.Struct, frozen=True):
    topic: TopicText
    partition: Annotated[int, msgspec.Meta(ge=0, lt=MOST_PARTITIONS)]
