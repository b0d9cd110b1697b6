"""Typed columns out of values that follow a schema: `from_goqueue`, and `read_typed` for whole tables.

The type of the column is that of the reader's schema, the latest of a subject unless said otherwise. Values that were
written with older or newer versions come out in it, a batch of Arrow at a time.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.types import DataType, StructType

from goqueue.client.schemas.sync import DEFAULT_REGISTRY, Registry
from goqueue.errors import BrokerUnreachable, GoQueueError, InvalidRequest, SchemaMismatch
from goqueue.spark.failures import plainly
from goqueue.spark.values import Reading, ValueReader, reader_of

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["FAILFAST", "PERMISSIVE", "from_goqueue", "read_typed", "type_of"]

FAILFAST, PERMISSIVE = "failfast", "permissive"
POSITION = ("topic", "partition", "offset")
RECORD_PREFIX = "record_"
_NO_FIT = (pa.ArrowException, ValueError, TypeError, OverflowError)


def from_goqueue(
    column: "Column | str",
    subject: str | None = None,
    *,
    registry: str = DEFAULT_REGISTRY,
    version: int | None = None,
    schema_id: int | None = None,
    message: str | None = None,
    mode: str = FAILFAST,
    headers: Mapping[str, str] | None = None,
    position: "Column | None" = None,
) -> "Column":
    """A typed column of the values of a binary one.

    order = from_goqueue("value", "orders-value", registry="http://broker:8080/schemas")
    orders = rows.select("key", order.alias("order"))

    Values are framed as serializers do it (a zero byte and the id of the writer's schema) or, where the reader's schema
    is a JSON schema, plain JSON. They are read with the latest version of the subject, or the `version` or `schema_id`
    given. Of a Protobuf file the first message is read, or the one called `message`. A value that cannot be decoded
    fails the job; with `mode="permissive"` it is null. `position`, a struct of topic, partition and offset, is what
    the error names. `headers` go to the registry with each question.
    """
    reading = _reading(subject, registry, version, schema_id, message, headers)
    return _decoded(reading, column, mode, position)


def read_typed(
    frame: "DataFrame",
    subject: str | None = None,
    *,
    registry: str = DEFAULT_REGISTRY,
    version: int | None = None,
    schema_id: int | None = None,
    message: str | None = None,
    mode: str = FAILFAST,
    headers: Mapping[str, str] | None = None,
    column: str = "value",
) -> "DataFrame":
    """The table with a column for each field of its values instead of `value`; the rest as for `from_goqueue`.

    A column of the record that has the name of such a field is called `record_…` from then on. Values that are no
    records stay in one column.
    """
    reading = _reading(subject, registry, version, schema_id, message, headers)
    position = F.struct(*POSITION) if all(name in frame.columns for name in POSITION) else None
    kind = reader_of(reading).shape.type
    fields = {name.lower() for name in kind.names} if isinstance(kind, StructType) else set()
    kept = [
        F.col(name).alias(f"{RECORD_PREFIX}{name}" if name.lower() in fields else name)
        for name in frame.columns
        if name != column
    ]
    decoded = frame.select(*kept, _decoded(reading, column, mode, position).alias(column))
    if not isinstance(kind, StructType):
        return decoded
    # Names may hold dots.
    return decoded.select(*(F.col(f"`{name}`") for name in decoded.columns if name != column), f"{column}.*")


def type_of(
    subject: str,
    *,
    registry: str = DEFAULT_REGISTRY,
    version: int | None = None,
    message: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> DataType:
    """The type that a column of the subject's values has."""
    return reader_of(_reading(subject, registry, version, None, message, headers)).shape.type


def _reading(
    subject: str | None,
    registry: str,
    version: int | None,
    schema_id: int | None,
    message: str | None,
    headers: Mapping[str, str] | None,
) -> Reading:
    """The schema is looked up once, by the driver: all tasks read with the same."""
    given = tuple(sorted((headers or {}).items()))
    asked = Registry(registry, headers=headers)
    if (subject is None) == (schema_id is None):
        raise InvalidRequest("a column needs one schema to be read with", hint="give a subject, or schema_id")
    if subject is not None:
        found = asked.version(subject, version)
        return Reading(registry, given, found.id, found.schema, message)
    assert schema_id is not None
    return Reading(registry, given, schema_id, asked.schema(schema_id), message)


def _decoded(reading: Reading, column: "Column | str", mode: str, position: "Column | None") -> "Column":
    if mode.lower() not in (FAILFAST, PERMISSIVE):
        raise InvalidRequest(f"mode = {mode}", hint=f"it is {FAILFAST} or {PERMISSIVE}")
    permissive = mode.lower() == PERMISSIVE

    kind = reader_of(reading).shape.type

    @plainly
    def decode(values: pa.Array) -> pa.Array:
        return _decode_batch(reader_of(reading), permissive, values, None)

    @plainly
    def decode_at(values: pa.Array, at: pa.Array) -> pa.Array:
        return _decode_batch(reader_of(reading), permissive, values, at)

    # Its kind is in the hints, which the types of Spark's own function do not say.
    udf: Any = arrow_udf
    typed = udf(decode, kind)(column) if position is None else udf(decode_at, kind)(column, position)
    return cast("Column", typed)


def _decode_batch(reader: ValueReader, permissive: bool, values: pa.Array, at: pa.Array | None) -> pa.Array:
    found: list[Any] = []
    for index, value in enumerate(values.cast(pa.binary()).to_pylist()):
        try:
            found.append(reader.read(value))
        except BrokerUnreachable:
            raise
        except GoQueueError as error:
            if not permissive:
                raise _placed(error, at, index) from None
            found.append(None)
    try:
        return pa.array(found, reader.arrow)
    except _NO_FIT:
        return pa.concat_arrays([_alone(reader, permissive, values, at, index) for index in range(len(found))])


def _alone(reader: ValueReader, permissive: bool, values: pa.Array, at: pa.Array | None, index: int) -> pa.Array:
    """One value, when some of a batch cannot be what its column is: such as a decimal with too many digits."""
    data = values[index].cast(pa.binary()).as_py()
    try:
        return pa.array([reader.read(data)], reader.arrow)
    except GoQueueError:
        return pa.nulls(1, reader.arrow)
    except _NO_FIT as error:
        if permissive:
            return pa.nulls(1, reader.arrow)
        raise _placed(SchemaMismatch(f"{error} ({reader.sides(data)})"), at, index) from None


def _placed(error: GoQueueError, at: pa.Array | None, index: int) -> GoQueueError:
    place = None if at is None else at[index].as_py()
    if place is None:
        return error
    where = f"{place['topic']}/{place['partition']} at offset {place['offset']}"
    return type(error)(f"{where}: {error.message}", hint=error.hint)
