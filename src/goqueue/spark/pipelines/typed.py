"""Values as typed columns, where somebody says of which type: a schema of the registry, or one that was given."""

from collections.abc import Sequence

import msgspec
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructType

from goqueue.client.admin import Admin
from goqueue.client.schemas.sync import Registry
from goqueue.errors import InvalidRequest, UnknownSubject
from goqueue.spark.broker import ask
from goqueue.spark.decoding import PERMISSIVE, from_goqueue

__all__ = ["Typing", "find_typing", "typed"]

CORRUPT = "_corrupt"
RAW = "raw"


class Typing(msgspec.Struct, frozen=True):
    """How values are read: as JSON with the columns of `columns`, or by a subject of a registry, or not at all."""

    columns: str | None = None
    subject: str | None = None
    registry: str | None = None


def find_typing(server: str, topic: str, *, columns: str | None = None, registry: str | None = None) -> Typing:
    """What was given comes first, then the subject that the broker checks values with, then those usual for a topic."""
    if columns is not None:
        return Typing(columns=columns)
    if registry is None:
        return Typing()
    schemas = Registry(registry)
    for subject in _subjects(server, topic):
        try:
            schemas.version(subject)
        except UnknownSubject:
            continue
        return Typing(subject=subject, registry=registry)
    return Typing()


def _subjects(server: str, topic: str) -> Sequence[str]:
    async def look() -> str | None:
        async with Admin(server) as admin:
            return (await admin.topic(topic)).config.schema_subject

    chosen = ask(look)
    return (topic, f"{topic}-value") if chosen is None else (chosen,)


def typed(frame: DataFrame, typing: Typing) -> DataFrame:
    """With `value` of the type, and a column `raw` that keeps the bytes of those that cannot be read so."""
    if typing.columns is not None:
        return _as_json(frame, _columns(typing.columns))
    if typing.subject is None or typing.registry is None:
        return frame
    value = from_goqueue(F.col("value"), typing.subject, registry=typing.registry, mode=PERMISSIVE)
    unread = F.col("value").isNull() & F.col(RAW).isNotNull()
    read = frame.withColumn(RAW, F.col("value")).withColumn("value", value)
    return read.withColumn(RAW, F.when(unread, F.col(RAW)))


def _as_json(frame: DataFrame, columns: StructType) -> DataFrame:
    wanted = StructType(list(columns)).add(CORRUPT, StringType())
    read = F.from_json(F.col("value").cast("string"), wanted, {"columnNameOfCorruptRecord": CORRUPT})
    parsed = frame.withColumn(RAW, F.col("value")).withColumn("value", read)
    unread = F.col(f"value.{CORRUPT}").isNotNull()
    return parsed.withColumn(RAW, F.when(unread, F.col(RAW))).withColumn(
        "value", F.when(F.col(RAW).isNull(), F.col("value").dropFields(CORRUPT))
    )


def _columns(text: str) -> StructType:
    try:
        found = StructType.fromDDL(text)
    except PySparkException:
        found = None
    if not isinstance(found, StructType):
        raise InvalidRequest(
            f"{text[:80]!r} is no list of columns", hint="write it like id long, item struct<name:string>"
        )
    return found
