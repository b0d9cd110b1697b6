"""Avro schema writer: the canonical text, and the form for the library that reads and writes data.

The canonical text differs from the parsing canonical form of the Avro specification in that it keeps information for
readers and people: defaults, aliases, documentation, logical types. Names are in full, attributes in a fixed order, and
attributes without effect are left out. A type is defined where it is first mentioned.
"""

import json
from typing import Any

from goqueue.core.schemas.avro.types import (
    NO_DEFAULT,
    Array,
    AvroSchema,
    AvroType,
    Definition,
    Enum,
    Field,
    Fixed,
    Map,
    Named,
    Primitive,
    Union,
)

__all__ = ["canonical_text", "whole"]

Plain = dict[str, Any] | list[Any] | str
LOGICAL_FIRST = ("logicalType", "precision", "scale")
EMPTY_PROPS = {"scale": 0}
"""Without a scale, a decimal has the scale 0."""


def canonical_text(schema: AvroSchema) -> str:
    """Types from references are mentioned by name, and stay defined there."""
    plain = _Writer(schema, set(schema.foreign)).write(schema.root)
    return json.dumps(plain, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def whole(schema: AvroSchema) -> Plain:
    """The schema including the types from references."""
    return _Writer(schema, set()).write(schema.root)


class _Writer:
    def __init__(self, schema: AvroSchema, written: set[str]) -> None:
        self._schema = schema
        self._written = written

    def write(self, kind: AvroType) -> Plain:
        match kind:
            case Union(branches):
                return [self.write(branch) for branch in branches]
            case Array(items, props):
                return {"type": "array", "items": self.write(items)} | _ordered(props)
            case Map(values, props):
                return {"type": "map", "values": self.write(values)} | _ordered(props)
            case Named(name):
                if name in self._written:
                    return name
                self._written.add(name)
                return self._define(self._schema.named[name])
            case Primitive(name, props):
                return {"type": name} | _ordered(props) if props else name

    def _define(self, definition: Definition) -> Plain:
        plain: dict[str, Any] = {"name": definition.name, "type": definition.kind}
        match definition:
            case Enum(_, symbols):
                plain["symbols"] = list(symbols)
            case Fixed(_, size):
                plain["size"] = size
            case _:
                plain["fields"] = [self._field(field) for field in definition.fields]
        if definition.doc:
            plain["doc"] = definition.doc
        if definition.aliases:
            plain["aliases"] = sorted(definition.aliases)
        if isinstance(definition, Enum) and definition.default is not None:
            plain["default"] = definition.default
        return plain | _ordered(definition.props)

    def _field(self, field: Field) -> Plain:
        plain: dict[str, Any] = {"name": field.name, "type": self.write(field.type)}
        if field.order != "ascending":
            plain["order"] = field.order
        if field.doc:
            plain["doc"] = field.doc
        if field.aliases:
            plain["aliases"] = sorted(set(field.aliases))
        if field.default is not NO_DEFAULT:
            plain["default"] = self._default(field)
        return plain | _ordered(field.props)

    def _default(self, field: Field) -> Any:
        """A whole number becomes a float where the type is one."""
        is_float = isinstance(field.type, Primitive) and field.type.kind in ("float", "double")
        try:
            return float(field.default) if is_float else _sorted(field.default)
        except OverflowError:
            return field.default


def _ordered(props: dict[str, Any]) -> dict[str, Any]:
    """Attributes of a logical type, then the rest by name."""
    first = {name: props[name] for name in LOGICAL_FIRST if name in props and not _says_nothing(name, props)}
    return first | {name: _sorted(props[name]) for name in sorted(props) if name not in LOGICAL_FIRST}


def _says_nothing(name: str, props: dict[str, Any]) -> bool:
    return props.get("logicalType") == "decimal" and name in EMPTY_PROPS and props[name] == EMPTY_PROPS[name]


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value
