"""Browse: pages of records for people and scripts, of one partition or of a whole topic in order of time.

A page is bounded in records, in bytes (of decompressed values) and in the amount read to fill it. Reading runs in a
reader thread.
"""

import asyncio
import heapq
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import msgspec

from goqueue import codec
from goqueue.codec.compression import decompress
from goqueue.engine.broker import Broker
from goqueue.engine.partition import Partition
from goqueue.engine.visibility import end_of, hidden, is_marker
from goqueue.errors import CorruptBatch
from goqueue.model.isolation import Isolation
from goqueue.model.record import Flag, Record
from goqueue.model.topic import TopicName

__all__ = [
    "Found",
    "PartitionPage",
    "Place",
    "Selection",
    "TopicPage",
    "as_given",
    "browse",
    "read_page",
    "records_between",
]

PAGE_BYTES = 4 * 1024 * 1024
READ_BYTES = 256 * 1024
LEAST_READ_BYTES = 4096
READ_AHEAD_BYTES = 4 * 1024 * 1024
"""Read at a time from all partitions of a topic together, so that a topic with many does not fill memory."""
MOST_SCANNED = 50_000
MOST_SCANNED_BYTES = 64 * 1024 * 1024


Span = tuple[Partition, int, int]
"""Where to read: from the first offset up to, but not including, the second."""


class Found(msgspec.Struct, frozen=True):
    """A record as its producer sent it. If its value cannot be decompressed, it is as stored and `fault` says why."""

    partition: int
    record: Record
    fault: str | None = None


class PartitionPage(msgspec.Struct, frozen=True):
    """Consecutive records, and the offset of the next page."""

    found: list[Found]
    next_offset: int


class Place(NamedTuple):
    """The position of a record in its topic: by time, then by partition and offset."""

    timestamp_ns: int
    partition: int
    offset: int


class Selection(msgspec.Struct, frozen=True):
    """A filter on the records of a topic; None means all."""

    partition: int | None = None
    offset: int = 0
    from_ns: int | None = None
    to_ns: int | None = None
    key: bytes | None = None
    priority: int | None = None
    text: bytes | None = None
    """In the key, the value or a header; ASCII letters match in either case."""
    isolation: Isolation = Isolation.COMMITTED

    def takes(self, partition: int, record: Record) -> bool:
        return (
            (self.key is None or record.key == self.key)
            and (self.priority is None or record.priority == self.priority)
            and (self.text is None or _contains(record, self.text.lower()))
        )

    def bounds(self, partition: Partition) -> tuple[int, int]:
        """The range of offsets to read, without the end."""
        return max(self.offset, partition.log.start_offset), end_of(partition, self.isolation)


def _contains(record: Record, text: bytes) -> bool:
    if text in (record.key or b"").lower():
        return True
    if any(text in name.lower().encode() or text in value.lower() for name, value in record.headers):
        return True
    value = as_given(0, record).record.value
    return value is not None and text in value.lower()


class TopicPage(msgspec.Struct, frozen=True):
    """Records in order, and the last place read, or None at the end."""

    found: list[Found]
    last: Place | None


async def read_page(
    broker: Broker,
    name: TopicName,
    number: int,
    offset: int | None,
    limit: int,
    isolation: Isolation = Isolation.COMMITTED,
) -> PartitionPage:
    """The visible records of a partition from an offset on, or from the earliest if None, in order."""
    partition = broker.partition(name, number)
    if offset is not None:
        partition.check_offset(offset)
    loop = asyncio.get_running_loop()
    end = end_of(partition, isolation)
    page = await loop.run_in_executor(broker.readers, _read_page, partition, offset, limit, end, isolation)
    _count(broker, name, page.found)
    return page


async def browse(
    broker: Broker, name: TopicName, selection: Selection, limit: int, after: Place | None = None
) -> TopicPage:
    """The selected records of a topic in order of time, after the given place."""
    if selection.partition is None:
        partitions: Iterable[Partition] = broker.partitions(name)
    else:
        partitions = (broker.partition(name, selection.partition),)
    loop = asyncio.get_running_loop()
    # Only the event loop knows how far to read; reading itself runs in a thread.
    spans = [(partition, *selection.bounds(partition)) for partition in partitions]
    page = await loop.run_in_executor(broker.readers, _browse, spans, selection, limit, after)
    _count(broker, name, page.found)
    return page


