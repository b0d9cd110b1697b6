"""Backward browse: pages of the newest records of a topic in order of time, ending at a place.

The counterpart of `browse`, with the same order and bounds. Only the last records of each partition before the place
are read, so that the cost of a page does not depend on the size of the topic.
"""

import asyncio
import heapq
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from goqueue.engine.broker import Broker
from goqueue.engine.browse import (
    LEAST_READ_BYTES,
    MOST_SCANNED,
    MOST_SCANNED_BYTES,
    PAGE_BYTES,
    READ_BYTES,
    Found,
    Place,
    Selection,
    Span,
    as_given,
    records_between,
)
from goqueue.engine.visibility import end_of, hidden
from goqueue.model.isolation import Isolation
from goqueue.model.record import Record
from goqueue.model.runs import runs_of
from goqueue.model.topic import TopicName

__all__ = ["BackPage", "browse_back"]

LEAST_BYTES = 64 * 1024
MOST_SEARCHED = 2000
"""Records that one step of a text search reads, in all partitions together."""
LEAST_SEARCHED = 20


class BackPage(msgspec.Struct, frozen=True):
    """Records in order, the newest last, and the first place read, or None if there is nothing before it."""

    found: list[Found]
    first: Place | None


class _Tail(NamedTuple):
    """The last records of one partition before the place, and whether there may be more before them."""

    records: list[tuple[Place, Record]]
    has_more: bool


async def browse_back(
    broker: Broker,
    name: TopicName,
    limit: int,
    *,
    partition: int | None = None,
    before: Place | None = None,
    text: bytes | None = None,
    isolation: Isolation = Isolation.COMMITTED,
) -> BackPage:
    """The newest records of a topic or of one partition, before a place if one is given.

    With a text, only records that contain it. Such a page may be empty although there are more records to search.
    """
    chosen = broker.partitions(name) if partition is None else (broker.partition(name, partition),)
    spans = [(one, one.log.start_offset, end_of(one, isolation)) for one in chosen]
    loop = asyncio.get_running_loop()
    if text is None:
        page = await loop.run_in_executor(broker.readers, _browse_back, spans, limit, before, isolation)
    else:
        selection = Selection(partition, text=text, isolation=isolation)
        page = await loop.run_in_executor(broker.readers, _search_back, spans, limit, before, selection)
    tally = broker.tally.of(name)
    tally.fetched_records += len(page.found)
    tally.fetched_bytes += sum(len(one.record.value or b"") for one in page.found)
    return page


def _browse_back(spans: Sequence[Span], limit: int, before: Place | None, isolation: Isolation) -> BackPage:
    records, certain = _newest(spans, limit, before, isolation)
    page = records[-limit:]
    found = [as_given(place.partition, record) for place, record in page]
    if len(page) == limit:
        return BackPage(found, page[0][0])
    return BackPage(found, certain)


def _search_back(spans: Sequence[Span], limit: int, before: Place | None, selection: Selection) -> BackPage:
    wide = max(LEAST_SEARCHED, MOST_SEARCHED // len(spans))
    found: list[tuple[Place, Record]] = []
    scanned = scanned_bytes = 0
    first = before
    while True:
        records, first = _newest(spans, wide, first, selection.isolation)
        found = [item for item in records if selection.takes(item[0].partition, item[1])] + found
        scanned += len(records)
        scanned_bytes += sum(len(record.value or b"") for _, record in records)
        if first is None or len(found) >= limit or scanned >= MOST_SCANNED or scanned_bytes >= MOST_SCANNED_BYTES:
            break
    page = found[-limit:]
    if len(page) == limit:
        first = page[0][0]
    return BackPage([as_given(place.partition, record) for place, record in page], first)


def _newest(
    spans: Sequence[Span], limit: int, before: Place | None, isolation: Isolation
) -> tuple[list[tuple[Place, Record]], Place | None]:
    """At most `limit` records of each partition in order, and the place of the first if there are more before it."""
    share = max(LEAST_BYTES, PAGE_BYTES // len(spans))
    tails = [_tail(span, limit, before, isolation, share) for span in spans]
    # In a partition not read to its beginning, earlier records may sort after records of other partitions.
    certain = max((tail.records[0][0] for tail in tails if tail.has_more), default=None)
    in_order = heapq.merge(*(tail.records for tail in tails), key=lambda item: item[0])
    return [item for item in in_order if certain is None or item[0] >= certain], certain


def _tail(span: Span, limit: int, before: Place | None, isolation: Isolation, most_bytes: int) -> _Tail:
    _, start, end = span
    if before is not None:
        end = min(end, _end_before(span, before))
    # The last offsets may have been hidden or compacted away: then read further back.
    width = limit
    while True:
        first = max(start, end - width)
        kept = _last_of(span, range(first, end), limit, isolation, most_bytes)
        if kept or first <= start:
            break
        end, width = first, width * 2
    return _Tail(kept, kept[0][0].offset > start if kept else False)


def _last_of(
    span: Span, offsets: range, limit: int, isolation: Isolation, most_bytes: int
) -> list[tuple[Place, Record]]:
    partition = span[0]
    read_bytes = min(READ_BYTES, max(LEAST_READ_BYTES, most_bytes))
    kept: deque[tuple[Place, Record]] = deque()
    size = 0
    for first, stop in _visible_runs(span, offsets, isolation):
        for record in records_between(partition, first, stop, read_bytes, isolation):
            kept.append((Place(record.timestamp_ns, partition.id.partition, record.offset), record))
            size += len(record.value or b"")
            while len(kept) > 1 and (size > most_bytes or len(kept) > limit):
                size -= len(kept.popleft()[1].value or b"")
    return list(kept)


def _visible_runs(span: Span, offsets: range, isolation: Isolation) -> list[tuple[int, int]]:
    """Ranges without hidden records, so that hidden ones are not even read."""
    skipped = hidden(span[0], offsets.start, offsets.stop, isolation)
    runs, at = [], offsets.start
    for first, count in runs_of(skipped) if skipped else ():
        if first > at:
            runs.append((at, first))
        at = first + count
    return [*runs, (at, offsets.stop)] if at < offsets.stop else runs


def _end_before(span: Span, before: Place) -> int:
    """The first offset of the partition whose place is not before the given one."""
    partition, _, end = span
    number = partition.id.partition
    if number == before.partition:
        return before.offset
    found = partition.log.offset_at(before.timestamp_ns + (number < before.partition), end)
    return end if found is None else found
