"""Write rows to topics exactly once: every task prepares a part of a transaction, and the driver decides which count.

The decision is made under a key of the query and the batch, which the broker remembers: a task that is tried again, a
batch that is replayed after a crash of the driver, and a zombie that comes too late all change nothing.
"""

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructType,
    TimestampType,
)

from goqueue import codec
from goqueue.client.admin import Admin
from goqueue.client.part import Part
from goqueue.client.partitioner import TopicPartitioner
from goqueue.errors import AlreadyDecided, InvalidRequest
from goqueue.model.record import Record
from goqueue.spark.broker import ask
from goqueue.spark.failures import plainly
from goqueue.spark.options import WriteOptions

__all__ = ["BatchWriter", "StreamWriter", "check_written"]

BATCH_RECORDS = 5000
QUERY_ID, BATCH_ID = "sql.streaming.queryId", "streaming.sql.batchId"
"""What Spark tells every task of a stream."""

_TEXT_OR_BYTES = (StringType, BinaryType)
_WHOLE_NUMBER = (IntegerType, LongType, ShortType)
WRITTEN: Mapping[str, tuple[tuple[type[DataType], ...], str]] = {
    "value": (_TEXT_OR_BYTES, "string or binary"),
    "key": (_TEXT_OR_BYTES, "string or binary"),
    "topic": ((StringType,), "string"),
    "partition": (_WHOLE_NUMBER, "int"),
    "headers": ((ArrayType,), "array<struct<key:string,value:binary>>"),
    "priority": (_WHOLE_NUMBER, "int"),
    "deliver_at": ((TimestampType,), "timestamp"),
}


def check_written(schema: StructType, options: WriteOptions, *, overwrite: bool) -> None:
    """Before anything is done."""
    if overwrite:
        raise InvalidRequest("a topic cannot be overwritten", hint='use mode("append")')
    names = schema.names
    if "value" not in names:
        raise InvalidRequest("there is no column `value`", hint="rows have a value, and may have more: " + _columns())
    if options.topic is None and "topic" not in names:
        raise InvalidRequest("nowhere to write to", hint="give the option topic, or a column of that name")
    for field in schema:
        kinds, shown = WRITTEN.get(field.name, ((), ""))
        if not kinds:
            raise InvalidRequest(f"there is no column {field.name}", hint="there are " + _columns())
        if not isinstance(field.dataType, kinds):
            raise InvalidRequest(f"{field.name} is {field.dataType.simpleString()}", hint=f"{field.name} is {shown}")


def _columns() -> str:
    return ", ".join(f"{name} {shown}" for name, (_, shown) in WRITTEN.items())


@dataclass
class Prepared(WriterCommitMessage):
    """What a task tells the driver: its part, and how many records are in it; no part when all was decided before."""

    key: str
    token: int | None
    records: int


class BatchWriter(DataSourceArrowWriter):
    """Each write has a key of its own, unless it is given a name: then it is written once, however often it is run."""

    def __init__(self, options: WriteOptions) -> None:
        self._options = options
        self._key = f"spark/{options.query_name or secrets.token_hex(16)}"

    @plainly
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return ask(lambda: _write(self._options, self._key, iterator))

    @plainly
    def commit(self, messages: list[WriterCommitMessage | None]) -> None:
        _decide(self._options, self._key, messages)

    @plainly
    def abort(self, messages: list[WriterCommitMessage | None]) -> None:
        _give_up(self._options, messages)


class StreamWriter(DataSourceStreamArrowWriter):
    def __init__(self, options: WriteOptions) -> None:
        self._options = options

    @plainly
    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        context = TaskContext.get()
        assert context is not None, "Spark runs this in a task"
        query, batch = context.getLocalProperty(QUERY_ID), context.getLocalProperty(BATCH_ID)
        if query is None or batch is None:
            raise InvalidRequest("Spark does not say which batch this is", hint="use a version of Spark from 4.1 on")
        return ask(lambda: _write(self._options, f"spark/{query}/{batch}", iterator))

    @plainly
    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        for key in {one.key for one in messages if isinstance(one, Prepared)}:
            _decide(self._options, key, messages)

    @plainly
    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        _give_up(self._options, messages)


