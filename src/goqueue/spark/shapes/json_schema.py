"""The Spark type of a JSON schema: what the schema leaves open comes as JSON text."""

import json
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any

import msgspec
from pyspark.sql.types import BooleanType, DateType, DoubleType, LongType, StringType, TimestampType

from goqueue.client.schemas.references import texts_referred_to
from goqueue.client.schemas.sync import Registry, Schema
from goqueue.errors import InvalidSchema, SchemaMismatch
from goqueue.spark.shapes.shape import Shape, array_of, map_of, record_of

__all__ = ["json_shape"]

LARGEST = 1 << 63
DEEPEST = 50


def json_shape(registry: Registry, schema: Schema) -> Shape:
    try:
        texts = {name: json.loads(text) for name, text in texts_referred_to(registry, schema).items()}
        root = json.loads(schema.text)
    except ValueError as error:
        raise InvalidSchema(f"not a JSON schema: {error}") from None
    return _Walk(texts).shape(root, root, ())


class _Walk:
    def __init__(self, documents: Mapping[str, Any]) -> None:
        self._documents = documents

    def shape(self, schema: Any, root: Any, followed: tuple[str, ...]) -> Shape:
        if not isinstance(schema, dict) or len(followed) > DEEPEST:
            return TEXT
        if "$ref" in schema:
            return self._referred(schema["$ref"], root, followed)
        for word in ("oneOf", "anyOf", "allOf"):
            if word in schema:
                return self._combined(word, schema, root, followed)
        kinds = _kinds(schema)
        if kinds == {"object"}:
            return self._object(schema, root, followed)
        if kinds == {"array"}:
            items = schema.get("items")
            return array_of(self.shape(items, root, followed)) if isinstance(items, dict) else array_of(TEXT)
        if kinds == {"string"}:
            return FORMATS.get(schema.get("format", ""), Shape(StringType()))
        if kinds in ({"number"}, {"integer", "number"}):
            return Shape(DoubleType())
        return PLAIN.get(frozenset(kinds), TEXT)

    def _object(self, schema: dict[str, Any], root: Any, followed: tuple[str, ...]) -> Shape:
        properties = schema.get("properties")
        if isinstance(properties, dict) and properties:
            shape = record_of({name: self.shape(one, root, followed) for name, one in properties.items()})
            return _with_defaults(shape, properties)
        rest = schema.get("additionalProperties")
        return map_of(self.shape(rest, root, followed)) if isinstance(rest, dict) and rest else TEXT

    def _referred(self, reference: str, root: Any, followed: tuple[str, ...]) -> Shape:
        if reference in followed:
            # It holds itself, and a column cannot.
            return TEXT
        place, _, pointer = reference.partition("#")
        document = root if not place else self._documents.get(place)
        found = document
        for name in pointer.strip("/").split("/") if pointer.strip("/") else ():
            name = name.replace("~1", "/").replace("~0", "~")
            found = found.get(name) if isinstance(found, dict) else None
        return TEXT if found is None else self.shape(found, document, (*followed, reference))

    def _combined(self, word: str, schema: dict[str, Any], root: Any, followed: tuple[str, ...]) -> Shape:
        """One that may be null, or several that are all true of an object; anything else is left open."""
        rest = {name: value for name, value in schema.items() if name != word}
        branches = [one for one in schema[word] if one != {"type": "null"}]
        if word != "allOf":
            return self.shape(rest | branches[0], root, followed) if len(branches) == 1 else TEXT
        merged: dict[str, Any] = dict(rest)
        for branch in branches:
            if not isinstance(branch, dict) or "$ref" in branch:
                return self.shape(branch, root, followed) if len(branches) == 1 and "properties" not in rest else TEXT
            merged = {**merged, **branch, "properties": merged.get("properties", {}) | branch.get("properties", {})}
        return self.shape(merged if merged["properties"] else rest | branches[0], root, followed)


def _with_defaults(shape: Shape, properties: Mapping[str, Any]) -> Shape:
    """Values written before there was a property have what its schema says instead."""
    defaults = {name: one["default"] for name, one in properties.items() if isinstance(one, dict) and "default" in one}
    if not defaults:
        return shape
    convert = shape.convert or (lambda record: record)
    return Shape(shape.type, lambda record: convert({**defaults, **record}))


def _kinds(schema: dict[str, Any]) -> set[str]:
    """Types that a value may have besides null; where none is said, they are seen in what is said."""
    said = schema.get("type")
    if said is not None:
        return set([said] if isinstance(said, str) else said) - {"null"}
    if "properties" in schema:
        return {"object"}
    values = [schema["const"]] if "const" in schema else schema.get("enum", ())
    if values and all(isinstance(value, str) for value in values):
        return {"string"}
    return set()


def _text(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _whole(value: Any) -> int:
    """JSON schema takes 1.0 for a whole number too."""
    number = int(value)
    if not -LARGEST <= number < LARGEST:
        raise SchemaMismatch(f"{number} is larger than a long of Spark")
    return number


def _date(value: str) -> date:
    try:
        return date.fromisoformat(value)
    except ValueError as error:
        raise SchemaMismatch(f"{value[:40]!r} is no date: {error}") from None


def _moment(value: str) -> datetime:
    try:
        moment = datetime.fromisoformat(value)
    except ValueError as error:
        raise SchemaMismatch(f"{value[:40]!r} is no time: {error}") from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


TEXT = Shape(StringType(), _text)
PLAIN = {frozenset({"integer"}): Shape(LongType(), _whole), frozenset({"boolean"}): Shape(BooleanType())}
FORMATS = {"date": Shape(DateType(), _date), "date-time": Shape(TimestampType(), _moment)}
