"""The Spark type of an Avro schema, as Spark's own Avro source has it where it has one."""

from datetime import time
from typing import Any

from fastavro.validation import validate
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from goqueue.errors import InvalidSchema
from goqueue.spark.shapes.shape import Shape, array_of, map_of, optional, record_of

__all__ = ["avro_shape"]

PRIMITIVES: dict[str, DataType] = {
    "null": StringType(),
    "boolean": BooleanType(),
    "int": IntegerType(),
    "long": LongType(),
    "float": FloatType(),
    "double": DoubleType(),
    "bytes": BinaryType(),
    "string": StringType(),
}
WIDER: dict[frozenset[str], DataType] = {
    frozenset({"int", "long"}): LongType(),
    frozenset({"float", "double"}): DoubleType(),
}
MOST_DIGITS = 38
"""Spark has no larger decimals."""


def _microseconds(moment: time) -> int:
    return ((moment.hour * 60 + moment.minute) * 60 + moment.second) * 1_000_000 + moment.microsecond


LOGICAL: dict[tuple[str, str], Shape] = {
    ("int", "date"): Shape(DateType()),
    ("long", "timestamp-millis"): Shape(TimestampType()),
    ("long", "timestamp-micros"): Shape(TimestampType()),
    ("long", "local-timestamp-millis"): Shape(TimestampNTZType()),
    ("long", "local-timestamp-micros"): Shape(TimestampNTZType()),
    ("int", "time-millis"): Shape(LongType(), _microseconds),
    ("long", "time-micros"): Shape(LongType(), _microseconds),
    ("string", "uuid"): Shape(StringType(), str),
}


def avro_shape(schema: Any) -> Shape:
    """Of a schema that fastavro has parsed."""
    return _Walk().shape(schema)


class _Walk:
    """From the root down; a named type is defined before it is referred to."""

    def __init__(self) -> None:
        self._named: dict[str, Shape] = {}
        self._open: set[str] = set()

    def shape(self, schema: Any) -> Shape:
        if isinstance(schema, list):
            return self._union(schema)
        if isinstance(schema, str):
            return Shape(PRIMITIVES[schema]) if schema in PRIMITIVES else self._known(schema)
        kind = schema["type"]
        if not isinstance(kind, str):
            return self.shape(kind)
        match kind:
            case "array":
                return array_of(self.shape(schema["items"]))
            case "map":
                return map_of(self.shape(schema["values"]))
            case "record" | "error":
                return self._record(schema)
            case "enum":
                return self._keep(schema, Shape(StringType()))
            case "fixed":
                return self._keep(schema, _decimal(schema) or Shape(BinaryType()))
        logical = _decimal(schema) or LOGICAL.get((kind, schema.get("logicalType", "")))
        return logical or self.shape(kind)

    def _known(self, name: str) -> Shape:
        if name in self._open:
            raise InvalidSchema(
                f"the record {name} holds itself, and a column cannot",
                hint="read the values as they are, or register a schema without it for reading",
            )
        return self._named[name]

    def _keep(self, schema: Any, shape: Shape) -> Shape:
        self._named[schema["name"]] = shape
        return shape

    def _record(self, schema: Any) -> Shape:
        self._open.add(schema["name"])
        fields = {field["name"]: self.shape(field["type"]) for field in schema["fields"]}
        self._open.remove(schema["name"])
        return self._keep(schema, record_of(fields))

    def _union(self, branches: list[Any]) -> Shape:
        """With null, a value that may be null; two widths of numbers are the wider; else one column for each branch."""
        others = [branch for branch in branches if branch not in ("null", {"type": "null"})]
        if len(others) == 1:
            return self.shape(others[0])
        if not others:
            return Shape(StringType())
        wider = WIDER.get(frozenset(branch if isinstance(branch, str) else "" for branch in others))
        if wider is not None:
            return Shape(wider)
        members = [(branch, self.shape(branch)) for branch in others]
        kind = StructType([StructField(f"member{at}", shape.type) for at, (_, shape) in enumerate(members)])
        converts = [(f"member{at}", branch, optional(shape.convert)) for at, (branch, shape) in enumerate(members)]

        def convert(value: Any) -> dict[str, Any]:
            for name, branch, of_branch in converts:
                if validate(value, branch, raise_errors=False, strict=True):
                    return {name: value if of_branch is None else of_branch(value)}
            return {}

        return Shape(kind, convert)


def _decimal(schema: Any) -> Shape | None:
    if schema.get("logicalType") != "decimal":
        return None
    precision = schema["precision"]
    if precision > MOST_DIGITS:
        return Shape(StringType(), str)
    return Shape(DecimalType(precision, schema.get("scale", 0)))
