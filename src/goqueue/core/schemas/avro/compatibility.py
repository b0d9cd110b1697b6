"""Avro compatibility: whether a schema can read data written with another, by the rules of schema resolution.

The kinds of incompatibility are those of Avro for Java, which registries and their clients show. As there, type names
match without their namespace or by an alias of the reader; and logical types do not affect compatibility: a decimal of
another scale is read, with another value.
"""

from collections.abc import Callable, Iterable
from typing import Any, NoReturn

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
    Primitive,
    Record,
    Union,
    simple_name,
)
from goqueue.core.schemas.formats import Incompatibility
from goqueue.errors import InvalidSchema

__all__ = ["incompatibilities"]

PROMOTIONS = {
    "long": {"int"},
    "float": {"int", "long"},
    "double": {"int", "long", "float"},
    "bytes": {"string"},
    "string": {"bytes"},
}
"""By reader type: the writer types that it can read."""

MOST_REASONS = 50
MOST_COMPARISONS = 200_000
MOST_DEPTH = 150

Reasons = list[Incompatibility]


def incompatibilities(reader: AvroSchema, writer: AvroSchema) -> Reasons:
    return _Comparison(reader, writer).between(reader.root, writer.root, "")[:MOST_REASONS]


class _Comparison:
    """Compares two schemas from the root.

    Records may be recursive. A pair of records that is being compared counts as compatible where it occurs again; if it
    turns out to be incompatible, results found meanwhile may have relied on it, and are dropped.
    """

    def __init__(self, reader: AvroSchema, writer: AvroSchema) -> None:
        self._reader = reader
        self._writer = writer
        self._fitting: list[tuple[str, str]] = []
        self._known: dict[tuple[str, str], Reasons] = {}
        self._comparisons = 0
        self._depth = 0

    def between(self, reader: AvroType, writer: AvroType, path: str) -> Reasons:
        self._count()
        r, w = self._reader.resolve(reader), self._writer.resolve(writer)
        match r, w:
            case _, Union(branches):
                return self._writer_union(reader, branches, path)
            case Union(branches), _:
                return self._reader_union(branches, writer, path)
            case Record(), Record():
                return self._records(r, w, path)
            case Enum(), Enum():
                return [*_names(r, w, path), *_symbols(r, w, path)]
            case Fixed(), Fixed():
                return [*_names(r, w, path), *_sizes(r, w, path)]
            case Array(items), Array(written):
                return self._deeper(self.between, items, written, f"{path}/items")
            case Map(values), Map(written):
                return self._deeper(self.between, values, written, f"{path}/values")
            case _:
                return _primitives(r, w, path)

    def _writer_union(self, reader: AvroType, branches: tuple[AvroType, ...], path: str) -> Reasons:
        """All branches of the writer must be readable."""
        is_union = isinstance(reader, Union)
        reasons: Reasons = []
        for index, branch in enumerate(branches):
            found = self.between(reader, branch, path if is_union else f"{path}/{index}")
            if found and is_union:
                found = [Incompatibility(why.kind, f"{path}/{index}", why.message) for why in found]
            reasons += found
        return reasons[:MOST_REASONS]

    def _reader_union(self, branches: tuple[AvroType, ...], writer: AvroType, path: str) -> Reasons:
        """One branch that can read it is enough."""
        written = self._writer.resolve(writer)
        near = ""
        for index, branch in enumerate(branches):
            if not self._may_fit(branch, written):
                continue
            found = self._deeper(self.between, branch, writer, f"{path}/{index}")
            if not found:
                return []
            near = near or f"; the branch that comes nearest: {found[0].kind} at {found[0].path}, {found[0].message}"
        message = f"the reader's union has no branch for {_label(written)} of the writer{near}"
        return [Incompatibility("MISSING_UNION_BRANCH", path or "/", message[:500])]

    def _may_fit(self, branch: AvroType, written: Any) -> bool:
        self._count()
        r = self._reader.resolve(branch)
        if isinstance(r, Record | Enum | Fixed):
            return r.kind == written.kind and not _names(r, written, "")
        return r.kind == written.kind or written.kind in PROMOTIONS.get(r.kind, ())

    def _records(self, reader: Record, writer: Record, path: str) -> Reasons:
        pair = reader.name, writer.name
        if pair in self._known:
            return self._known[pair][:1]
        began = len(self._fitting)
        self._fitting.append(pair)
        self._known[pair] = []
        reasons = _names(reader, writer, path)
        reasons += self._deeper(self._fields, reader, writer, path)
        if reasons:
            for relied in self._fitting[began:]:
                del self._known[relied]
            del self._fitting[began:]
            self._known[pair] = reasons[:MOST_REASONS]
        return reasons[:MOST_REASONS]

    def _fields(self, reader: Record, writer: Record, path: str) -> Reasons:
        written = {field.name: field for field in writer.fields}
        reasons: Reasons = []
        for index, field in enumerate(reader.fields):
            place = f"{path}/fields/{index}"
            source = _source(field, written)
            if source is not None:
                reasons += self.between(field.type, source.type, f"{place}/type")
            elif field.default is NO_DEFAULT:
                message = f"the reader's field {field.name} has no default, and the writer has no such field"
                reasons.append(Incompatibility("READER_FIELD_MISSING_DEFAULT_VALUE", place, message))
        return reasons

    def _deeper(self, compare: Callable[[Any, Any, str], Reasons], reader: Any, writer: Any, path: str) -> Reasons:
        self._depth += 1
        if self._depth > MOST_DEPTH:
            _refuse(f"types are nested more than {MOST_DEPTH} deep", path)
        reasons = compare(reader, writer, path)
        self._depth -= 1
        return reasons

    def _count(self) -> None:
        self._comparisons += 1
        if self._comparisons > MOST_COMPARISONS:
            _refuse(f"it takes more than {MOST_COMPARISONS} comparisons", "")


