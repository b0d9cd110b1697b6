"""Fetch: read records of several partitions by offset, waiting for some to arrive if there are none."""

import asyncio
from collections.abc import Sequence

import msgspec

from goqueue.engine.broker import Broker
from goqueue.engine.partition import Partition
from goqueue.engine.visibility import end_of, skipped_runs
from goqueue.errors import GoQueueError, InvalidRequest
from goqueue.model.isolation import Isolation
from goqueue.model.log import Chunk
from goqueue.model.runs import Runs
from goqueue.model.topic import TopicName

__all__ = ["LONGEST_WAIT_MS", "FetchFrom", "Fetched", "fetch", "offset_at"]

LONGEST_WAIT_MS = 60_000
MOST_BYTES = 16 * 1024 * 1024
READ_BYTES = 1024 * 1024
"""Bytes per read: large enough that the thread switch costs little (with 256 KiB it took a third of the processor
time), small enough that one reader occupies a thread for only about half a millisecond."""


class FetchFrom(msgspec.Struct, frozen=True):
    """Where to read in one partition."""

    topic: TopicName
    partition: int
    offset: int


class Fetched(msgspec.Struct, frozen=True):
    """The result of one partition: chunks of whole records, or a refusal.

    `skip` has the offsets among them that readers must not see, as runs: the first of each and their number.
    """

    chunks: tuple[Chunk, ...] = ()
    next_offset: int = 0
    high_watermark: int = 0
    start_offset: int = 0
    refusal: GoQueueError | None = None
    stable_offset: int = 0
    skip: Runs = ()

    @property
    def size(self) -> int:
        return sum(len(chunk.records) for chunk in self.chunks)


async def fetch(
    broker: Broker,
    parts: Sequence[FetchFrom],
    *,
    max_bytes: int,
    wait_ms: int,
    isolation: Isolation = Isolation.COMMITTED,
) -> list[Fetched]:
    """One answer for each part. Returns when a part has records or an error, or after `wait_ms`."""
    if not 0 <= wait_ms <= LONGEST_WAIT_MS:
        raise InvalidRequest(
            f"the wait must be between 0 and {LONGEST_WAIT_MS} ms, got {wait_ms}", hint="to wait longer, fetch again"
        )
    budget = min(max(max_bytes, 1), MOST_BYTES)
    found = [_find(broker, part) for part in parts]
    if wait_ms and not _have_news(parts, found, isolation):
        await _wait_for_news(parts, found, wait_ms, isolation)
    answers = [Fetched()] * len(parts)
    # Another part comes first each time, so that a busy partition does not use up the budget each time.
    first = next(broker.fetch_turns) % max(1, len(parts))
    for number in (*range(first, len(parts)), *range(first)):
        answers[number] = await _read(broker, parts[number], found[number], budget, isolation)
        budget -= answers[number].size
    return answers


def _find(broker: Broker, part: FetchFrom) -> Partition | GoQueueError:
    try:
        partition = broker.partition(part.topic, part.partition)
        partition.check_offset(part.offset)
    except GoQueueError as refusal:
        return refusal
    return partition


def _have_news(parts: Sequence[FetchFrom], found: Sequence[Partition | GoQueueError], isolation: Isolation) -> bool:
    return any(
        isinstance(one, GoQueueError) or part.offset < end_of(one, isolation)
        for part, one in zip(parts, found, strict=True)
    )


async def _wait_for_news(
    parts: Sequence[FetchFrom], found: Sequence[Partition | GoQueueError], wait_ms: int, isolation: Isolation
) -> None:
    news = asyncio.Event()
    partitions = {partition for partition in found if isinstance(partition, Partition)}
    for partition in partitions:
        partition.watch(news.set)
    try:
        async with asyncio.timeout(wait_ms / 1000):
            while not _have_news(parts, found, isolation):
                news.clear()
                await news.wait()
    except TimeoutError:
        pass
    finally:
        for partition in partitions:
            partition.unwatch(news.set)


async def _read(
    broker: Broker, part: FetchFrom, found: Partition | GoQueueError, budget: int, isolation: Isolation
) -> Fetched:
    if isinstance(found, GoQueueError):
        return Fetched(refusal=found)
    chunks: list[Chunk] = []
    offset, size = part.offset, 0
    try:
        while size < budget and offset < (end := end_of(found, isolation)):
            wanted = min(READ_BYTES, budget - size)
            chunk = await asyncio.get_running_loop().run_in_executor(broker.readers, found.read, offset, wanted, end)
            offset = chunk.next_offset
            if not chunk.records:
                break
            size += len(chunk.records)
            chunks.append(chunk)
    except GoQueueError as refusal:
        if not chunks:
            return Fetched(refusal=refusal)
    skip = skipped_runs(found, part.offset, offset, isolation)
    # In a compacted log, removed records are counted too: excluding them would mean looking at each record.
    found.tally.fetched_records += offset - part.offset - sum(count for _, count in skip)
    found.tally.fetched_bytes += size
    start, stable = found.log.start_offset, found.stable_offset
    return Fetched(tuple(chunks), offset, found.high_watermark, start, stable_offset=stable, skip=skip)


async def offset_at(
    broker: Broker, name: TopicName, number: int, at: str | int, isolation: Isolation = Isolation.COMMITTED
) -> int:
    """The earliest or latest offset, or that of the first record not older than a time (the end if there is none)."""
    partition = broker.partition(name, number)
    if at == "earliest":
        return partition.log.start_offset
    limit = end_of(partition, isolation)
    if at == "latest":
        return limit
    assert isinstance(at, int)
    loop = asyncio.get_running_loop()
    found = await loop.run_in_executor(broker.readers, partition.log.offset_at, at, limit)
    return limit if found is None else found
