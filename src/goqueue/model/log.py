"""Log identity and the results of reading from a partition log."""

from typing import NamedTuple

import msgspec

from goqueue.errors import InvalidRequest

__all__ = ["Chunk", "Damage", "LogId", "SegmentInfo"]


class LogId(NamedTuple):
    """A partition of a topic.

    Example:

        from goqueue import Consumer
        from goqueue.client import LogId

        with Consumer("orders", group="billing") as consumer:
            consumer.poll()
            print(LogId("orders", 0) in consumer.assigned)
    """

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.partition}"

    @classmethod
    def parse(cls, text: str) -> "LogId":
        """The partition written as `topic/partition`.

        Example:

            from goqueue.client import LogId

            assert LogId.parse("orders/0") == LogId("orders", 0)
        """
        topic, _, partition = text.rpartition("/")
        if not topic or not partition.isdecimal():
            raise InvalidRequest(f"{text!r} does not name a partition", hint="write it as topic/partition")
        return cls(topic, int(partition))


class Damage(msgspec.Struct, frozen=True):
    """A range of bytes that no longer holds what was written; the offsets bound the records that may be missing."""

    file: str
    position: int
    length: int
    first_offset: int
    last_offset: int
    reason: str

    def __str__(self) -> str:
        lost = f"offsets {self.first_offset} to {self.last_offset}"
        return f"{self.file}: {self.reason} at byte {self.position}, {self.length} bytes unreadable ({lost})"


class Chunk(msgspec.Struct, frozen=True):
    """Whole records as stored in the log, and the offset at which to continue."""

    records: bytes | memoryview
    first_offset: int
    next_offset: int
    damage: tuple[Damage, ...] = ()


class SegmentInfo(msgspec.Struct, frozen=True, array_like=True):
    """One segment of a log: offsets from `base_offset` up to, but not including, `next_offset`."""

    base_offset: int
    next_offset: int
    size: int
    max_timestamp_ns: int
