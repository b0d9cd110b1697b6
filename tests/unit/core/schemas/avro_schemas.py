"""Generated Avro schemas, ways to change them, and data that fits them."""

import copy
import itertools
from typing import Any

from hypothesis import strategies as st

NUMBERS = ["int", "long", "float", "double"]
PRIMITIVES = ["null", "boolean", *NUMBERS, "bytes", "string"]
SYMBOLS = ["RED", "GREEN", "BLUE", "BLACK"]
FIELDS = ["a", "b", "c", "d"]
SIMPLE_DEFAULTS = {
    "null": None,
    "boolean": True,
    "int": 3,
    "long": 4,
    "float": 0.5,
    "double": 1.5,
    "bytes": "\u00ff",
    "string": "x",
}


class Maker:
    """Draws one schema; named types get names of a few, so that two schemas have some in common."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.numbers = itertools.count()
        self.open: list[str] = []

    def schema(self, depth: int = 3) -> Any:
        kinds = ["primitive", "enum", "fixed", "record"]
        if depth > 0:
            kinds += ["array", "map", "union", "record", "record"]
        return getattr(self, self.draw(st.sampled_from(kinds)))(depth)

    def primitive(self, depth: int) -> Any:
        return self.draw(st.sampled_from(PRIMITIVES))

    def enum(self, depth: int) -> Any:
        symbols = self.draw(st.lists(st.sampled_from(SYMBOLS), min_size=1, unique=True))
        made = {"type": "enum", "name": self.name("E"), "symbols": symbols}
        if self.draw(st.booleans()):
            made["default"] = self.draw(st.sampled_from(symbols))
        return made

    def fixed(self, depth: int) -> Any:
        return {"type": "fixed", "name": self.name("F"), "size": self.draw(st.sampled_from([2, 4]))}

    def array(self, depth: int) -> Any:
        return {"type": "array", "items": self.schema(depth - 1)}

    def map(self, depth: int) -> Any:
        return {"type": "map", "values": self.schema(depth - 1)}

    def union(self, depth: int) -> Any:
        branches, labels = [], set()
        for _ in range(self.draw(st.integers(1, 4))):
            branch = self.schema(depth - 1)
            if not isinstance(branch, list) and label(branch) not in labels:
                labels.add(label(branch))
                branches.append(branch)
        return branches or ["null"]

    def record(self, depth: int) -> Any:
        name = self.name("R")
        self.open.append(name)
        names = self.draw(st.lists(st.sampled_from(FIELDS), unique=True, max_size=3))
        fields = [self.field(field, depth) for field in names]
        if self.draw(st.integers(0, 4)) == 0:
            again = self.draw(st.sampled_from(self.open))
            fields.append({"name": "next", "type": ["null", again], "default": None})
        self.open.pop()
        return {"type": "record", "name": name, "fields": fields}

    def field(self, name: str, depth: int) -> Any:
        made = {"name": name, "type": self.schema(depth - 1) if depth > 0 else self.primitive(depth)}
        if isinstance(made["type"], str) and made["type"] in SIMPLE_DEFAULTS and self.draw(st.booleans()):
            made["default"] = SIMPLE_DEFAULTS[made["type"]]
        return made

    def name(self, letter: str) -> str:
        return f"{letter}{next(self.numbers)}"


def label(branch: Any) -> str:
    if isinstance(branch, str):
        return branch
    return branch.get("name", branch["type"])


def nodes(schema: Any) -> list[Any]:
    """All objects and unions of a schema, from the outside in; without those that must fit a default."""
    found = []
    match schema:
        case list():
            found.append(schema)
            for branch in schema:
                found += nodes(branch)
        case dict():
            found.append(schema)
            for field in schema.get("fields", []):
                if field["name"] != "next":
                    found += nodes(field["type"])
            found += nodes(schema.get("items")) + nodes(schema.get("values"))
    return found


class Changer:
    """Changes a schema at a few places, in ways that are mostly small steps of evolution."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw

    def changed(self, schema: Any) -> Any:
        made = {"root": copy.deepcopy(schema)}
        for _ in range(self.draw(st.integers(1, 3))):
            places = [made["root"]] if isinstance(made["root"], str) else nodes(made["root"])
            place = self.draw(st.sampled_from(places))
            match place:
                case str():
                    made["root"] = self.wrapped(place)
                case list():
                    self.union(place)
                case {"type": "record"}:
                    self.record(place)
                case {"type": "enum"}:
                    self.enum(place)
                case {"type": "fixed"}:
                    self.fixed(place)
                case {"type": "array"}:
                    place["items"] = self.wrapped(place["items"])
                case {"type": "map"}:
                    place["values"] = self.wrapped(place["values"])
        return made["root"]

    def wrapped(self, kind: Any) -> Any:
        if isinstance(kind, str) and kind in PRIMITIVES:
            return self.draw(st.sampled_from([*PRIMITIVES, ["null", kind] if kind != "null" else ["null"]]))
        return kind if isinstance(kind, list) else self.draw(st.sampled_from([kind, ["null", kind], [kind]]))

    def union(self, union: list[Any]) -> None:
        absent = [kind for kind in PRIMITIVES if kind not in union]
        match self.draw(st.sampled_from(["add", "drop", "turn"])):
            case "add" if absent:
                union.append(self.draw(st.sampled_from(absent)))
            case "drop" if len(union) > 1 and not has_definition(union[-1]):
                union.pop()
            case _:
                if not any(has_definition(branch) for branch in union):
                    union.reverse()

    def record(self, record: dict[str, Any]) -> None:
        fields = record["fields"]
        what = self.draw(st.sampled_from(["add", "drop", "rename", "turn", "name", "promote", "alias", "default"]))
        simple = [field for field in fields if isinstance(field["type"], str) and field["type"] in PRIMITIVES]
        match what:
            case "add":
                kind = self.draw(st.sampled_from(PRIMITIVES))
                added = {"name": f"n{len(fields)}", "type": kind}
                if self.draw(st.booleans()):
                    added["default"] = SIMPLE_DEFAULTS[kind]
                if all(field["name"] != added["name"] for field in fields):
                    fields.append(added)
            case "drop" if fields and not has_definition(fields[-1]["type"]):
                fields.pop()
            case "turn" if not any(has_definition(field["type"]) for field in fields):
                fields.reverse()
            case "rename" | "alias" if fields:
                field = self.draw(st.sampled_from(fields))
                if what == "alias":
                    field["aliases"] = [field["name"]]
                taken = {other["name"] for other in fields}
                field["name"] = next(name for name in (f"{field['name']}x", f"{field['name']}xx") if name not in taken)
            case "name":
                self.rename(record)
            case "promote" if simple:
                field = self.draw(st.sampled_from(simple))
                field["type"] = self.draw(st.sampled_from(PRIMITIVES))
                field.pop("default", None)
            case "default" if simple:
                field = self.draw(st.sampled_from(simple))
                field["default"] = SIMPLE_DEFAULTS[field["type"]]

    def enum(self, enum: dict[str, Any]) -> None:
        if self.draw(st.integers(0, 3)) == 0:
            self.rename(enum)
            return
        symbols = self.draw(st.lists(st.sampled_from(SYMBOLS), min_size=1, unique=True))
        enum["symbols"] = symbols
        enum.pop("default", None)
        if self.draw(st.booleans()):
            enum["default"] = self.draw(st.sampled_from(symbols))

    def fixed(self, fixed: dict[str, Any]) -> None:
        if self.draw(st.booleans()):
            self.rename(fixed)
        else:
            fixed["size"] = self.draw(st.sampled_from([2, 4]))

    def rename(self, named: dict[str, Any]) -> None:
        """Only what does not mention itself."""
        old = named["name"]
        if f"'{old}'" in repr({**named, "name": ""}):
            return
        named["name"] = f"{old}x"
        if self.draw(st.booleans()):
            named["aliases"] = [old]


