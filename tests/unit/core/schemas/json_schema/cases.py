"""What registries document about changes of a JSON schema, as pairs of schemas and the reasons each way round.

`backward`: why the new schema cannot read data of the old one. `forward`: why the old one cannot read data of the new.
"""

from typing import Any

import msgspec

__all__ = ["CASES", "Case"]


class Case(msgspec.Struct, frozen=True):
    name: str
    old: Any
    new: Any
    backward: tuple[str, ...] = ()
    forward: tuple[str, ...] = ()


def obj(properties=None, *, closed=False, **others):
    schema = {"type": "object", "properties": properties or {}, **others}
    return schema | {"additionalProperties": False} if closed else schema


STRING, INTEGER, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}
MODERN = "https://json-schema.org/draft/2020-12/schema"

ANNOTATIONS = [
    Case("a title changes", {"title": "a"}, {"title": "b"}),
    Case("a description is added", STRING, {**STRING, "description": "b"}),
    Case("a default changes", {**STRING, "default": "a"}, {**STRING, "default": "b"}),
    Case("an id changes", {"$id": "http://x.test/a", **STRING}, {"$id": "http://x.test/b", **STRING}),
    Case("a format is added", STRING, {**STRING, "format": "email"}),
    Case("an unknown keyword is added", STRING, {**STRING, "x-owner": "shop"}),
]

TYPES = [
    Case("anything becomes typed", {}, STRING, ("TYPE_NARROWED",)),
    Case("integer is widened to number", INTEGER, NUMBER, (), ("TYPE_NARROWED",)),
    Case("a type is exchanged", STRING, INTEGER, ("TYPE_CHANGED",), ("TYPE_CHANGED",)),
    Case("null is allowed", STRING, {"type": ["string", "null"]}, (), ("TYPE_NARROWED",)),
    Case("a list of one type is that type", STRING, {"type": ["string"]}),
    Case("true becomes false", True, False, ("TYPE_CHANGED",)),
    Case("true is the empty schema", True, {}),
    Case("false becomes a type", False, STRING, (), ("TYPE_CHANGED",)),
    Case("a list of types becomes anyOf", {"type": ["string", "integer"]}, {"anyOf": [STRING, INTEGER]}),
]

VALUES = [
    Case("an enum is extended", {"enum": ["a"]}, {"enum": ["a", "b"]}, (), ("ENUM_ARRAY_NARROWED",)),
    Case("an enum is reordered", {"enum": ["a", "b"]}, {"enum": ["b", "a"]}),
    Case(
        "an enum is exchanged",
        {"enum": ["a", "b"]},
        {"enum": ["a", "c"]},
        ("ENUM_ARRAY_CHANGED",),
        ("ENUM_ARRAY_CHANGED",),
    ),
    Case("an enum is added to a type", STRING, {**STRING, "enum": ["a"]}, ("ENUM_ARRAY_ADDED",)),
    Case("a const changes", {"const": 1}, {"const": 2}, ("ENUM_ARRAY_CHANGED",), ("ENUM_ARRAY_CHANGED",)),
    Case("a const becomes an enum that has it", {"const": 1}, {"enum": [1, 2]}, (), ("ENUM_ARRAY_NARROWED",)),
    Case("one and true are different", {"const": 1}, {"const": True}, *[("ENUM_ARRAY_CHANGED",)] * 2),
    Case("one and 1.0 are the same", {"const": 1}, {"const": 1.0}),
    Case("an enum that keeps to a type", {"enum": ["a", "b"]}, STRING, (), ("ENUM_ARRAY_ADDED",)),
    Case("both booleans are boolean", {"enum": [True, False]}, {"type": "boolean"}),
    Case("an enum that keeps to a bound", {"enum": ["a", "b"]}, {**STRING, "maxLength": 1}, (), ("ENUM_ARRAY_ADDED",)),
]


def _bound(keyword, tight, loose, stem, schema):
    """Four cases for each bound: moved, and added."""
    end = "INCREASED" if "min" in keyword.lower() else "DECREASED"
    return [
        Case(f"{keyword} is loosened", {**schema, keyword: tight}, {**schema, keyword: loose}, (), (f"{stem}_{end}",)),
        Case(f"{keyword} is tightened", {**schema, keyword: loose}, {**schema, keyword: tight}, (f"{stem}_{end}",)),
        Case(f"{keyword} is added", schema, {**schema, keyword: tight}, (f"{stem}_ADDED",)),
    ]


