"""Find a record that somebody knows by its key or its id: the newest one, from the ends of the log backwards."""

import asyncio
from collections.abc import Callable, Sequence

from goqueue import codec
from goqueue.core.ids.batch import digests_of
from goqueue.engine.broker import Broker
from goqueue.engine.partition import Partition
from goqueue.engine.visibility import is_marker
from goqueue.errors import GoQueueError
from goqueue.model.log import LogId
from goqueue.model.partitioning import KeyRanges
from goqueue.model.record import Record
from goqueue.model.record_id import encoded_ids, id_of
from goqueue.model.topic import Topic

__all__ = ["find_by_id", "find_by_key", "find_newest"]

WINDOW = 4096
"""Offsets that are looked through at a time."""
MOST_BYTES = 64 * 1024 * 1024
"""Of each partition: what lies further back is not found. Reading that takes a moment, in a thread."""
READ_BYTES = 1024 * 1024

Match = Callable[[Record], bool]


async def find_by_key(broker: Broker, topic: Topic, key: bytes, number: int | None = None) -> tuple[LogId, int] | None:
    """In the partition of its key, or where somebody else may have put it."""
    home = KeyRanges(topic.ranges).partition_of(key)
    partitions = broker.partitions(topic.name)
    others = [one for one in partitions if one.id.partition != home]
    wanted = [partitions[home], *others] if number is None else [broker.partition(topic.name, number)]
    return await _find(broker, wanted, key, lambda record: record.key == key)


async def find_by_id(broker: Broker, topic: Topic, text: str) -> tuple[LogId, int] | None:
    """As long as ids are remembered that is quick."""
    (encoded,) = encoded_ids((text,))
    assert encoded is not None
    if topic.config.dedup_window_ms:
        try:
            (place,) = broker.ids.find(topic.name, digests_of((encoded,)), 0).places
        except GoQueueError:
            place = None
        if place is not None:
            return LogId(topic.name, place.partition), place.offset
    return await _find(broker, broker.partitions(topic.name), encoded, lambda record: id_of(record.headers) == encoded)


async def _find(
    broker: Broker, partitions: Sequence[Partition], needle: bytes, match: Match
) -> tuple[LogId, int] | None:
    for partition in partitions:
        found = await find_newest(broker, partition, needle, match)
        if found is not None:
            return partition.id, found.offset
    return None


async def find_newest(broker: Broker, partition: Partition, needle: bytes, match: Match) -> Record | None:
    """`needle` is something that the bytes of the record have in them: what has not is not looked at closely."""
    end = partition.high_watermark
    return await asyncio.get_running_loop().run_in_executor(broker.readers, _newest, partition, end, needle, match)


def _newest(partition: Partition, end: int, needle: bytes, match: Match) -> Record | None:
    left = MOST_BYTES
    while end > (start := partition.log.start_offset) and left > 0:
        first = max(start, end - WINDOW)
        found: Record | None = None
        at = first
        while at < end:
            try:
                chunk = partition.log.read(at, READ_BYTES, end)
            except GoQueueError:
                # Retention was quicker, or the disk is failing: what is further back is not to be had.
                return None
            records = bytes(chunk.records)
            if needle in records:
                found = next(
                    (one for one in reversed(codec.decode(records)) if not is_marker(one) and match(one)), found
                )
            left -= len(records)
            if chunk.next_offset <= at:
                break
            at = chunk.next_offset
        if found is not None:
            return found
        end = first
    return None
