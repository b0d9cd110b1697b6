"""Record search by key or id: the newest match, scanning the log backwards."""

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
"""Offsets that are scanned at a time."""
MOST_BYTES = 64 * 1024 * 1024
"""For each partition: older records are not found. Reading this much takes a moment, in a thread."""
READ_BYTES = 1024 * 1024

Match = Callable[[Record], bool]


async def find_by_key(broker: Broker, topic: Topic, key: bytes, number: int | None = None) -> tuple[LogId, int] | None:
    """Search the partition of the key first, then the others, as producers may choose another one."""
    home = KeyRanges(topic.ranges).partition_of(key)
    partitions = broker.partitions(topic.name)
    others = [one for one in partitions if one.id.partition != home]
    wanted = [partitions[home], *others] if number is None else [broker.partition(topic.name, number)]
    return await _find(broker, wanted, key, lambda record: record.key == key)


async def find_by_id(broker: Broker, topic: Topic, text: str) -> tuple[LogId, int] | None:
    """Look up the id; quick if the topic still remembers it, otherwise a scan."""
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
    """The newest match. `needle` occurs in the bytes of every match, so chunks without it are not decoded."""
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
                # Retention was faster, or the disk is failing: older records cannot be read.
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