BOUNDS = [
    *_bound("minLength", 3, 2, "MIN_LENGTH", STRING),
    *_bound("maxLength", 3, 4, "MAX_LENGTH", STRING),
    *_bound("minimum", 3, 2, "MINIMUM", NUMBER),
    *_bound("maximum", 3, 4.5, "MAXIMUM", NUMBER),
    *_bound("exclusiveMinimum", 3, 2, "EXCLUSIVE_MINIMUM", INTEGER),
    *_bound("exclusiveMaximum", 3, 4, "EXCLUSIVE_MAXIMUM", INTEGER),
    *_bound("minItems", 3, 2, "MIN_ITEMS", {"type": "array"}),
    *_bound("maxItems", 3, 4, "MAX_ITEMS", {"type": "array"}),
    *_bound("minProperties", 3, 2, "MIN_PROPERTIES", {"type": "object"}),
    *_bound("maxProperties", 3, 4, "MAX_PROPERTIES", {"type": "object"}),
    Case("a minimum of no length", STRING, {**STRING, "minLength": 0}),
    Case("a bound for another type", INTEGER, {**INTEGER, "maxLength": 3}),
    Case(
        "above 3 is also at least 3",
        {**NUMBER, "exclusiveMinimum": 3},
        {**NUMBER, "minimum": 3},
        (),
        ("EXCLUSIVE_MINIMUM_ADDED",),
    ),
    Case(
        "multiples of 6 are multiples of 3",
        {**NUMBER, "multipleOf": 6},
        {**NUMBER, "multipleOf": 3},
        (),
        ("MULTIPLE_OF_EXPANDED",),
    ),
    Case(
        "multipleOf in decimals",
        {**NUMBER, "multipleOf": 0.3},
        {**NUMBER, "multipleOf": 0.1},
        (),
        ("MULTIPLE_OF_EXPANDED",),
    ),
    Case(
        "multipleOf changes", {**NUMBER, "multipleOf": 3}, {**NUMBER, "multipleOf": 2}, *[("MULTIPLE_OF_CHANGED",)] * 2
    ),
    Case("multipleOf is added", NUMBER, {**NUMBER, "multipleOf": 2}, ("MULTIPLE_OF_ADDED",)),
    Case("every integer is a multiple of 1", INTEGER, {**NUMBER, "multipleOf": 1}, (), ("TYPE_NARROWED",)),
    Case("a pattern is added", STRING, {**STRING, "pattern": "^a"}, ("PATTERN_ADDED",)),
    Case("a pattern changes", {**STRING, "pattern": "^b"}, {**STRING, "pattern": "^a"}, *[("PATTERN_CHANGED",)] * 2),
]