def _count(broker: Broker, name: TopicName, found: Sequence[Found]) -> None:
    tally = broker.tally.of(name)
    tally.fetched_records += len(found)
    tally.fetched_bytes += sum(_size_of(one.record) for one in found)


def _size_of(record: Record) -> int:
    return len(record.value or b"") + len(record.key or b"") + sum(len(value) for _, value in record.headers)


def _read_page(partition: Partition, offset: int | None, limit: int, end: int, isolation: Isolation) -> PartitionPage:
    start = partition.log.start_offset if offset is None else offset
    page = _Page(limit)
    for record in records_between(partition, start, end, READ_BYTES, isolation):
        if not page.add(partition.id.partition, record):
            return PartitionPage(page.found, record.offset)
        if page.is_full:
            return PartitionPage(page.found, record.offset + 1)
    return PartitionPage(page.found, max(start, end))


def _browse(spans: Sequence[Span], selection: Selection, limit: int, after: Place | None) -> TopicPage:
    read_bytes = min(READ_BYTES, max(LEAST_READ_BYTES, READ_AHEAD_BYTES // len(spans)))
    page = _Page(limit)
    last, scanned_bytes = after, 0
    lines = (_in_order(span, selection, after, read_bytes) for span in spans)
    in_order = heapq.merge(*lines, key=lambda item: item[0])
    for scanned, (place, record) in enumerate(in_order, 1):
        if selection.takes(place.partition, record) and not page.add(place.partition, record):
            return TopicPage(page.found, last)
        last = place
        scanned_bytes += len(record.value or b"")
        if page.is_full or scanned >= MOST_SCANNED or scanned_bytes >= MOST_SCANNED_BYTES:
            return TopicPage(page.found, last)
    return TopicPage(page.found, None)


def _in_order(span: Span, selection: Selection, after: Place | None, read_bytes: int) -> Iterator[tuple[Place, Record]]:
    """The records of one partition with their places. The times of places never decrease, even if those of records
    do."""
    partition, start, end = span
    number = partition.id.partition
    if selection.from_ns is not None:
        start = max(start, _offset_at(partition, selection.from_ns, end))
    if after is not None:
        start = max(start, _resume(partition, after, end))
    if selection.to_ns is not None:
        end = min(end, _offset_at(partition, selection.to_ns, end))
    newest = after.timestamp_ns if after is not None else 0
    for record in records_between(partition, start, end, read_bytes, selection.isolation):
        newest = max(newest, record.timestamp_ns)
        yield Place(newest, number, record.offset), record


def _resume(partition: Partition, after: Place, end: int) -> int:
    """The first offset of the partition whose place is after the given one."""
    number = partition.id.partition
    if number == after.partition:
        return after.offset + 1
    return _offset_at(partition, after.timestamp_ns + (number < after.partition), end)


def _offset_at(partition: Partition, timestamp_ns: int, end: int) -> int:
    found = partition.log.offset_at(timestamp_ns, end)
    return end if found is None else found


def records_between(
    partition: Partition,
    start: int,
    end: int,
    read_bytes: int = READ_BYTES,
    isolation: Isolation = Isolation.COMMITTED,
) -> Iterator[Record]:
    """The visible records of a range, without control records. Run in a thread, as it may block on the disk."""
    while start < end:
        chunk = partition.log.read(start, read_bytes, end)
        skipped = hidden(partition, start, chunk.next_offset, isolation)
        if len(skipped) < chunk.next_offset - start:
            for record in codec.decode(chunk.records):
                if record.offset not in skipped and not is_marker(record):
                    yield record
        if not chunk.records:
            break
        start = chunk.next_offset


class _Page:
    """Takes records until it is full; the first one always fits."""

    def __init__(self, limit: int) -> None:
        self.found: list[Found] = []
        self._limit = limit
        self._bytes = 0

    @property
    def is_full(self) -> bool:
        return len(self.found) >= self._limit or self._bytes >= PAGE_BYTES

    def add(self, partition: int, record: Record) -> bool:
        found = as_given(partition, record)
        size = _size_of(found.record)
        if self.found and self._bytes + size > PAGE_BYTES:
            return False
        self.found.append(found)
        self._bytes += size
        return True


def as_given(partition: int, record: Record) -> Found:
    if not record.flags & Flag.COMPRESSED:
        return Found(partition, record)
    try:
        value = decompress(record.value or b"")
    except CorruptBatch as error:
        return Found(partition, record, error.message)
    plain = msgspec.structs.replace(record, value=value, flags=record.flags & ~Flag.COMPRESSED)
    return Found(partition, plain)
