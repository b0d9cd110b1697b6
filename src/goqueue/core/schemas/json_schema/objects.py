"""Object compatibility: properties, property names, and dependencies between properties.

An object is open if properties that are not listed may be anything, closed if there may be none, and partially open if
they have to match a schema. In open objects, constraining a property that could be anything is incompatible; in closed
ones, removing a property is.
"""

from collections.abc import Callable, Iterator

from goqueue.core.schemas.formats import Incompatibility
from goqueue.core.schemas.json_schema.shape import Shape
from goqueue.core.schemas.json_schema.written import Written, rules_for_property

__all__ = ["Compare", "object_problems"]

Reasons = Iterator[Incompatibility]
Compare = Callable[[Written, Shape, str], list[Incompatibility]]


def object_problems(writer: Written, reader: Shape, path: str, compare: Compare) -> Reasons:
    if "object" not in writer.types():
        return
    for name in _names(writer, reader):
        yield from _property_problems(writer, reader, name, f"{path}/properties/{name}", compare)
    yield from _pattern_problems(writer, reader, path, compare)
    yield from _additional_problems(writer, reader, path, compare)
    yield from _required_problems(writer, reader, path)
    yield from _dependency_problems(writer, reader, path, compare)
    yield from _name_problems(writer, reader, path, compare)


def _names(writer: Written, reader: Shape) -> list[str]:
    names = dict.fromkeys(reader.properties)
    for shape in writer.shapes:
        names.update(dict.fromkeys(shape.properties))
    return list(names)


def _property_problems(writer: Written, reader: Shape, name: str, path: str, compare: Compare) -> Reasons:
    given = writer.rules_for_property(name)
    for rule in rules_for_property(reader, name):
        problems = compare(Written.of(given), rule, path)
        if not problems:
            continue
        was_listed = any(name in shape.properties for shape in writer.shapes)
        if was_listed and name in reader.properties:
            yield from problems
        elif not was_listed and not given:
            required = "REQUIRED" if name in reader.required else "OPTIONAL"
            why = f"the property {name} could be anything before, and now has a schema"
            yield Incompatibility(f"{required}_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL", path, why)
        elif not was_listed:
            why = f"the property {name} has a schema that does not take all that could be written before"
            yield Incompatibility("PROPERTY_ADDED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", path, why)
            yield from problems
        elif rule.truth is False:
            why = f"the reader does not know the property {name}, and allows no others than it knows"
            yield Incompatibility("PROPERTY_REMOVED_FROM_CLOSED_CONTENT_MODEL", path, why)
        else:
            why = f"the property {name} is not listed any more, and does not fit what others have to fit"
            yield Incompatibility("PROPERTY_REMOVED_NOT_COVERED_BY_PARTIALLY_OPEN_CONTENT_MODEL", path, why)
            yield from problems


def _unlisted(writer: Written) -> Written | None:
    """Schema of properties that are neither listed nor match a pattern; None if there are none."""
    rules = [shape.additional for shape in writer.shapes if shape.additional is not None]
    return None if any(rule.truth is False for rule in rules) else Written.of(rules)


def _pattern_problems(writer: Written, reader: Shape, path: str, compare: Compare) -> Reasons:
    for pattern, rule in reader.patterns.items():
        place = f"{path}/patternProperties/{pattern}"
        same = [shape.patterns[pattern] for shape in writer.shapes if pattern in shape.patterns]
        if same:
            yield from compare(Written.of(same), rule, place)
            continue
        others = [Written.of([each]) for shape in writer.shapes for each in shape.patterns.values()]
        unlisted = _unlisted(writer)
        if unlisted is not None:
            others.append(unlisted)
        if any(compare(other, rule, place) for other in others):
            why = f"properties that match {pattern!r} could be written without fitting the schema of the reader"
            yield Incompatibility("PATTERN_PROPERTY_ADDED", place, why)


def _additional_problems(writer: Written, reader: Shape, path: str, compare: Compare) -> Reasons:
    if reader.additional is None or reader.additional.truth is True:
        return
    place = f"{path}/additionalProperties"
    for shape in writer.shapes:
        for pattern, rule in shape.patterns.items():
            if pattern not in reader.patterns and compare(Written.of([rule]), reader.additional, place):
                why = f"the reader does not take properties that match {pattern!r}, which the writer may write"
                yield Incompatibility("PATTERN_PROPERTY_REMOVED", f"{path}/patternProperties/{pattern}", why)
    unlisted = _unlisted(writer)
    if unlisted is None:
        return
    problems = compare(unlisted, reader.additional, place)
    if problems and reader.additional.truth is False:
        why = "the reader takes no properties other than those it lists; the writer may write others"
        yield Incompatibility("ADDITIONAL_PROPERTIES_REMOVED", place, why)
    elif problems and all(shape.additional is None for shape in writer.shapes):
        why = "the reader asks that properties it does not list fit a schema; the writer may write any"
        yield Incompatibility("ADDITIONAL_PROPERTIES_NARROWED", place, why)
    else:
        yield from problems


def _required_problems(writer: Written, reader: Shape, path: str) -> Reasons:
    """A required property with a default is compatible: the reader fills it in."""
    for name in sorted(reader.required - writer.required()):
        rule = reader.properties.get(name)
        if rule is not None and (rule.has_default or any(part.has_default for _, part in rule.parts)):
            continue
        was_listed = any(name in shape.properties for shape in writer.shapes)
        if was_listed or rule is None:
            kind = "REQUIRED_ATTRIBUTE_ADDED"
        elif writer.rules_for_property(name):
            kind = "REQUIRED_PROPERTY_ADDED_TO_UNOPEN_CONTENT_MODEL"
        else:
            kind = "REQUIRED_PROPERTY_ADDED_TO_OPEN_CONTENT_MODEL"
        place = f"{path}/required/{name}"
        yield Incompatibility(kind, place, f"the reader requires the property {name}, which the writer may leave out")


def _dependency_problems(writer: Written, reader: Shape, path: str, compare: Compare) -> Reasons:
    for name, needed in reader.needs.items():
        written = [shape.needs[name] for shape in writer.shapes if name in shape.needs]
        missing = needed.difference(writer.required(), *written)
        if missing and writer.may_have(name):
            kind = "DEPENDENCY_ARRAY_ADDED"
            if written:
                kind = "DEPENDENCY_ARRAY_EXTENDED" if written[0] <= needed else "DEPENDENCY_ARRAY_CHANGED"
            why = f"the reader asks for {', '.join(sorted(missing))} where there is {name}"
            yield Incompatibility(kind, f"{path}/dependencies/{name}", why)
    for name, rule in reader.dependents.items():
        if not writer.may_have(name):
            continue
        known = [shape.dependents[name] for shape in writer.shapes if name in shape.dependents]
        place = f"{path}/dependencies/{name}"
        problems = compare(writer.also(*known), rule, place)
        if problems and not known:
            why = f"the reader asks for more where there is the property {name}"
            yield Incompatibility("DEPENDENCY_SCHEMA_ADDED", place, why)
        yield from problems


def _name_problems(writer: Written, reader: Shape, path: str, compare: Compare) -> Reasons:
    if reader.names is None or reader.names.truth is True:
        return
    place = f"{path}/propertyNames"
    written = [shape.names for shape in writer.shapes if shape.names is not None]
    problems = compare(Written.of((Shape(types=frozenset({"string"})), *written)), reader.names, place)
    if problems and not written:
        why = "the reader asks that the names of properties fit a schema; the writer has none for them"
        yield Incompatibility("PROPERTY_NAMES_ADDED", place, why)
    else:
        yield from problems
