"""Turn rows into encoded batches of records, and send them as a part of a transaction: what a writing task does."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import repeat
from typing import Any, NamedTuple

import pyarrow as pa

from goqueue import codec
from goqueue.client.admin import Admin
from goqueue.client.part import Part
from goqueue.client.partitioner import TopicPartitioner
from goqueue.errors import InvalidRequest
from goqueue.model.priority import NORMAL
from goqueue.model.record import Record

__all__ = ["Sending"]

BATCH_RECORDS = 5000
BATCH_BYTES = 1024 * 1024


class _Place(NamedTuple):
    topic: str
    partition: int


class _Waiting:
    """Records for one partition that have not left yet."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.size = 0

    @property
    def is_full(self) -> bool:
        return len(self.records) >= BATCH_RECORDS or self.size >= BATCH_BYTES


class Sending:
    """Of one task. What waits is bounded for each partition."""

    def __init__(self, admin: Admin, part: Part, topic: str | None) -> None:
        self._admin = admin
        self._part = part
        self._topic = topic
        self._partitioners: dict[str, TopicPartitioner] = {}
        self._waiting: dict[_Place, _Waiting] = {}

    async def send(self, batches: Iterator[pa.RecordBatch]) -> int:
        """All rows; how many there were."""
        count = 0
        for batch in batches:
            await self._take(batch)
            count += batch.num_rows
        for place in list(self._waiting):
            await self._flush(place)
        return count

    async def _take(self, batch: pa.RecordBatch) -> None:
        topics = self._topics_of(batch)
        for topic in set(topics):
            if topic not in self._partitioners:
                self._partitioners[topic] = TopicPartitioner(await self._admin.topic(topic), "murmur3")
        partitions = _column(batch, "partition")
        dues = _column(batch, "deliver_at")
        for topic, record, partition, due in zip(topics, _records(batch), partitions, dues, strict=False):
            place = _Place(topic, self._partitioners[topic].pick(record.key, partition))
            if due is not None:
                await self._send_later(place, record, due)
                continue
            waiting = self._waiting.get(place)
            if waiting is None:
                waiting = self._waiting[place] = _Waiting()
            waiting.records.append(record)
            waiting.size += len(record.value or b"") + len(record.key or b"")
            if waiting.is_full:
                await self._flush(place)

    def _topics_of(self, batch: pa.RecordBatch) -> Sequence[str]:
        if "topic" not in batch.schema.names:
            assert self._topic is not None, "checked before anything was done"
            return [self._topic] * batch.num_rows
        topics = [self._topic if one is None else str(one) for one in batch.column("topic").to_pylist()]
        known = [one for one in topics if one is not None]
        if len(known) < len(topics):
            raise InvalidRequest("a row without a topic", hint="give the option topic for those")
        return known

    async def _send_later(self, place: _Place, record: Record, due: datetime) -> None:
        await self._part.send(
            place.topic,
            record.value,
            key=record.key,
            headers=record.headers,
            partition=place.partition,
            priority=record.priority,
            deliver_at_ns=int(due.timestamp() * 1_000_000) * 1000,
        )

    async def _flush(self, place: _Place) -> None:
        records = self._waiting.pop(place).records
        self._partitioners[place.topic].batch_left(place.partition)
        await self._part.send_batch(*place, codec.encode(records), len(records))


def _records(batch: pa.RecordBatch) -> Iterator[Record]:
    values, keys = _bytes(batch, "value"), _bytes(batch, "key")
    names = batch.schema.names
    if "headers" not in names and "priority" not in names:
        return map(Record, values, keys)
    headers = map(_headers, _column(batch, "headers"))
    priorities = (NORMAL if one is None else one for one in _column(batch, "priority"))
    return map(Record, values, keys, headers, priorities)


def _headers(pairs: Sequence[dict[str, Any] | None] | None) -> tuple[tuple[str, bytes], ...]:
    return tuple(map(_header, pairs or ()))


def _header(pair: dict[str, Any] | None) -> tuple[str, bytes]:
    if pair is None or pair["key"] is None or pair["value"] is None:
        raise InvalidRequest(
            f"each header must have a key and a value, got {_shown(pair)}",
            hint="leave out headers that are null: filter(headers, one -> one.value IS NOT NULL)",
        )
    return pair["key"], pair["value"]


def _shown(pair: dict[str, Any] | None) -> str:
    if pair is None:
        return "null"
    return f"the key {pair['key']} with null as its value" if pair["key"] is not None else "null as a key"


def _column(batch: pa.RecordBatch, name: str) -> Iterator[Any]:
    """None for each row when there is no such column."""
    return iter(batch.column(name).to_pylist()) if name in batch.schema.names else repeat(None)


def _bytes(batch: pa.RecordBatch, name: str) -> Iterator[bytes | None]:
    if name not in batch.schema.names:
        return repeat(None)
    column = batch.column(name)
    if not pa.types.is_binary(column.type):
        column = column.cast(pa.binary())
    return iter(column.to_pylist())
