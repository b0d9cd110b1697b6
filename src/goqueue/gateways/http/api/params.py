"""Path parameters that several endpoints share."""

from typing import Annotated

import msgspec

from goqueue.model.topic import MOST_PARTITIONS, NAME_PATTERN

__all__ = ["NAME_PATTERN", "PartitionParams", "TopicParams", "TopicText"]

TopicText = Annotated[
    str, msgspec.Meta(description="name of the topic", extra_json_schema={"pattern": NAME_PATTERN}, examples=["orders"])
]
"""Documented with its rule; `topic_name` checks it, and says what is wrong."""


class TopicParams(msgspec.Struct, frozen=True):
    topic: TopicText


class PartitionParams(msgspec.Struct, frozen=True):
    topic: TopicText
    partition: Annotated[int, msgspec.Meta(ge=0, lt=MOST_PARTITIONS)]
