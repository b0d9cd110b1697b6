"""A column's type together with what turns a decoded value into one that Arrow takes for it."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pyspark.sql.types import ArrayType, DataType, MapType, StringType, StructField, StructType

__all__ = ["Convert", "Shape", "array_of", "map_of", "optional", "record_of"]

Convert = Callable[[Any], Any]


class Shape(NamedTuple):
    type: DataType
    convert: Convert | None = None
    """None: values are fine as they are, which for most is so."""


def optional(convert: Convert | None) -> Convert | None:
    if convert is None:
        return None
    return lambda value: None if value is None else convert(value)


def array_of(items: Shape) -> Shape:
    convert = optional(items.convert)
    if convert is None:
        return Shape(ArrayType(items.type))
    return Shape(ArrayType(items.type), lambda values: [convert(value) for value in values])


def map_of(values: Shape) -> Shape:
    convert = optional(values.convert)
    kind = MapType(StringType(), values.type)
    if convert is None:
        return Shape(kind, lambda entries: list(entries.items()))
    return Shape(kind, lambda entries: [(key, convert(value)) for key, value in entries.items()])


def record_of(fields: Mapping[str, Shape]) -> Shape:
    """Of dictionaries. Every field may be null: rows that cannot be decoded, and older ones, may lack it."""
    kind = StructType([StructField(name, shape.type) for name, shape in fields.items()])
    converts = [(name, convert) for name, shape in fields.items() if (convert := optional(shape.convert)) is not None]
    if not converts:
        return Shape(kind)

    def convert_all(record: Mapping[str, Any]) -> dict[str, Any]:
        return {**record, **{name: convert(record.get(name)) for name, convert in converts}}

    return Shape(kind, convert_all)
