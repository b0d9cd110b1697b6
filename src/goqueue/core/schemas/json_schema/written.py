"""Written values: the conditions on a writer's values, combined from several shapes."""

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any

import msgspec

from goqueue.core.schemas.json_schema.patterns import matches
from goqueue.core.schemas.json_schema.shape import ALL_TYPES, ANYTHING, Shape, Sum, json_key, type_of

__all__ = ["Written", "exact", "rules_for_item", "rules_for_property"]

DEEPEST_LOOK = 6

# Bounds that follow from a list of possible values.
_MEASURES: dict[str, tuple[type | tuple[type, ...], Callable[[Any], Any]]] = {
    "Length": (str, len),
    "Items": (list, len),
    "Properties": (dict, len),
    "imum": ((int, float), lambda number: number),
}


def exact(number: Any) -> Fraction:
    """Decimal fractions as written: 0.3 is a multiple of 0.1, though not in binary."""
    return Fraction(repr(number)) if isinstance(number, float) else Fraction(number)


class Written(msgspec.Struct, frozen=True, eq=False):
    """Shapes that all apply, with their references; for sums in `settled`, a branch is among the shapes."""

    shapes: tuple[Shape, ...]
    settled: frozenset[int] = frozenset()

    @classmethod
    def of(cls, shapes: Iterable[Shape], settled: frozenset[int] = frozenset()) -> "Written":
        found: dict[int, Shape] = {}
        waiting = list(shapes)
        while waiting:
            shape = waiting.pop()
            if id(shape) not in found:
                found[id(shape)] = shape
                waiting.extend(part for _, part in shape.parts)
        return cls(tuple(found.values()) or (ANYTHING,), settled)

    def also(self, *shapes: Shape, settled: Sum | None = None) -> "Written":
        done = self.settled if settled is None else self.settled | {id(settled)}
        return Written.of((*self.shapes, *shapes), done)

    def key(self) -> tuple[frozenset[int], frozenset[int]]:
        return frozenset(map(id, self.shapes)), self.settled

    def open_sums(self) -> Iterator[Sum]:
        for shape in self.shapes:
            yield from (each for each in shape.sums if id(each) not in self.settled)

    def types(self) -> frozenset[str]:
        return _types(self.shapes, 0)

    def nothing(self) -> bool:
        return any(shape.truth is False for shape in self.shapes) or not self.types()

    def values(self) -> tuple[Any, ...] | None:
        """All possible values, if they are listed."""
        listed = [shape.values for shape in self.shapes if shape.values is not None]
        types = self.types()
        if listed:
            kept = {json_key(value): value for value in listed[0] if type_of(value) in types}
            for others in listed[1:]:
                known = set(map(json_key, others))
                kept = {key: value for key, value in kept.items() if key in known}
            return tuple(kept.values())
        if types <= {"null", "boolean"}:
            return (*((None,) if "null" in types else ()), *((True, False) if "boolean" in types else ()))
        return None

    def bounds(self, keyword: str) -> list[Any]:
        """All bounds of this name; for listed values, also the implied one."""
        found = [shape.bounds[keyword] for shape in self.shapes if keyword in shape.bounds]
        values = self.values()
        if values is not None and keyword[:3] in ("min", "max"):
            kinds, measure = _MEASURES[keyword[3:]]
            sizes = [measure(each) for each in values if isinstance(each, kinds) and not isinstance(each, bool)]
            found.extend([min(sizes) if keyword[:3] == "min" else max(sizes)] if sizes else ())
        return found

    def required(self) -> frozenset[str]:
        return frozenset().union(*(shape.required for shape in self.shapes))

    def rules_for_property(self, name: str) -> list[Shape]:
        return [rule for shape in self.shapes for rule in rules_for_property(shape, name)]

    def rules_for_item(self, index: int) -> list[Shape]:
        return [rule for shape in self.shapes for rule in rules_for_item(shape, index)]

    def may_have(self, name: str) -> bool:
        return not any(rule.truth is False for rule in self.rules_for_property(name))


def rules_for_property(shape: Shape, name: str) -> list[Shape]:
    """The schemas that a property of this name has to match; none if it may be anything."""
    rules = [shape.properties[name]] if name in shape.properties else []
    rules.extend(rule for pattern, rule in shape.patterns.items() if matches(pattern, name))
    if not rules and shape.additional is not None:
        return [shape.additional]
    return rules


def rules_for_item(shape: Shape, index: int) -> list[Shape]:
    if index < len(shape.prefix):
        return [shape.prefix[index]]
    return [] if shape.rest is None else [shape.rest]


def _types(shapes: Iterable[Shape], depth: int) -> frozenset[str]:
    """Types that remain when all shapes apply; too many rather than too few where the search is cut off."""
    found = ALL_TYPES
    for shape in shapes:
        if shape.truth is False:
            return frozenset()
        found &= shape.types
        if shape.values is not None:
            found &= frozenset(map(type_of, shape.values))
        if depth < DEEPEST_LOOK:
            for each in shape.sums:
                branches = (_types(Written.of([branch]).shapes, depth + 1) for branch in each.branches)
                found &= frozenset().union(*branches)
    return found
