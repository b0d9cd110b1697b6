"""Array compatibility: items by position, additional items, and contained items."""

from collections.abc import Iterator

from goqueue.core.schemas.formats import Incompatibility
from goqueue.core.schemas.json_schema.objects import Compare
from goqueue.core.schemas.json_schema.shape import Shape
from goqueue.core.schemas.json_schema.written import Written, rules_for_item

__all__ = ["array_problems"]

Reasons = Iterator[Incompatibility]


def array_problems(writer: Written, reader: Shape, path: str, compare: Compare) -> Reasons:
    if "array" not in writer.types():
        return
    length = max(len(reader.prefix), *(len(shape.prefix) for shape in writer.shapes))
    for index in range(length):
        given = writer.rules_for_item(index)
        if any(rule.truth is False for rule in given) or any(most <= index for most in writer.bounds("maxItems")):
            break
        for rule in rules_for_item(reader, index):
            yield from _item_problems(writer, reader, index, rule, path, compare)
    else:
        yield from _rest_problems(writer, reader, length, path, compare)
    keeps_unique = any(shape.unique for shape in writer.shapes) or any(most <= 1 for most in writer.bounds("maxItems"))
    if reader.unique and not keeps_unique:
        why = "the reader asks for items that all differ; the writer may repeat one"
        yield Incompatibility("UNIQUE_ITEMS_ADDED", f"{path}/uniqueItems", why)
    yield from _contains_problems(writer, reader, path, compare)


def _item_problems(writer: Written, reader: Shape, index: int, rule: Shape, path: str, compare: Compare) -> Reasons:
    place = f"{path}/items/{index}"
    given = writer.rules_for_item(index)
    problems = compare(Written.of(given), rule, place)
    if not problems:
        return
    was_listed = any(index < len(shape.prefix) for shape in writer.shapes)
    if was_listed and index < len(reader.prefix):
        yield from problems
    elif not was_listed and not given:
        why = f"the item {index} could be anything before, and now has a schema"
        yield Incompatibility("ITEM_ADDED_TO_OPEN_CONTENT_MODEL", place, why)
    elif not was_listed:
        why = f"the item {index} has a schema that does not take all that could be written before"
        yield Incompatibility("ITEM_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", place, why)
        yield from problems
    elif rule.truth is False:
        why = f"the reader takes no item {index}, which the writer may write"
        yield Incompatibility("ITEM_REMOVED_FROM_CLOSED_CONTENT_MODEL", place, why)
    else:
        why = f"the item {index} has no schema of its own any more, and does not fit what the others have to fit"
        yield Incompatibility("ITEM_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", place, why)
        yield from problems


def _rest_problems(writer: Written, reader: Shape, length: int, path: str, compare: Compare) -> Reasons:
    if reader.rest is None or reader.rest.truth is True or any(most <= length for most in writer.bounds("maxItems")):
        return
    given = [shape.rest for shape in writer.shapes if shape.rest is not None]
    if any(rule.truth is False for rule in given):
        return
    place = f"{path}/{reader.rest_keyword}"
    problems = compare(Written.of(given), reader.rest, place)
    if problems and reader.rest.truth is False:
        why = f"the reader takes at most {length} items; the writer may write more"
        yield Incompatibility("ADDITIONAL_ITEMS_REMOVED", place, why)
    elif problems and not given:
        why = "the reader asks that all further items fit a schema; the writer may write any"
        yield Incompatibility("ADDITIONAL_ITEMS_NARROWED", place, why)
    else:
        yield from problems


def _contains_problems(writer: Written, reader: Shape, path: str, compare: Compare) -> Reasons:
    wanted = reader.contains
    if wanted is None:
        return
    written = [(shape, shape.contains) for shape in writer.shapes if shape.contains is not None]
    if reader.least_contained > 0:
        enough = [each for each in written if each[0].least_contained >= reader.least_contained]
        if not any(not compare(Written.of([each]), wanted, f"{path}/contains") for _, each in enough):
            kind = "MIN_CONTAINS_INCREASED" if written and not enough else "CONTAINS_ADDED"
            kind = "CONTAINS_CHANGED" if enough else kind
            why = f"the reader asks for at least {reader.least_contained} items of a kind the writer may not write"
            yield Incompatibility(kind, f"{path}/contains", why)
    most = reader.most_contained
    if most is None or any(bound <= most for bound in writer.bounds("maxItems")):
        return
    fewer = [each for shape, each in written if shape.most_contained is not None and shape.most_contained <= most]
    if not any(not compare(Written.of([wanted]), each, f"{path}/contains") for each in fewer):
        why = f"the reader takes at most {most} items of a kind; the writer may write more"
        yield Incompatibility("MAX_CONTAINS_DECREASED", f"{path}/maxContains", why)