ADDED_OPEN = ("OPTIONAL_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL",)
OBJECTS = [
    Case("an optional property is added to an open object", obj(), obj({"a": STRING}), ADDED_OPEN),
    Case("a property of any value is added to an open object", obj(), obj({"a": {}})),
    Case(
        "an optional property is added to a closed object",
        obj(closed=True),
        obj({"a": STRING}, closed=True),
        (),
        ("PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL",),
    ),
    Case(
        "a required property is added to an open object",
        obj(),
        obj({"a": STRING}, required=["a"]),
        ("REQUIRED_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL",),
    ),
    Case(
        "a required property is added to a closed object",
        obj(closed=True),
        obj({"a": STRING}, closed=True, required=["a"]),
        ("REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL",),
        ("PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL",),
    ),
    Case(
        "a required property with a default is added to a closed object",
        obj(closed=True),
        obj({"a": {**STRING, "default": "x"}}, closed=True, required=["a"]),
        (),
        ("PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL",),
    ),
    Case(
        "a property becomes required",
        obj({"a": STRING}),
        obj({"a": STRING}, required=["a"]),
        ("REQUIRED_ATTRIBUTE_ADDED",),
    ),
    Case(
        "a property with a default becomes required",
        obj({"a": {**STRING, "default": "x"}}),
        obj({"a": {**STRING, "default": "x"}}, required=["a"]),
    ),
    Case(
        "a property that is false is added to a closed object",
        obj(closed=True),
        obj({"a": False}, closed=True),
    ),
    Case(
        "a property is covered by the schema of others",
        obj(additionalProperties=STRING),
        obj({"a": STRING}, additionalProperties=STRING),
    ),
    Case(
        "a property is not covered by the schema of others",
        obj(additionalProperties=STRING),
        obj({"a": INTEGER}, additionalProperties=STRING),
        ("PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", "TYPE_CHANGED"),
        ("PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", "TYPE_CHANGED"),
    ),
    Case(
        "a property is covered by a pattern",
        obj(patternProperties={"^a": STRING}, closed=True),
        obj({"ab": STRING}, patternProperties={"^a": STRING}, closed=True),
    ),
    Case(
        "a property is not covered by a pattern",
        obj(patternProperties={"^a": INTEGER}, closed=True),
        obj({"ab": {}}, patternProperties={"^b": STRING}, closed=True),
        ("PATTERN_PROPERTY_ADDED", "PATTERN_PROPERTY_REMOVED"),
        (
            "PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL",
            "TYPE_NARROWED",
            "PATTERN_PROPERTY_ADDED",
            "PATTERN_PROPERTY_REMOVED",
        ),
    ),
    Case("an object is closed", obj(), obj(closed=True), ("ADDITIONAL_PROPERTIES_REMOVED",)),
    Case("others get a schema", obj(), obj(additionalProperties=STRING), ("ADDITIONAL_PROPERTIES_NARROWED",)),
    Case(
        "others get a narrower schema",
        obj(additionalProperties=NUMBER),
        obj(additionalProperties=INTEGER),
        ("TYPE_NARROWED",),
    ),
    Case("the type of a property changes", obj({"a": STRING}), obj({"a": INTEGER}), *[("TYPE_CHANGED",)] * 2),
    Case(
        "a property within a property becomes required",
        obj({"a": obj({"b": STRING})}),
        obj({"a": obj({"b": STRING}, required=["b"])}),
        ("REQUIRED_ATTRIBUTE_ADDED",),
    ),
    Case("names get a schema", obj(), obj(propertyNames={"maxLength": 3}), ("PROPERTY_NAMES_ADDED",)),
    Case(
        "names get a looser schema",
        obj(propertyNames={"maxLength": 3}),
        obj(propertyNames={"maxLength": 4}),
        (),
        ("MAX_LENGTH_DECREASED",),
    ),
    Case("a dependency is added", obj(), obj(dependencies={"a": ["b"]}), ("DEPENDENCY_ARRAY_ADDED",)),
    Case(
        "a dependency is extended",
        obj(dependencies={"a": ["b"]}),
        obj(dependencies={"a": ["b", "c"]}),
        ("DEPENDENCY_ARRAY_EXTENDED",),
    ),
    Case(
        "a dependency is exchanged",
        obj(dependencies={"a": ["b"]}),
        obj(dependencies={"a": ["c"]}),
        *[("DEPENDENCY_ARRAY_CHANGED",)] * 2,
    ),
    Case("a dependency on what is always there", obj(required=["b"]), obj(required=["b"], dependencies={"a": ["b"]})),
    Case(
        "a schema as dependency is added",
        obj(),
        obj(dependencies={"a": {"maxProperties": 2}}),
        ("DEPENDENCY_SCHEMA_ADDED", "MAX_PROPERTIES_ADDED"),
    ),
    Case(
        "a dependency in the new spelling",
        {"$schema": MODERN, "type": "object"},
        {"$schema": MODERN, "type": "object", "dependentRequired": {"a": ["b"]}},
        ("DEPENDENCY_ARRAY_ADDED",),
    ),
]


def arr(items=None, **others):
    return {"type": "array", **({} if items is None else {"items": items}), **others}


