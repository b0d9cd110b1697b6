"""What a consumer gives: messages one by one, or records as they lie in the log."""

from typing import NamedTuple

from goqueue import codec
from goqueue.codec.compression import decompress
from goqueue.errors import CorruptBatch
from goqueue.model.record import Flag, Record

__all__ = ["Message", "Opened", "RawBatch", "open_batch"]


class Message(NamedTuple):
    """A record with where it comes from."""

    topic: str
    partition: int
    offset: int
    timestamp_ns: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...]
    priority: int


class RawBatch(NamedTuple):
    """Records of one partition as they lie in the log; `next_offset` is where to go on.

    Those in `skip` are hidden, as they are delayed or cancelled: leave them out. They are runs, the first offset of
    each and how many. Leave out control records (`goqueue.model.record.Flag`), too.
    """

    topic: str
    partition: int
    records: memoryview
    next_offset: int
    skip: tuple[tuple[int, int], ...] = ()


class Opened(NamedTuple):
    """The messages of a batch up to `next_offset`, and what is wrong with the record there if they end early."""

    messages: list[Message]
    next_offset: int
    fault: CorruptBatch | None = None


def open_batch(batch: RawBatch) -> Opened:
    messages: list[Message] = []
    topic, partition = batch.topic, batch.partition
    skipped = {offset for first, count in batch.skip for offset in range(first, first + count)}
    for record in codec.decode(batch.records):
        if record.flags & Flag.CONTROL or record.offset in skipped:
            continue
        value = record.value
        if record.flags & Flag.COMPRESSED:
            assert value is not None, "a tombstone is never compressed"
            try:
                value = decompress(value)
            except CorruptBatch as error:
                return Opened(messages, record.offset, _at(batch, record, error))
        messages.append(
            Message(
                topic,
                partition,
                record.offset,
                record.timestamp_ns,
                record.key,
                value,
                record.headers,
                record.priority,
            )
        )
    return Opened(messages, batch.next_offset)


def _at(batch: RawBatch, record: Record, error: CorruptBatch) -> CorruptBatch:
    return CorruptBatch(
        f"{batch.topic}/{batch.partition} at offset {record.offset}: {error.message}",
        hint="seek past the record, or read it with poll_raw: its producer wrote it like that",
    )
