"""Quick validation: a JSON Schema as types that are checked while JSON is parsed, several times faster where possible.

Values that these types accept match the schema. Values they reject may still match, for example 1.0 for an integer, and
need full validation. So a keyword without an exact or stricter counterpart only means that there is no quick check.
"""

from collections.abc import Callable, Mapping
from types import GenericAlias
from typing import Annotated, Any, Literal, Union

import msgspec

__all__ = ["quick_check"]

MOST_TYPES = 1000
DEEPEST = 32
LARGEST_EXACT = 1 << 53
"""Up to this value a float is as exact as an integer."""
ANNOTATIONS = frozenset(
    (
        "$schema",
        "$id",
        "id",
        "$comment",
        "title",
        "description",
        "default",
        "examples",
        "format",
        "readOnly",
        "writeOnly",
    )
)
BOUNDS = {"minimum": "ge", "exclusiveMinimum": "gt", "maximum": "le", "exclusiveMaximum": "lt"}
KEYWORDS = {
    "null": frozenset[str](),
    "boolean": frozenset[str](),
    "integer": frozenset(BOUNDS),
    "number": frozenset(BOUNDS),
    "string": frozenset(("minLength", "maxLength")),
    "array": frozenset(("items", "minItems", "maxItems")),
    "object": frozenset(("properties", "required", "additionalProperties")),
}


class _Unsupported(Exception):
    """The schema has a rule that types cannot express."""


def quick_check(document: Any) -> Callable[[bytes], bool] | None:
    """A function that is true for bytes that certainly match; None when there is no quick check."""
    try:
        read = msgspec.json.Decoder(_Types().of(document, 0)).decode
    except (_Unsupported, TypeError, ValueError):
        return None

    def fits(value: bytes) -> bool:
        try:
            read(value)
            # Values that msgspec skips are not validated as UTF-8.
            return value.isascii() or bool(value.decode())
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError, ValueError):
            return False

    return fits


class _Types:
    """Makes the types of one document."""

    def __init__(self) -> None:
        self._count = 0

    def of(self, schema: Any, depth: int) -> Any:
        self._count += 1
        if self._count > MOST_TYPES or depth > DEEPEST:
            raise _Unsupported
        if schema is True:
            return Any
        if not isinstance(schema, dict):
            raise _Unsupported
        said = {name: value for name, value in schema.items() if name not in ANNOTATIONS}
        if not said:
            return Any
        if "enum" in said or "const" in said:
            return _one_of(said)
        kinds = said.pop("type", None)
        kinds = [kinds] if isinstance(kinds, str) else kinds
        if not kinds or not set(said) <= frozenset[str]().union(*(KEYWORDS[kind] for kind in kinds)):
            raise _Unsupported
        return Union[tuple(self._make(kind, said, depth) for kind in kinds)]  # noqa: UP007

    def _make(self, kind: str, said: Mapping[str, Any], depth: int) -> Any:
        match kind:
            case "null":
                return None
            case "boolean":
                return bool
            case "integer":
                return _bounded(int, {name: _whole(said[bound]) for bound, name in BOUNDS.items() if bound in said})
            case "number":
                return _bounded(float, {name: _exact(said[bound]) for bound, name in BOUNDS.items() if bound in said})
            case "string":
                return _bounded(str, _lengths(said, "minLength", "maxLength"))
            case "array":
                items = self.of(said.get("items", True), depth + 1)
                return _bounded(GenericAlias(list, (items,)), _lengths(said, "minItems", "maxItems"))
        return self._object(said, depth)

    def _object(self, said: Mapping[str, Any], depth: int) -> Any:
        properties, required = said.get("properties", {}), set(said.get("required", ()))
        others = said.get("additionalProperties", True)
        if others not in (True, False, {}):
            raise _Unsupported
        names = [*properties, *sorted(required - properties.keys())]
        if others is False and required - properties.keys():
            raise _Unsupported
        fields: list[Any] = []
        for number, name in enumerate(names):
            kind = self.of(properties.get(name, True), depth + 1)
            if name in required:
                fields.append((f"field{number}", kind))
            else:
                fields.append((f"field{number}", Union[kind, msgspec.UnsetType], msgspec.UNSET))  # noqa: UP007
        renamed = {f"field{number}": name for number, name in enumerate(names)}
        return msgspec.defstruct(
            "Object", fields, rename=renamed, kw_only=True, forbid_unknown_fields=others is False, gc=False
        )


def _one_of(said: Mapping[str, Any]) -> Any:
    """Listed values, with the type that all of them share, if any."""
    if set(said) - {"enum", "const", "type"} or len({"enum", "const"} & set(said)) != 1:
        raise _Unsupported
    values = said["enum"] if "enum" in said else [said["const"]]
    kinds = {None: (str, int, type(None)), "string": (str,), "integer": (int,), "null": (type(None),)}
    allowed = kinds.get(said.get("type"))
    if not values or allowed is None or any(isinstance(one, bool) or not isinstance(one, allowed) for one in values):
        raise _Unsupported
    return Literal[tuple(values)]


def _bounded(kind: Any, limits: Mapping[str, Any]) -> Any:
    return Annotated[kind, msgspec.Meta(**limits)] if limits else kind


def _lengths(said: Mapping[str, Any], least: str, most: str) -> dict[str, int]:
    found = {"min_length": said.get(least), "max_length": said.get(most)}
    return {name: _whole(value) for name, value in found.items() if value is not None}


def _whole(bound: Any) -> int:
    if _exact(bound) != int(bound):
        raise _Unsupported
    return int(bound)


def _exact(bound: Any) -> float:
    if isinstance(bound, bool) or not isinstance(bound, int | float) or abs(bound) > LARGEST_EXACT:
        raise _Unsupported
    return float(bound)