ARRAYS = [
    Case("items are widened", arr(INTEGER), arr(NUMBER), (), ("TYPE_NARROWED",)),
    Case("items get a schema", arr(), arr(STRING), ("ADDITIONAL_ITEMS_NARROWED",)),
    Case("items become unique", arr(STRING), arr(STRING, uniqueItems=True), ("UNIQUE_ITEMS_ADDED",)),
    Case(
        "an item is added to an open tuple",
        arr([STRING]),
        arr([STRING, INTEGER]),
        ("ITEM_ADDED_TO_OPEN_CONTENT_MODEL",),
    ),
    Case("an item of any value is added to an open tuple", arr([STRING]), arr([STRING, {}])),
    Case(
        "an item is added to a closed tuple",
        arr([STRING], additionalItems=False),
        arr([STRING, INTEGER], additionalItems=False),
        (),
        ("ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL",),
    ),
    Case(
        "an item is covered by the rest of a tuple",
        arr([STRING], additionalItems=INTEGER),
        arr([STRING, INTEGER], additionalItems=INTEGER),
    ),
    Case(
        "an item is not covered by the rest of a tuple",
        arr([STRING], additionalItems=INTEGER),
        arr([STRING, STRING], additionalItems=INTEGER),
        ("ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", "TYPE_CHANGED"),
        ("ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", "TYPE_CHANGED"),
    ),
    Case("a tuple is closed", arr([STRING]), arr([STRING], additionalItems=False), ("ADDITIONAL_ITEMS_REMOVED",)),
    Case(
        "a tuple in the new spelling",
        {"$schema": MODERN, "type": "array", "prefixItems": [STRING]},
        {"$schema": MODERN, "type": "array", "prefixItems": [STRING, INTEGER]},
        ("ITEM_ADDED_TO_OPEN_CONTENT_MODEL",),
    ),
    Case(
        "a tuple is closed in the new spelling",
        {"$schema": MODERN, "type": "array", "prefixItems": [STRING]},
        {"$schema": MODERN, "type": "array", "prefixItems": [STRING], "items": False},
        ("ADDITIONAL_ITEMS_REMOVED",),
    ),
    Case(
        "a tuple is written for another draft",
        arr([STRING], additionalItems=False),
        {"$schema": MODERN, "type": "array", "prefixItems": [STRING], "items": False},
    ),
    Case("contains is added", arr(), arr(contains=STRING), ("CONTAINS_ADDED",)),
    Case("contains is widened", arr(contains=INTEGER), arr(contains=NUMBER), (), ("CONTAINS_CHANGED",)),
    Case(
        "more have to be contained",
        {"$schema": MODERN, "type": "array", "contains": STRING},
        {"$schema": MODERN, "type": "array", "contains": STRING, "minContains": 2},
        ("MIN_CONTAINS_INCREASED",),
    ),
    Case(
        "fewer may be contained",
        {"$schema": MODERN, "type": "array", "contains": STRING, "maxContains": 3},
        {"$schema": MODERN, "type": "array", "contains": STRING, "maxContains": 2},
        ("MAX_CONTAINS_DECREASED",),
    ),
]

