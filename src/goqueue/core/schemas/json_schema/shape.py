"""Shape of a JSON schema: one form for all drafts; keywords that drafts spell differently come out the same."""

from collections.abc import Mapping
from typing import Any

import msgspec

from goqueue.core.schemas.json_schema.documents import Documents

__all__ = ["ALL_TYPES", "ANYTHING", "Shape", "Sum", "json_key", "shape_of", "type_of"]

ALL_TYPES = frozenset({"array", "boolean", "fraction", "integer", "null", "object", "string"})
"""The types of JSON Schema, except that a number is an integer or a fraction."""

_BOUNDS = (
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "exclusiveMaximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "exclusiveMinimum",
    "multipleOf",
)
_IN_PLACE = ("$ref", "$dynamicRef", "$recursiveRef", "allOf", "anyOf", "oneOf", "not", "if", "dependentSchemas")


class Sum(msgspec.Struct, eq=False):
    """`anyOf` or `oneOf`."""

    keyword: str
    branches: tuple["Shape", ...]


class Shape(msgspec.Struct, eq=False):
    """Compared by identity, because shapes may be recursive. None and empty mean no condition."""

    truth: bool | None = None
    types: frozenset[str] = ALL_TYPES
    values: tuple[Any, ...] | None = None
    bounds: Mapping[str, Any] = {}
    pattern: str | None = None
    properties: Mapping[str, "Shape"] = {}
    patterns: Mapping[str, "Shape"] = {}
    additional: "Shape | None" = None
    names: "Shape | None" = None
    required: frozenset[str] = frozenset()
    has_default: bool = False
    needs: Mapping[str, frozenset[str]] = {}
    dependents: Mapping[str, "Shape"] = {}
    prefix: tuple["Shape", ...] = ()
    rest: "Shape | None" = None
    rest_keyword: str = "items"
    contains: "Shape | None" = None
    least_contained: int = 1
    most_contained: int | None = None
    unique: bool = False
    parts: tuple[tuple[str, "Shape"], ...] = ()
    """Shapes that apply in addition: `$ref` and the branches of `allOf`, by their JSON pointers."""
    sums: tuple[Sum, ...] = ()
    negated: "Shape | None" = None
    condition: "tuple[Shape, Shape, Shape] | None" = None
    unevaluated: tuple[str, ...] = ()
    """Keywords about parts not evaluated by other keywords, where there are any."""
    raw: Any = True


ANYTHING = Shape(truth=True)


def shape_of(root: Any, documents: Documents) -> Shape:
    return _Builder(documents).build(root)


