"""Write rows to topics exactly once: every task prepares a part of a transaction, and the driver decides which count.

The decision is made under a key of the query and the batch, which the broker remembers: a task that is tried again, a
batch that is replayed after a crash of the driver, and a zombie that comes too late all change nothing.
"""

import secrets
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from itertools import chain

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
    NullType,
    ShortType,
    StringType,
    StructType,
    TimestampType,
)

from goqueue.client.admin import Admin
from goqueue.errors import AlreadyDecided, InvalidRequest, UnknownTopic
from goqueue.spark.broker import ask
from goqueue.spark.failures import plainly
from goqueue.spark.options import WriteOptions
from goqueue.spark.sending import Sending

__all__ = ["BatchWriter", "StreamWriter", "check_target", "check_written"]

QUERY_ID, BATCH_ID = "sql.streaming.queryId", "streaming.sql.batchId"
"""What Spark tells every task of a stream."""

_TEXT_OR_BYTES = (StringType, BinaryType)
_WHOLE_NUMBER = (IntegerType, LongType, ShortType)
HEADERS = "array<struct<key:string,value:binary>>"
WRITTEN: Mapping[str, tuple[tuple[type[DataType], ...], str]] = {
    "value": (_TEXT_OR_BYTES, "string or binary"),
    "key": (_TEXT_OR_BYTES, "string or binary"),
    "topic": ((StringType,), "string"),
    "partition": (_WHOLE_NUMBER, "int"),
    "headers": ((ArrayType,), HEADERS),
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
        is_right = isinstance(field.dataType, kinds)
        if not is_right or (isinstance(field.dataType, ArrayType) and not _are_headers(field.dataType)):
            raise InvalidRequest(f"{field.name} is {field.dataType.simpleString()}", hint=f"{field.name} is {shown}")


def _are_headers(kind: ArrayType) -> bool:
    pair = kind.elementType
    if isinstance(pair, NullType):
        # `array()`: it has no elements.
        return True
    found = {field.name: type(field.dataType) for field in pair} if isinstance(pair, StructType) else {}
    return found == {"key": StringType, "value": BinaryType}


def check_target(options: WriteOptions, *, patience_s: float = 0.0) -> None:
    """The topic that the option names exists: found out once by the driver, not by each task."""
    name = options.topic
    if name is None:
        return

    async def look() -> None:
        async with Admin(options.bootstrap) as admin:
            try:
                await admin.topic(name)
            except UnknownTopic as error:
                raise UnknownTopic(f"there is no topic {name} at {options.bootstrap}", hint=error.hint) from None

    ask(look, patience_s=patience_s)


def _columns() -> str:
    return ", ".join(f"{name} {shown}" for name, (_, shown) in WRITTEN.items())


@dataclass
class Prepared(WriterCommitMessage):
    """What a task tells the driver: its part, if it had rows for one."""

    key: str
    token: int | None
    records: int
    was_decided: bool = False
    """By a driver that was killed before Spark knew of it: this batch is written."""


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
    first = next(batches, None)
    if first is None:
        return Prepared(key, None, 0)
    async with Admin(options.bootstrap) as admin, AsyncExitStack() as stack:
        part = admin.part(key, timeout_ms=options.part_timeout_ms)
        try:
            await part.begin()
        except AlreadyDecided:
            return Prepared(key, None, 0, was_decided=True)
        stack.push_async_exit(part)
        count = await Sending(admin, part, options.topic).send(chain((first,), batches))
        return Prepared(key, await part.prepare(), count)


def _decide(options: WriteOptions, key: str, messages: list[WriterCommitMessage | None]) -> None:
    told = [one for one in messages if isinstance(one, Prepared) and one.key == key]
    if any(one.was_decided for one in told):
        _give_up(options, [*told])
        return
    tokens = [one.token for one in told if one.token is not None]
    if not tokens:
        return

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
