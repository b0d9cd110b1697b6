"""What a consumer gives: messages one by one, or records as they lie in the log."""

from typing import Any, NamedTuple

import msgspec

from goqueue import codec
from goqueue.client.tracing import carrier_of
from goqueue.codec.compression import decompress
from goqueue.codec.values.json import check_json
from goqueue.errors import CorruptBatch, DecodingLimit, InvalidRecord
from goqueue.model.record import Flag, Record
from goqueue.model.runs import Runs, offsets_of

__all__ = ["Message", "Opened", "RawBatch", "open_batch"]


_from_json = msgspec.json.Decoder().decode


class Message(NamedTuple):
    """A record that was read, and the place where it is.

    `key` and `value` are bytes, or None; `headers` are pairs of a name and bytes; `timestamp_ns` is when it was
    written.

    Example:

        from goqueue import Consumer

        with Consumer("orders") as consumer:
            for message in consumer.poll():
                print(message.partition, message.offset, message.text, dict(message.headers))
    """

    topic: str
    partition: int
    offset: int
    timestamp_ns: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...]
    priority: int

    @property
    def text(self) -> str | None:
        """The value as text; None for a tombstone.

        Example:

            from goqueue import Consumer

            with Consumer("orders") as consumer:
                print([message.text for message in consumer.poll()])
        """
        return None if self.value is None else self.value.decode()

    def json(self) -> Any:
        """What the JSON of the value says; None for a tombstone.

        Example:

            from goqueue import Consumer

            with Consumer("orders") as consumer:
                print([message.json() for message in consumer.poll()])
        """
        try:
            if self.value is None:
                return None
            check_json(self.value)
            return _from_json(self.value)
        except DecodingLimit as error:
            raise DecodingLimit(f"{self.topic}/{self.partition} at offset {self.offset}: {error.message}") from None
        except ValueError as error:
            raise InvalidRecord(f"{self.topic}/{self.partition} at offset {self.offset} is not JSON: {error}") from None

    @property
    def carrier(self) -> dict[str, str]:
        """Headers that are text, for OpenTelemetry: `extract(message.carrier)` is the context the record came with.

        Example:

            from goqueue import Consumer

            with Consumer("orders") as consumer:
                for message in consumer.poll(limit=1):
                    print(message.carrier.get("traceparent"))
        """
        return carrier_of(self.headers)


class RawBatch(NamedTuple):
    """Records of one partition as they lie in the log; `next_offset` is where to go on.

    Those in `skip` are hidden, as they are delayed or cancelled: leave them out. They are runs, the first offset of
    each and how many. Leave out control records (`goqueue.model.record.Flag`), too.

    Example:

        from goqueue import Consumer, codec

        with Consumer("orders") as consumer:
            for batch in consumer.poll_raw():
                print(batch.topic, batch.partition, len(codec.decode(batch.records)))
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
