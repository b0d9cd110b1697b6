"""Default values: whether a default is a value of its field's type."""

from typing import Any

from goqueue.core.schemas.avro.types import (
    NO_DEFAULT,
    Array,
    AvroSchema,
    AvroType,
    Enum,
    Fixed,
    Map,
    Named,
    Record,
    Union,
)

__all__ = ["Fitting"]

INT = range(-(2**31), 2**31)
LONG = range(-(2**63), 2**63)


class Fitting:
    """Checks the defaults of one schema.

    Results are cached by part of a default and record: with unions of records, uncached checks would not end.
    """

    def __init__(self, schema: AvroSchema) -> None:
        self._schema = schema
        self._known: dict[tuple[int, str], bool] = {}
        self._symbols: dict[str, frozenset[str]] = {}

    def fits(self, value: Any, kind: AvroType) -> bool:
        """The default of a union may be of any of its branches. Bytes are strings of characters up to U+00FF."""
        match kind:
            case Union(branches):
                return any(self.fits(value, branch) for branch in branches)
            case Array(items):
                return isinstance(value, list) and all(self.fits(item, items) for item in value)
            case Map(values):
                return isinstance(value, dict) and all(self.fits(item, values) for item in value.values())
            case Named(name):
                return self._fits_named(value, name)
            case _:
                return _fits_primitive(value, kind.kind)

    def _fits_named(self, value: Any, name: str) -> bool:
        match self._schema.named[name]:
            case Enum(_, symbols):
                if name not in self._symbols:
                    self._symbols[name] = frozenset(symbols)
                return isinstance(value, str) and value in self._symbols[name]
            case Fixed(_, size):
                return _is_bytes(value) and len(value) == size
            case Record() as record:
                place = id(value), name
                if place not in self._known:
                    self._known[place] = isinstance(value, dict) and self._fits_record(value, record)
                return self._known[place]

    def _fits_record(self, value: dict[str, Any], record: Record) -> bool:
        """A field that is left out has its own default, which was checked where it is defined."""
        return all(
            self.fits(value[field.name], field.type) if field.name in value else field.default is not NO_DEFAULT
            for field in record.fields
        )


def _fits_primitive(value: Any, kind: str) -> bool:
    match kind:
        case "null":
            return value is None
        case "boolean":
            return isinstance(value, bool)
        case "int" | "long":
            return type(value) is int and value in (INT if kind == "int" else LONG)
        case "float" | "double":
            return type(value) in (int, float)
        case "bytes":
            return _is_bytes(value)
        case _:
            return isinstance(value, str)


def _is_bytes(value: Any) -> bool:
    return isinstance(value, str) and all(character <= "\xff" for character in value)
