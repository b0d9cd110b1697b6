"""Avro schema parser: reports where and why a text is not a schema.

It is stricter than the library that reads and writes data, which accepts many invalid schemas and reports no position.
"""

from collections.abc import Mapping
from typing import Any

from goqueue.core.schemas.avro.defaults import Fitting
from goqueue.core.schemas.avro.names import check_not_primitive, check_simple, full_names, in_namespace, namespace_of
from goqueue.core.schemas.avro.names import refuse as refused
from goqueue.core.schemas.avro.types import (
    NO_DEFAULT,
    PRIMITIVES,
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
    Record,
    Union,
)
from goqueue.core.schemas.json_text import load_json
from goqueue.errors import InvalidSchema

__all__ = ["read_schema"]

ORDERS = ("ascending", "descending", "ignore")
MOST_BYTES_OF_FIXED = 2**31 - 1
OF_TYPE = {"type"}
OF_NAMED = OF_TYPE | {"name", "namespace", "aliases", "doc"}
LEFT_BY_FASTAVRO = {"__fastavro_parsed", "__named_schemas"}
"""Left in schemas printed after use with that library, which would treat such schemas as already checked."""
OF_FIELD = {"name", "type", "default", "aliases", "order", "doc"}


def read_schema(text: str, references: Mapping[str, str]) -> AvroSchema:
    reader = _Reader()
    for name, referenced in references.items():
        try:
            reader.read(load_json(referenced, "Avro schema"), "", "")
        except InvalidSchema as error:
            raise InvalidSchema(f"in the reference {name[:100]!r}: {error.message}", hint=error.hint) from None
    foreign = frozenset(reader.named)
    root = reader.read(load_json(text, "Avro schema"), "", "")
    schema = AvroSchema(root, reader.named, foreign)
    reader.check_defaults(schema)
    return schema


class _Reader:
    """Definitions found so far; a name can be mentioned from its own definition on."""

    def __init__(self) -> None:
        self.named: dict[str, Definition] = {}
        self._open: set[str] = set()
        self._defaults: list[tuple[Any, AvroType, str]] = []

    def read(self, declared: Any, namespace: str, path: str) -> AvroType:
        match declared:
            case str():
                return self._mention(declared, namespace, path)
            case list():
                return self._union(declared, namespace, path)
            case dict():
                return self._declared(declared, namespace, path)
            case _:
                raise refused(path, f"{declared!r:.80} is no type", hint="a type is a name, an object or a list")

    def check_defaults(self, schema: AvroSchema) -> None:
        """Called at the end: the default of a record may need a type that is defined later."""
        fitting = Fitting(schema)
        for default, kind, path in self._defaults:
            if not fitting.fits(default, kind):
                raise refused(f"{path}/default", f"the default {default!r:.80} does not fit the type of the field")

    def _mention(self, name: str, namespace: str, path: str) -> AvroType:
        if name in PRIMITIVES:
            return Primitive(name)
        candidates = (f"{namespace}.{name}", name) if namespace and "." not in name else (name,)
        for full in candidates:
            if full in self.named or full in self._open:
                return Named(full)
        raise refused(
            path,
            f"there is no type {name[:100]!r}",
            hint="define it before it is mentioned, or refer to the schema that does",
        )

    def _union(self, declared: list[Any], namespace: str, path: str) -> Union:
        branches = tuple(self.read(branch, namespace, f"{path}/{index}") for index, branch in enumerate(declared))
        seen: set[str] = set()
        for index, branch in enumerate(branches):
            if isinstance(branch, Union):
                raise refused(f"{path}/{index}", "a union must not contain a union directly", hint="merge the two")
            label = branch.name if isinstance(branch, Named) else branch.kind
            if label in seen:
                raise refused(f"{path}/{index}", f"the union has {label} twice")
            seen.add(label)
        return Union(branches)

    def _declared(self, declared: dict[str, Any], namespace: str, path: str) -> AvroType:
        match declared.get("type"):
            case "array":
                items = self.read(_needed(declared, "items", path), namespace, f"{path}/items")
                return Array(items, _props(declared, OF_TYPE | {"items"}))
            case "map":
                values = self.read(_needed(declared, "values", path), namespace, f"{path}/values")
                return Map(values, _props(declared, OF_TYPE | {"values"}))
            case "record" | "error" | "enum" | "fixed" as kind:
                return self._define(declared, kind, namespace, path)
            case str() as kind if kind in PRIMITIVES:
                return Primitive(kind, _props(declared, OF_TYPE))
            case None:
                raise refused(path, "the object has no type", hint='give it a "type"')
            case nested:
                return self.read(nested, namespace, f"{path}/type")

    def _define(self, declared: dict[str, Any], kind: str, namespace: str, path: str) -> Named:
        outer = namespace_of(declared, namespace, path)
        name = in_namespace(declared.get("name"), outer, f"{path}/name", f"this {kind}")
        check_not_primitive(name, f"{path}/name")
        if name in self.named or name in self._open:
            raise refused(path, f"{name} is defined twice", hint="mention it by its name the second time")
        self._open.add(name)
        inner = name.rpartition(".")[0]
        aliases = frozenset(full_names(declared.get("aliases") or [], inner, path))
        doc = _text(declared, "doc", path)
        definition: Definition
        match kind:
            case "enum":
                definition = _enum(declared, name, aliases, doc, path)
            case "fixed":
                definition = _fixed(declared, name, aliases, doc, path)
            case _:
                fields = self._fields(_needed(declared, "fields", path), inner, f"{path}/fields")
                definition = Record(name, fields, aliases, doc, _props(declared, OF_NAMED | {"fields"}))
        self._open.discard(name)
        self.named[name] = definition
        return Named(name)

    def _fields(self, declared: Any, namespace: str, path: str) -> tuple[Field, ...]:
        if not isinstance(declared, list):
            raise refused(path, "the fields are not a list")
        fields = tuple(self._field(field, namespace, f"{path}/{index}") for index, field in enumerate(declared))
        seen: set[str] = set()
        for index, field in enumerate(fields):
            if field.name in seen:
                raise refused(f"{path}/{index}", f"there are two fields {field.name}")
            seen.add(field.name)
        return fields

    def _field(self, declared: Any, namespace: str, path: str) -> Field:
        if not isinstance(declared, dict):
            raise refused(path, "the field is not an object")
        name = check_simple(declared.get("name"), f"{path}/name", "a field")
        kind = self.read(_needed(declared, "type", path), namespace, f"{path}/type")
        default = declared.get("default", NO_DEFAULT)
        if default is not NO_DEFAULT:
            self._defaults.append((default, kind, path))
        order = declared.get("order", "ascending")
        if order not in ORDERS:
            raise refused(f"{path}/order", f"{order!r:.80} is not a sort order", hint=f"one of {', '.join(ORDERS)}")
        aliases = full_names(declared.get("aliases") or [], "", path)
        return Field(name, kind, default, aliases, order, _text(declared, "doc", path), _props(declared, OF_FIELD))


