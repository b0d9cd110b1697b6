"""Avro types, with full names; a mention of a named type is distinct from its definition."""

from typing import Any

import msgspec

__all__ = [
    "NO_DEFAULT",
    "PRIMITIVES",
    "Array",
    "AvroSchema",
    "AvroType",
    "Definition",
    "Enum",
    "Field",
    "Fixed",
    "Map",
    "Named",
    "Primitive",
    "Record",
    "Union",
    "simple_name",
]

PRIMITIVES = frozenset(("null", "boolean", "int", "long", "float", "double", "bytes", "string"))

NO_DEFAULT = msgspec.UNSET
"""Distinct from None, which is the default null."""

Props = dict[str, Any]
"""Attributes without a meaning for the type, such as logicalType; they are kept."""


class Primitive(msgspec.Struct, frozen=True):
    kind: str
    props: Props = {}


class Array(msgspec.Struct, frozen=True):
    items: "AvroType"
    props: Props = {}
    kind: str = "array"


class Map(msgspec.Struct, frozen=True):
    values: "AvroType"
    props: Props = {}
    kind: str = "map"


class Union(msgspec.Struct, frozen=True):
    branches: "tuple[AvroType, ...]"
    kind: str = "union"


class Named(msgspec.Struct, frozen=True):
    """A mention of a record, an enum or a fixed: at its definition, and wherever else its name is used."""

    name: str
    kind: str = "named"


class Field(msgspec.Struct, frozen=True):
    name: str
    type: "AvroType"
    default: Any = NO_DEFAULT
    aliases: tuple[str, ...] = ()
    order: str = "ascending"
    doc: str | None = None
    props: Props = {}


class Record(msgspec.Struct, frozen=True):
    name: str
    fields: tuple[Field, ...]
    aliases: frozenset[str] = frozenset()
    doc: str | None = None
    props: Props = {}
    kind: str = "record"


class Enum(msgspec.Struct, frozen=True):
    name: str
    symbols: tuple[str, ...]
    default: str | None = None
    aliases: frozenset[str] = frozenset()
    doc: str | None = None
    props: Props = {}
    kind: str = "enum"


class Fixed(msgspec.Struct, frozen=True):
    name: str
    size: int
    aliases: frozenset[str] = frozenset()
    doc: str | None = None
    props: Props = {}
    kind: str = "fixed"


AvroType = Primitive | Array | Map | Union | Named
Definition = Record | Enum | Fixed


class AvroSchema(msgspec.Struct, frozen=True):
    """A whole schema: `named` has all definitions, `foreign` the names of those from references."""

    root: AvroType
    named: dict[str, Definition]
    foreign: frozenset[str] = frozenset()

    def resolve(self, kind: AvroType) -> Primitive | Array | Map | Union | Definition:
        return self.named[kind.name] if isinstance(kind, Named) else kind


def simple_name(name: str) -> str:
    """The name without its namespace."""
    return name.rpartition(".")[2]
