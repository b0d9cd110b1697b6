"""The offset of a stream, as it is in Spark's checkpoint: where it is in each partition, and of which topics.

    {"orders": {"0": 23, "1": 17}, "@created": {"orders": 1763526000000000000}, "@begins": {"orders": {"1": 12}}}

`@created` tells a topic from one that was deleted and created again under its name. `@begins` is where the batch that
ends here begins, in partitions where that is not the end of the batch before: in all of them for the first batch, as
Spark does not keep where a query starts; later in partitions that are new, or whose next records are gone. No topic has
such a name. Checkpoints of earlier versions have neither.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from goqueue.model.log import LogId

__all__ = ["StreamOffset", "by_topic"]

CREATED, BEGINS = "@created", "@begins"

ByTopic = dict[str, dict[str, int]]
"""By topic and partition, as JSON has it: keys are strings."""


class StreamOffset(msgspec.Struct, frozen=True):
    """The end of a batch."""

    offsets: Mapping[LogId, int]
    created: Mapping[str, int] = {}
    """When each topic was created, in nanoseconds."""
    begins: Mapping[LogId, int] = {}

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> "StreamOffset":
        offsets = {name: numbers for name, numbers in kept.items() if name not in (CREATED, BEGINS)}
        return cls(_by_log(offsets), dict(kept.get(CREATED, {})), _by_log(kept.get(BEGINS, {})))

    def kept(self) -> dict[str, Any]:
        """As JSON has it: always the same for the same offset, as Spark compares the text."""
        found: dict[str, Any] = {**by_topic(self.offsets)}
        if self.created:
            found[CREATED] = dict(sorted(self.created.items()))
        if self.begins:
            found[BEGINS] = by_topic(self.begins)
        return found

    def begin(self, log: LogId, before: "StreamOffset") -> int | None:
        """Where the batch that ends here begins, if the one before ended at `before`; None where neither says."""
        at = self.begins.get(log)
        return before.offsets.get(log) if at is None else at


def by_topic(offsets: Mapping[LogId, int]) -> ByTopic:
    found: ByTopic = {}
    for log, offset in sorted(offsets.items()):
        found.setdefault(log.topic, {})[str(log.partition)] = offset
    return found


def _by_log(kept: ByTopic) -> dict[LogId, int]:
    return {LogId(topic, int(number)): at for topic, numbers in kept.items() for number, at in numbers.items()}