def _enum(declared: dict[str, Any], name: str, aliases: frozenset[str], doc: str | None, path: str) -> Enum:
    symbols = _needed(declared, "symbols", path)
    if not isinstance(symbols, list):
        raise refused(f"{path}/symbols", "the symbols are not a list")
    for index, symbol in enumerate(symbols):
        check_simple(symbol, f"{path}/symbols/{index}", "a symbol")
    if len(set(symbols)) < len(symbols):
        raise refused(f"{path}/symbols", "a symbol is listed twice")
    default = _text(declared, "default", path)
    if default is not None and default not in symbols:
        raise refused(f"{path}/default", f"the default {default[:80]!r} is none of the symbols")
    return Enum(name, tuple(symbols), default, aliases, doc, _props(declared, OF_NAMED | {"symbols", "default"}))


def _fixed(declared: dict[str, Any], name: str, aliases: frozenset[str], doc: str | None, path: str) -> Fixed:
    size = _needed(declared, "size", path)
    if type(size) is not int or not 0 <= size <= MOST_BYTES_OF_FIXED:
        raise refused(f"{path}/size", f"{size!r:.80} is not a size", hint="a number of bytes")
    return Fixed(name, size, aliases, doc, _props(declared, OF_NAMED | {"size"}))


def _needed(declared: dict[str, Any], attribute: str, path: str) -> Any:
    if attribute not in declared:
        raise refused(path, f"there is no {attribute!r}", hint="the type cannot do without it")
    return declared[attribute]


def _text(declared: dict[str, Any], attribute: str, path: str) -> str | None:
    value = declared.get(attribute)
    if value is not None and not isinstance(value, str):
        raise refused(f"{path}/{attribute}", f"{attribute} is not a string")
    return value


def _props(declared: dict[str, Any], known: set[str]) -> dict[str, Any]:
    return {name: value for name, value in declared.items() if name not in known and name not in LEFT_BY_FASTAVRO}