async def _write(options: WriteOptions, key: str, batches: Iterator[pa.RecordBatch]) -> Prepared:
    async with Admin(options.bootstrap) as admin:
        part = admin.part(key, timeout_ms=options.part_timeout_ms)
        try:
            await part.begin()
        except AlreadyDecided:
            # By a driver that was killed before Spark knew of it: this batch is done.
            return Prepared(key, None, 0)
        async with _Entered(part):
            count = await _Sending(admin, part, options).send(batches)
            return Prepared(key, await part.prepare(), count)


class _Entered:
    """A part that has begun, until the task is done with it."""

    def __init__(self, part: Part) -> None:
        self._part = part

    async def __aenter__(self) -> Part:
        return self._part

    async def __aexit__(self, *error: Any) -> None:
        await self._part.__aexit__(*error)


class _Sending:
    """Rows become encoded batches, one for each partition at a time."""

    def __init__(self, admin: Admin, part: Part, options: WriteOptions) -> None:
        self._admin = admin
        self._part = part
        self._options = options
        self._partitioners: dict[str, TopicPartitioner] = {}
        self._waiting: dict[tuple[str, int], list[Record]] = {}

    async def send(self, batches: Iterator[pa.RecordBatch]) -> int:
        count = 0
        for batch in batches:
            for row in batch.to_pylist():
                await self._take(row)
            count += batch.num_rows
        for place in list(self._waiting):
            await self._flush(place)
        return count

    async def _take(self, row: dict[str, Any]) -> None:
        topic = row.get("topic") or self._options.topic
        if topic is None:
            raise InvalidRequest("a row without a topic", hint="give the option topic for those")
        key = _bytes(row.get("key"))
        record = Record(
            value=_bytes(row["value"]),
            key=key,
            headers=tuple((one["key"], one["value"]) for one in row.get("headers") or ()),
            priority=2 if row.get("priority") is None else row["priority"],
        )
        due = row.get("deliver_at")
        partitioner = self._partitioners.get(topic) or await self._load(topic)
        place = (topic, partitioner.pick(key, row.get("partition")))
        if due is not None:
            await self._part.send(
                topic,
                record.value,
                key=key,
                headers=record.headers,
                partition=place[1],
                priority=record.priority,
                deliver_at_ns=int(due.timestamp() * 1_000_000) * 1000,
            )
            return
        waiting = self._waiting.setdefault(place, [])
        waiting.append(record)
        if len(waiting) >= BATCH_RECORDS:
            await self._flush(place)

    async def _load(self, topic: str) -> TopicPartitioner:
        made = self._partitioners[topic] = TopicPartitioner(await self._admin.topic(topic), "murmur3")
        return made

    async def _flush(self, place: tuple[str, int]) -> None:
        records = self._waiting.pop(place)
        self._partitioners[place[0]].batch_left(place[1])
        await self._part.send_batch(*place, codec.encode(records), len(records))


def _bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def _decide(options: WriteOptions, key: str, messages: list[WriterCommitMessage | None]) -> None:
    told = [one for one in messages if isinstance(one, Prepared) and one.key == key]
    if any(one.token is None for one in told):
        # A driver before this one has decided; what tasks have written since is left out, and expires.
        _give_up(options, [*told])
        return
    tokens = [one.token for one in told if one.token is not None]

    async def decide() -> None:
        async with Admin(options.bootstrap) as admin:
            await admin.decide(key, tokens)

    ask(decide)


def _give_up(options: WriteOptions, messages: list[WriterCommitMessage | None]) -> None:
    """What was prepared in vain is aborted now rather than when its time is up."""
    tokens = [one.token for one in messages if isinstance(one, Prepared) and one.token is not None]

    async def abort() -> None:
        async with Admin(options.bootstrap) as admin:
            for token in tokens:
                await admin.abort_transaction(token)

    if tokens:
        ask(abort)