COMBINED = [
    Case(
        "anyOf is extended",
        {"anyOf": [STRING, INTEGER]},
        {"anyOf": [STRING, INTEGER, {"type": "null"}]},
        (),
        ("SUM_TYPE_NARROWED",),
    ),
    Case(
        "oneOf is extended",
        {"oneOf": [STRING, INTEGER]},
        {"oneOf": [STRING, INTEGER, {"type": "null"}]},
        (),
        ("SUM_TYPE_NARROWED",),
    ),
    Case("anyOf is reordered", {"anyOf": [STRING, INTEGER]}, {"anyOf": [INTEGER, STRING]}),
    Case("oneOf becomes anyOf", {"oneOf": [STRING, INTEGER]}, {"anyOf": [STRING, INTEGER]}),
    Case("a type becomes one of several", STRING, {"oneOf": [STRING, INTEGER]}, (), ("TYPE_NARROWED",)),
    Case("anyOf of one is that one", STRING, {"anyOf": [STRING]}),
    Case("allOf of one is that one", STRING, {"allOf": [STRING]}),
    Case(
        "an alternative is widened",
        {"anyOf": [STRING, INTEGER]},
        {"anyOf": [STRING, NUMBER]},
        (),
        ("COMBINED_TYPE_SUBSCHEMAS_CHANGED",),
    ),
    Case(
        "allOf is extended",
        {"allOf": [STRING, {"maxLength": 9}]},
        {"allOf": [STRING, {"maxLength": 9}, {"minLength": 1}]},
        ("MIN_LENGTH_ADDED",),
    ),
    Case("allOf is written in one", {"allOf": [STRING, {"maxLength": 9}]}, {**STRING, "maxLength": 9}),
    Case("not refuses less", {"not": NUMBER}, {"not": INTEGER}, (), ("NOT_TYPE_EXTENDED",)),
    Case("not is added", {}, {"not": INTEGER}, ("NOT_TYPE_ADDED",)),
    Case("not refuses what never was", STRING, {**STRING, "not": INTEGER}),
    Case(
        "a condition is added",
        obj({"a": STRING}),
        obj({"a": STRING}, **{"if": {"required": ["a"]}, "then": {"required": ["b"]}}),
        ("CONDITION_ADDED", "REQUIRED_ATTRIBUTE_ADDED"),
    ),
    Case(
        "what follows from a condition is loosened",
        obj(**{"if": {"required": ["a"]}, "then": {"required": ["b", "c"]}}),
        obj(**{"if": {"required": ["a"]}, "then": {"required": ["b"]}}),
        (),
        ("REQUIRED_ATTRIBUTE_ADDED",),
    ),
    Case(
        "properties no other part looks at are refused",
        {"$schema": MODERN, "allOf": [{"properties": {"a": STRING}}]},
        {"$schema": MODERN, "allOf": [{"properties": {"a": STRING}}], "unevaluatedProperties": False},
        ("UNEVALUATED_PROPERTIES_NARROWED",),
    ),
    Case(
        "a property is added where others are refused",
        {"$schema": MODERN, "allOf": [{"properties": {"a": STRING}}], "unevaluatedProperties": False},
        {"$schema": MODERN, "allOf": [{"properties": {"a": STRING, "b": {}}}], "unevaluatedProperties": False},
        (),
        ("UNEVALUATED_PROPERTIES_NARROWED",),
    ),
]


def tree(value, **others):
    node = obj({"value": value, "children": arr({"$ref": "#/definitions/node"})}, closed=True, **others)
    return {"$ref": "#/definitions/node", "definitions": {"node": node}}


REFERENCES = [
    Case(
        "a schema is moved to definitions",
        obj({"a": STRING}),
        {**obj({"a": {"$ref": "#/definitions/s"}}), "definitions": {"s": STRING}},
    ),
    Case(
        "a definition changes",
        {"$ref": "#/definitions/s", "definitions": {"s": INTEGER}},
        {"$ref": "#/definitions/s", "definitions": {"s": NUMBER}},
        (),
        ("TYPE_NARROWED",),
    ),
    Case(
        "a definition that nobody uses changes",
        {**STRING, "definitions": {"s": INTEGER}},
        {**STRING, "definitions": {"s": STRING}},
    ),
    Case("a tree of integers becomes one of numbers", tree(INTEGER), tree(NUMBER), (), ("TYPE_NARROWED",)),
    Case(
        "the value of a tree becomes required",
        tree(INTEGER),
        tree(INTEGER, required=["value"]),
        ("REQUIRED_ATTRIBUTE_ADDED",),
    ),
    Case(
        "a reference by anchor",
        {"$schema": MODERN, "$ref": "#s", "$defs": {"x": {"$anchor": "s", **INTEGER}}},
        {"$schema": MODERN, **INTEGER},
    ),
    Case(
        "words beside a reference count in new drafts",
        {"$schema": MODERN, "$ref": "#/$defs/s", "$defs": {"s": STRING}},
        {"$schema": MODERN, "$ref": "#/$defs/s", "maxLength": 3, "$defs": {"s": STRING}},
        ("MAX_LENGTH_ADDED",),
    ),
    Case(
        "words beside a reference do not count in draft 7",
        {"$ref": "#/definitions/s", "definitions": {"s": STRING}},
        {"$ref": "#/definitions/s", "maxLength": 3, "definitions": {"s": STRING}},
    ),
]

CASES = [*ANNOTATIONS, *TYPES, *VALUES, *BOUNDS, *OBJECTS, *ARRAYS, *COMBINED, *REFERENCES]