def _primitives(reader: Any, writer: Any, path: str) -> Reasons:
    is_same = isinstance(reader, Primitive) and reader.kind == writer.kind
    if is_same or writer.kind in PROMOTIONS.get(reader.kind, ()):
        return []
    return [Incompatibility("TYPE_MISMATCH", path or "/", f"{_label(reader)} cannot read {_label(writer)}")]


def _names(reader: Definition, writer: Definition, path: str) -> Reasons:
    if simple_name(reader.name) == simple_name(writer.name) or writer.name in reader.aliases:
        return []
    message = f"the reader has {reader.name}, which is neither the writer's name nor has it as an alias: {writer.name}"
    return [Incompatibility("NAME_MISMATCH", f"{path}/name", message)]


def _sizes(reader: Fixed, writer: Fixed, path: str) -> Reasons:
    if reader.size == writer.size:
        return []
    message = f"the reader's {reader.name} has {reader.size} bytes, the writer's {writer.size}"
    return [Incompatibility("FIXED_SIZE_MISMATCH", f"{path}/size", message)]


def _symbols(reader: Enum, writer: Enum, path: str) -> Reasons:
    readable = set(reader.symbols)
    missing = [symbol for symbol in writer.symbols if symbol not in readable]
    if not missing or reader.default is not None:
        return []
    message = f"the reader's {reader.name} lacks symbols of the writer and has no default: {_some(missing)}"
    return [Incompatibility("MISSING_ENUM_SYMBOLS", f"{path}/symbols", message)]


def _source(field: Field, written: dict[str, Field]) -> Field | None:
    """The writer's field for this field of the reader: of the same name, else of an alias."""
    return next((written[name] for name in (field.name, *field.aliases) if name in written), None)


def _label(kind: Any) -> str:
    return f"{kind.kind} {kind.name}" if isinstance(kind, Record | Enum | Fixed) else str(kind.kind)


def _some(symbols: Iterable[str]) -> str:
    symbols = list(symbols)
    return ", ".join(symbols[:10]) + (f" and {len(symbols) - 10} more" if len(symbols) > 10 else "")


def _refuse(why: str, path: str) -> NoReturn:
    raise InvalidSchema(f"the Avro schemas cannot be compared, at {path or '/'}: {why}", hint="make the schema simpler")