class _Builder:
    """Uses a list instead of recursion: references may form chains of any length."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._shapes: dict[int, Shape] = {}
        self._waiting: list[tuple[dict[str, Any], Shape]] = []

    def build(self, root: Any) -> Shape:
        shape = self._shape(root)
        while self._waiting:
            self._fill(*self._waiting.pop())
        return shape

    def _shape(self, schema: Any) -> Shape:
        if isinstance(schema, bool) or not schema:
            return Shape(truth=schema is not False, raw=schema)
        if id(schema) not in self._shapes:
            self._shapes[id(schema)] = Shape(raw=schema)
            self._waiting.append((schema, self._shapes[id(schema)]))
        return self._shapes[id(schema)]

    def _fill(self, schema: dict[str, Any], shape: Shape) -> None:
        shape.has_default = "default" in schema
        draft = self._documents.drafts[id(schema)]
        if "$ref" in schema and not draft.refs_have_siblings:
            shape.parts = (("$ref", self._shape(self._documents.targets[id(schema)])),)
            return
        said = {keyword: value for keyword, value in schema.items() if draft.knows(keyword)}
        shape.types = _types(said.get("type"))
        shape.values = _values(said)
        shape.bounds = _bounds(said)
        shape.pattern = said.get("pattern")
        shape.unique = said.get("uniqueItems") is True
        self._fill_object(said, shape)
        self._fill_array(said, shape)
        self._fill_combined(schema, said, shape)

    def _fill_object(self, said: dict[str, Any], shape: Shape) -> None:
        shape.properties = self._named(said.get("properties"))
        shape.patterns = self._named(said.get("patternProperties"))
        shape.additional = self._optional(said.get("additionalProperties"))
        shape.names = self._optional(said.get("propertyNames"))
        required = said.get("required")
        shape.required = frozenset(required) if isinstance(required, list) else frozenset()
        old = said.get("dependencies", {})
        needs = {name: each for name, each in old.items() if isinstance(each, list)} | said.get("dependentRequired", {})
        shape.needs = {name: frozenset(each) for name, each in needs.items()}
        schemas = {name: each for name, each in old.items() if not isinstance(each, list)}
        shape.dependents = self._named(schemas | said.get("dependentSchemas", {}))
        self._unevaluated("unevaluatedProperties", said, shape)

    def _fill_array(self, said: dict[str, Any], shape: Shape) -> None:
        items = said.get("items")
        if "prefixItems" in said:
            shape.prefix = tuple(map(self._shape, said["prefixItems"]))
            shape.rest = self._optional(items)
        elif isinstance(items, list):
            shape.prefix = tuple(map(self._shape, items))
            shape.rest = self._optional(said.get("additionalItems"))
            shape.rest_keyword = "additionalItems"
        else:
            shape.rest = self._optional(items)
        shape.contains = self._optional(said.get("contains"))
        shape.least_contained = said.get("minContains", 1)
        shape.most_contained = said.get("maxContains")
        self._unevaluated("unevaluatedItems", said, shape)

    def _unevaluated(self, keyword: str, said: dict[str, Any], shape: Shape) -> None:
        if said.get(keyword, True) in (True, {}):
            return
        if any(other in said for other in _IN_PLACE) or (keyword == "unevaluatedItems" and "contains" in said):
            shape.unevaluated = (*shape.unevaluated, keyword)
        elif keyword == "unevaluatedProperties" and shape.additional is None:
            shape.additional = self._shape(said[keyword])
        elif keyword == "unevaluatedItems" and shape.rest is None:
            shape.rest = self._shape(said[keyword])

    def _fill_combined(self, schema: dict[str, Any], said: dict[str, Any], shape: Shape) -> None:
        parts = [(f"allOf/{index}", self._shape(each)) for index, each in enumerate(said.get("allOf", ()))]
        for keyword in ("$ref", "$dynamicRef", "$recursiveRef"):
            if keyword in said:
                parts.append((keyword, self._shape(self._documents.targets[id(schema)])))
        sums = []
        for keyword in ("anyOf", "oneOf"):
            branches = said.get(keyword, ())
            if len(branches) == 1:
                parts.append((f"{keyword}/0", self._shape(branches[0])))
            elif branches:
                sums.append(Sum(keyword, tuple(map(self._shape, branches))))
        shape.parts = tuple(parts)
        shape.sums = tuple(sums)
        shape.negated = self._optional(said.get("not"))
        if "if" in said:
            then, otherwise = self._shape(said.get("then", True)), self._shape(said.get("else", True))
            shape.condition = (self._shape(said["if"]), then, otherwise)

    def _optional(self, schema: Any) -> Shape | None:
        return self._shape(schema) if isinstance(schema, dict | bool) else None

    def _named(self, schemas: Any) -> dict[str, Shape]:
        return {name: self._shape(each) for name, each in (schemas or {}).items()}


def type_of(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return "integer"
    return {float: "fraction", str: "string", list: "array"}.get(type(value), "object")


def json_key(value: Any) -> Any:
    """Equal for equal JSON values: 1 and 1.0 are, 1 and true are not."""
    if isinstance(value, list):
        return ("array", *map(json_key, value))
    if isinstance(value, dict):
        return ("object", *sorted((name, json_key(each)) for name, each in value.items()))
    return (type_of(value), value)


def _types(said: Any) -> frozenset[str]:
    if said is None:
        return ALL_TYPES
    names = {said} if isinstance(said, str) else set(said)
    if "number" in names:
        names |= {"integer", "fraction"}
    return frozenset(names & ALL_TYPES)


def _values(said: Mapping[str, Any]) -> tuple[Any, ...] | None:
    allowed = said.get("enum")
    if "const" not in said:
        return None if allowed is None else tuple(allowed)
    only = said["const"]
    known = allowed is None or json_key(only) in map(json_key, allowed)
    return (only,) if known else ()


def _bounds(said: Mapping[str, Any]) -> dict[str, Any]:
    bounds = {keyword: said[keyword] for keyword in _BOUNDS if keyword in said}
    # In draft 4, exclusiveMinimum says whether minimum itself is excluded.
    for plain, exclusive in (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")):
        if bounds.get(exclusive) is True and plain in bounds:
            bounds[exclusive] = bounds.pop(plain)
        elif isinstance(bounds.get(exclusive), bool):
            del bounds[exclusive]
    return bounds
