"""Scalar compatibility: types, listed values, bounds and patterns."""

from collections.abc import Iterator
from typing import Any

from goqueue.core.schemas.formats import Incompatibility
from goqueue.core.schemas.json_schema.patterns import matches
from goqueue.core.schemas.json_schema.shape import Shape, json_key
from goqueue.core.schemas.json_schema.written import Written, exact

__all__ = ["bound_problems", "pattern_problems", "type_problems", "value_problems"]

Reasons = Iterator[Incompatibility]

_NUMBERS = frozenset({"integer", "fraction"})
_SIZES = {
    "Length": (frozenset({"string"}), "LENGTH"),
    "Items": (frozenset({"array"}), "ITEMS"),
    "Properties": (frozenset({"object"}), "PROPERTIES"),
}
_LISTED_AT_MOST = 10


def type_problems(writer: Written, reader: Shape, path: str) -> Reasons:
    written = writer.types()
    if written <= reader.types:
        return
    kind = "TYPE_NARROWED" if written & reader.types else "TYPE_CHANGED"
    refused = ", ".join(sorted(_shown(written - reader.types)))
    yield Incompatibility(kind, path, f"the writer may write {refused}; the reader takes {_listed(reader.types)}")


def value_problems(writer: Written, reader: Shape, path: str) -> Reasons:
    if reader.values is None:
        return
    place = f"{path}/enum"
    written = writer.values()
    if written is None:
        yield Incompatibility("ENUM_ARRAY_ADDED", place, "the reader takes listed values only; the writer has no list")
        return
    known = set(map(json_key, reader.values))
    refused = [value for value in written if json_key(value) not in known]
    if refused:
        keys = set(map(json_key, written))
        kind = "ENUM_ARRAY_NARROWED" if known <= keys else "ENUM_ARRAY_CHANGED"
        shown = ", ".join(map(repr, refused[:_LISTED_AT_MOST]))
        yield Incompatibility(kind, place, f"the reader does not list what the writer may write: {shown}")


def bound_problems(writer: Written, reader: Shape, path: str) -> Reasons:
    types = writer.types()
    for keyword, bound in reader.bounds.items():
        size = _SIZES.get(keyword[3:])
        if size is not None and types & size[0] and not _trivial(keyword, bound):
            kept = _implied(writer, keyword)
            yield from _compared(keyword, f"{keyword[:3].upper()}_{size[1]}", bound, kept, path)
        elif size is None and types & _NUMBERS:
            yield from _number_problems(writer, keyword, bound, path)


def pattern_problems(writer: Written, reader: Shape, path: str) -> Reasons:
    if reader.pattern is None or "string" not in writer.types():
        return
    written = [shape.pattern for shape in writer.shapes if shape.pattern is not None]
    values = writer.values()
    if reader.pattern in written:
        return
    if values is not None and all(matches(reader.pattern, each) for each in values if isinstance(each, str)):
        return
    kind = "PATTERN_CHANGED" if written else "PATTERN_ADDED"
    why = f"the reader asks for the pattern {reader.pattern!r}; the writer has {written[0] if written else None!r}"
    yield Incompatibility(kind, f"{path}/pattern", why)


def _number_problems(writer: Written, keyword: str, bound: Any, path: str) -> Reasons:
    if keyword == "multipleOf":
        yield from _multiple_problems(writer, bound, path)
        return
    side = keyword[-7:].lower()
    plain = [exact(each) for each in writer.bounds(side)]
    exclusive = [exact(each) for each in writer.bounds(f"exclusive{side.capitalize()}")]
    sign = 1 if side == "minimum" else -1
    limit = exact(bound) * sign
    if keyword == side:
        kept = any(each * sign >= limit for each in (*plain, *exclusive))
    else:
        kept = any(each * sign > limit for each in plain) or any(each * sign >= limit for each in exclusive)
    if not kept:
        stem = "MINIMUM" if side == "minimum" else "MAXIMUM"
        stem = stem if keyword == side else f"EXCLUSIVE_{stem}"
        same = writer.bounds(keyword)
        yield from _compared(keyword, stem, bound, same, path) if same else _added(keyword, stem, bound, path)


def _multiple_problems(writer: Written, factor: Any, path: str) -> Reasons:
    written = writer.bounds("multipleOf")
    if "fraction" not in writer.types():
        written.append(1)
    values = writer.values()
    if any(_divides(factor, each) for each in written):
        return
    if values is not None and all(_divides(factor, each) for each in values if type(each) in (int, float)):
        return
    said = [each for each in written if each != 1]
    if not said:
        yield from _added("multipleOf", "MULTIPLE_OF", factor, path)
        return
    kind = "MULTIPLE_OF_EXPANDED" if _divides(said[0], factor) else "MULTIPLE_OF_CHANGED"
    why = f"the reader asks for multiples of {factor}, the writer gives multiples of {said[0]}"
    yield Incompatibility(kind, f"{path}/multipleOf", why)


def _divides(factor: Any, number: Any) -> bool:
    return bool(factor) and exact(number) % exact(factor) == 0


def _implied(writer: Written, keyword: str) -> list[Any]:
    """Implied bounds: required properties give a minimum number, a closed array has a maximum length."""
    bounds = writer.bounds(keyword)
    if keyword == "minProperties" and writer.required():
        bounds.append(len(writer.required()))
    if keyword == "maxItems":
        bounds.extend(len(each.prefix) for each in writer.shapes if each.rest is not None and each.rest.truth is False)
    return bounds


def _trivial(keyword: str, bound: Any) -> bool:
    return keyword.startswith("min") and bool(bound <= 0)


def _compared(keyword: str, stem: str, bound: Any, written: list[Any], path: str) -> Reasons:
    if not written:
        yield from _added(keyword, stem, bound, path)
        return
    is_minimum = "min" in keyword.lower()
    tightest = max(written) if is_minimum else min(written)
    if tightest < bound if is_minimum else tightest > bound:
        kind = f"{stem}_{'INCREASED' if is_minimum else 'DECREASED'}"
        why = f"the reader has {keyword} {bound}, the writer {tightest}"
        yield Incompatibility(kind, f"{path}/{keyword}", why)


def _added(keyword: str, stem: str, bound: Any, path: str) -> Reasons:
    why = f"the reader has {keyword} {bound}, the writer has none"
    yield Incompatibility(f"{stem}_ADDED", f"{path}/{keyword}", why)


def _shown(types: frozenset[str]) -> set[str]:
    return {"number" if each == "fraction" else each for each in types}


def _listed(types: frozenset[str]) -> str:
    return ", ".join(sorted(_shown(types))) or "nothing"
