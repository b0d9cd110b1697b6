"""Alternatives (`anyOf`, `oneOf`) of a schema, and a bound on the cost of explaining a mismatch.

The validator explains an alternative by all errors of all its branches, and by those of the alternatives within them.
That may be millions of errors for a short value, while validity alone is decided at once.
"""

from collections.abc import Iterator
from typing import Any

from goqueue.core.schemas.json_schema.shape import Shape

__all__ = ["MOST_EXPLAINED", "has_alternatives", "is_explained_soon"]

MOST_EXPLAINED = 10_000
"""Pairs of a part of the schema and a part of the value, each of which may be an error; they take half a second."""


def has_alternatives(shape: Shape) -> bool:
    """Whether the schema contains alternatives anywhere."""
    waiting, known = [shape], {id(shape)}
    while waiting:
        one = waiting.pop()
        if one.sums or any(pointer.startswith(("anyOf", "oneOf")) for pointer, _ in one.parts):
            return True
        for other in (*_in_place(one), *_within(one)):
            if id(other) not in known:
                known.add(id(other))
                waiting.append(other)
    return False


def is_explained_soon(shape: Shape, value: Any) -> bool:
    """Whether at most MOST_EXPLAINED pairs of a subschema and a part of the value exist."""
    left = MOST_EXPLAINED
    waiting = [(shape, value)]
    while waiting:
        one, part = waiting.pop()
        left -= 1
        if left < 0 or (isinstance(part, dict | list) and len(part) > left):
            return False
        waiting += ((other, part) for other in _in_place(one))
        if isinstance(part, dict):
            for name, each in part.items():
                listed = one.properties.get(name)
                waiting += ((other, each) for other in (listed, *one.patterns.values(), one.additional) if other)
                waiting += [(one.names, name)] if one.names else []
        elif isinstance(part, list):
            for index, each in enumerate(part):
                listed = one.prefix[index] if index < len(one.prefix) else one.rest
                waiting += ((other, each) for other in (listed, one.contains) if other)
    return True


def _in_place(shape: Shape) -> Iterator[Shape]:
    """Subschemas that apply to the same value."""
    for _, part in shape.parts:
        yield part
    for one in shape.sums:
        yield from one.branches
    yield from shape.condition or ()
    yield from shape.dependents.values()


def _within(shape: Shape) -> Iterator[Shape]:
    """Subschemas that apply to its members or items."""
    yield from shape.properties.values()
    yield from shape.patterns.values()
    yield from shape.prefix
    for one in (shape.additional, shape.names, shape.rest, shape.contains):
        if one is not None:
            yield one
