"""What a consumer gives: messages one by one, or records as they lie in the log."""

from typing import NamedTuple

from goqueue import codec
from goqueue.client.tracing import carrier_of
from goqueue.codec.compression import decompress
from goqueue.errors import CorruptBatch
from goqueue.model.record import Flag, Record
from goqueue.model.runs import Runs, offsets_of

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

    @property
    def carrier(self) -> dict[str, str]:
        """Headers that are text, for OpenTelemetry: `extract(message.carrier)` is the context the record came with."""
        return carrier_of(self.headers)


class RawBatch(NamedTuple):
    """Records of one partition as they lie in the log; `next_offset` is where to go on.

    Those in `skip` are hidden, as they are delayed or cancelled: leave them out. They are runs, the first offset of
    each and how many. Leave out control records (`goqueue.model.record.Flag`), too.
    """

    topic: str
    partition: int
    records: memoryview
    next_offset: int
    skip: Runs = ()


class Opened(NamedTuple):
    """The messages of a batch up to `next_offset`, and what is wrong with the record there if they end early."""

    messages: list[Message]
    next_offset: int
    fault: CorruptBatch | None = None


def open_batch(batch: RawBatch) -> Opened:
    topic, partition = batch.topic, batch.partition
    if not batch.skip:
        # As nearly always there is nothing to leave out, and nothing compressed.
        plain = codec.decode_plain(batch.records, Message, (topic, partition))
        if plain is not None:
            return Opened(plain, batch.next_offset)
    messages: list[Message] = []
    skipped = set(offsets_of(batch.skip))
    for one in codec.decode(batch.records):
        if one.flags & Flag.CONTROL or one.offset in skipped:
            continue
        value = one.value
        if one.flags & Flag.COMPRESSED:
            assert value is not None, "a tombstone is never compressed"
            try:
                value = decompress(value)
            except CorruptBatch as error:
                return Opened(messages, one.offset, _at(batch, one, error))
        messages.append(
            Message(topic, partition, one.offset, one.timestamp_ns, one.key, value, one.headers, one.priority)
        )
    return Opened(messages, batch.next_offset)


def _at(batch: RawBatch, record: Record, error: CorruptBatch) -> CorruptBatch:
    return CorruptBatch(
        f"{batch.topic}/{batch.partition} at offset {record.offset}: {error.message}",
        hint="seek past the record, or read it with poll_raw: its producer wrote it like that",
    )
