"""Combined schemas: compatibility of a reader's `anyOf`, `oneOf`, `not`, `if` and `unevaluated…`.

Every case of the writer has to match one branch as a whole; cases are its own branches, its types, its listed values.
Whether a value matches a second branch of a `oneOf` is not checked: branches are treated as alternatives, as in other
registries.
"""

from collections.abc import Iterator

from goqueue.core.schemas.formats import Incompatibility
from goqueue.core.schemas.json_schema.objects import Compare
from goqueue.core.schemas.json_schema.shape import ALL_TYPES, Shape, Sum, json_key
from goqueue.core.schemas.json_schema.written import Written

__all__ = ["combined_problems"]

Reasons = Iterator[Incompatibility]

MOST_CASES = 50


def combined_problems(writer: Written, reader: Shape, path: str, compare: Compare) -> Reasons:
    for each in reader.sums:
        if not _covered(writer, each, path, compare, 0):
            yield _uncovered(writer, each, f"{path}/{each.keyword}")
    yield from _not_problems(writer, reader, path, compare)
    yield from _condition_problems(writer, reader, path, compare)
    for keyword in reader.unevaluated:
        yield from _unevaluated_problems(writer, reader, keyword, path)


def _covered(writer: Written, wanted: Sum, path: str, compare: Compare, depth: int) -> bool:
    places = (f"{path}/{wanted.keyword}/{index}" for index in range(len(wanted.branches)))
    if any(not compare(writer, branch, place) for branch, place in zip(wanted.branches, places, strict=True)):
        return True
    return depth < 4 and any(
        all(_covered(case, wanted, path, compare, depth + 1) for case in cases) for cases in _case_splits(writer)
    )


def _case_splits(writer: Written) -> Iterator[list[Written]]:
    """Ways to split the writer's values into cases; in each, the cases together cover all of them."""
    for each in writer.open_sums():
        yield [writer.also(branch, settled=each) for branch in each.branches]
    types = writer.types()
    if types != ALL_TYPES and len(types) > 1 and types != {"integer", "fraction"}:
        whole = [frozenset({each}) for each in sorted(types - {"fraction"})]
        numbers = [frozenset({"integer", "fraction"})] if "fraction" in types else []
        yield [writer.also(Shape(types=each)) for each in (*whole, *numbers)]
    values = writer.values()
    if values is not None and 1 < len(values) <= MOST_CASES:
        yield [writer.also(Shape(values=(value,))) for value in values]


def _uncovered(writer: Written, wanted: Sum, path: str) -> Incompatibility:
    count = len(wanted.branches)
    before = max((len(each.branches) for each in writer.open_sums()), default=0)
    if before > count:
        why = f"the writer has {before} alternatives, of which some fit none of the {count} of the reader"
        return Incompatibility("SUM_TYPE_NARROWED", path, why)
    if before:
        why = f"an alternative of the writer fits none of the {count} of the reader"
        return Incompatibility("COMBINED_TYPE_SUBSCHEMAS_CHANGED", path, why)
    return Incompatibility("COMBINED_TYPE_CHANGED", path, f"what is written fits none of the {count} alternatives")


def _not_problems(writer: Written, reader: Shape, path: str, compare: Compare) -> Reasons:
    refused = reader.negated
    if refused is None or refused.truth is False:
        return
    place = f"{path}/not"
    what = Written.of([refused])
    known = [shape.negated for shape in writer.shapes if shape.negated is not None]
    if any(not compare(what, each, place) for each in known) or not writer.types() & what.types():
        return
    values, others = writer.values(), what.values()
    if values is not None and others is not None and not set(map(json_key, values)) & set(map(json_key, others)):
        return
    why = "the reader refuses values that the writer may write"
    yield Incompatibility("NOT_TYPE_EXTENDED" if known else "NOT_TYPE_ADDED", place, why)


def _condition_problems(writer: Written, reader: Shape, path: str, compare: Compare) -> Reasons:
    if reader.condition is None:
        return
    when, then, otherwise = reader.condition
    same = [each.condition for each in writer.shapes if each.condition is not None and _same(each.condition[0], when)]
    if_true = writer.also(when, *(each[1] for each in same))
    if_false = writer.also(*(each[2] for each in same))
    problems = [*compare(if_true, then, f"{path}/then"), *compare(if_false, otherwise, f"{path}/else")]
    if problems and not same:
        why = "the reader asks for more under a condition that the writer does not know"
        yield Incompatibility("CONDITION_ADDED", f"{path}/if", why)
    yield from problems


def _unevaluated_problems(writer: Written, reader: Shape, keyword: str, path: str) -> Reasons:
    """The properties evaluated elsewhere are only known if the whole schema is the same, or if all names are listed."""
    if any(_same(shape, reader) for shape in writer.shapes):
        return
    if keyword == "unevaluatedProperties" and "object" not in writer.types():
        return
    if keyword == "unevaluatedItems" and "array" not in writer.types():
        return
    if keyword == "unevaluatedProperties":
        possible, looked_at = _possible_names(writer), _listed_names(reader)
        if possible is not None and possible <= looked_at:
            return
    kind = "UNEVALUATED_PROPERTIES_NARROWED" if keyword == "unevaluatedProperties" else "UNEVALUATED_ITEMS_NARROWED"
    why = f"the reader restricts what no other part of it looks at ({keyword}); the writer may write more"
    yield Incompatibility(kind, f"{path}/{keyword}", why)


def _possible_names(writer: Written) -> set[str] | None:
    """All possible property names, if the writer allows only listed ones."""
    for shape in writer.shapes:
        if shape.additional is not None and shape.additional.truth is False and not shape.patterns:
            return set(shape.properties)
        if "unevaluatedProperties" in shape.unevaluated and shape.raw["unevaluatedProperties"] is False:
            return _names_within(shape)
    return None


def _names_within(shape: Shape) -> set[str] | None:
    names: set[str] = set()
    waiting, seen = [shape], set()
    while waiting:
        each = waiting.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if each.patterns or each.additional is not None:
            return None
        if each is not shape and "unevaluatedProperties" in each.unevaluated:
            return None
        names.update(each.properties)
        waiting.extend(part for _, part in each.parts)
        waiting.extend(branch for one in each.sums for branch in one.branches)
        waiting.extend((*each.dependents.values(), *(each.condition or ())))
    return names


def _listed_names(reader: Shape) -> set[str]:
    return {name for shape in Written.of([reader]).shapes for name in shape.properties}


def _same(one: Shape, other: Shape) -> bool:
    """Equal texts are equivalent only without references: a reference may lead elsewhere."""
    return json_key(one.raw) == json_key(other.raw) and not _refers(one.raw)


def _refers(raw: object) -> bool:
    waiting = [raw]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            if not each.keys().isdisjoint(("$ref", "$dynamicRef", "$recursiveRef")):
                return True
            waiting.extend(each.values())
        elif isinstance(each, list):
            waiting.extend(each)
    return False