def has_definition(kind: Any) -> bool:
    return any(isinstance(node, dict) and "name" in node for node in nodes(kind))


@st.composite
def schemas(draw: Any) -> Any:
    return Maker(draw).schema()


@st.composite
def pairs(draw: Any) -> tuple[Any, Any]:
    """A schema and one that it may have become, or now and then one that has nothing to do with it."""
    first = Maker(draw).schema()
    if draw(st.integers(0, 9)) == 0:
        return first, Maker(draw).schema()
    return first, Changer(draw).changed(first)


def values(schema: Any, named: dict[str, Any] | None = None, depth: int = 4) -> st.SearchStrategy[Any]:
    """Data of a schema, as fastavro takes it; branches of unions are named, so that there is no guessing."""
    if named is None:
        named = {node["name"]: node for node in nodes(schema) if isinstance(node, dict) and "name" in node}
    match schema:
        case list():
            shallow = schema if depth > 0 or "null" not in schema else ["null"]
            return st.one_of([_branch(kind, named, depth - 1) for kind in shallow])
        case {"type": "array", "items": items}:
            return st.lists(values(items, named, depth - 1), max_size=2 if depth > 0 else 0)
        case {"type": "map", "values": inner}:
            return st.dictionaries(st.sampled_from("kl"), values(inner, named, depth - 1), max_size=2 if depth else 0)
        case {"type": "enum", "symbols": symbols}:
            return st.sampled_from(symbols)
        case {"type": "fixed", "size": size}:
            return st.binary(min_size=size, max_size=size)
        case {"type": "record", "fields": fields}:
            return st.fixed_dictionaries({f["name"]: values(f["type"], named, depth - 1) for f in fields})
        case str() if schema in named:
            return values(named[schema], named, depth)
        case _:
            return PRIMITIVE_VALUES[schema]


def _branch(kind: Any, named: dict[str, Any], depth: int) -> st.SearchStrategy[Any]:
    if kind == "null":
        return st.none()
    return values(kind, named, depth).map(lambda value: (label(kind), value))


PRIMITIVE_VALUES = {
    "null": st.none(),
    "boolean": st.booleans(),
    "int": st.integers(-(2**31), 2**31 - 1),
    "long": st.integers(-(2**40), 2**40),
    "float": st.floats(width=32, allow_nan=False, allow_infinity=False),
    "double": st.floats(allow_nan=False, allow_infinity=False),
    "bytes": st.text(max_size=4).map(str.encode),
    "string": st.text(max_size=4),
}
"""Bytes are UTF-8, because they may be read as a string."""
