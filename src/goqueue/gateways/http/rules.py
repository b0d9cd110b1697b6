"""Rules between the fields of a body or query: the server checks them, and the OpenAPI document states them.

A struct names them in `RULES`. A field is given when it is not what it would be if it were left out.
"""

import functools
from collections.abc import Hashable
from typing import Any, ClassVar, NamedTuple, Protocol, cast

import msgspec
from msgspec import NODEFAULT, UNSET

__all__ = [
    "AtLeastOne",
    "AtMostOne",
    "ExactlyOne",
    "HereOrInEach",
    "Needs",
    "Never",
    "Rule",
    "RuleBroken",
    "Ruled",
    "Together",
    "check_rules",
    "rules_schema",
]

Tree = dict[str, Any]


class RuleBroken(ValueError):
    """Fields that do not go together."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class Rule(Protocol):
    """`check` takes the values of the fields that are given; `schema` takes what says in JSON Schema that one is."""

    def check(self, given: dict[str, Any]) -> None: ...
    def schema(self, given: dict[str, Tree]) -> Tree: ...


class AtMostOne:
    """No two of these fields."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def check(self, given: dict[str, Any]) -> None:
        found = [name for name in self._names if name in given]
        if len(found) > 1:
            raise RuleBroken(f"{found[0]} and {found[1]} are both given", "give one of them")

    def schema(self, given: dict[str, Tree]) -> Tree:
        schemas = [given[name] for name in self._names]
        pairs = [[one, other] for number, one in enumerate(schemas) for other in schemas[number + 1 :]]
        return {"not": {"anyOf": [{"allOf": pair} for pair in pairs]}}


class ExactlyOne:
    """One of these; of a tuple of fields at least one, which count together."""

    def __init__(self, *choices: str | tuple[str, ...]) -> None:
        self._choices = [(one,) if isinstance(one, str) else one for one in choices]

    def check(self, given: dict[str, Any]) -> None:
        found = [
            next(name for name in names if name in given)
            for names in self._choices
            if not given.keys().isdisjoint(names)
        ]
        if len(found) > 1:
            raise RuleBroken(f"{found[0]} and {found[1]} are both given", "give one of them")
        if not found:
            every = [name for names in self._choices for name in names]
            raise RuleBroken(f"none of {', '.join(every)} is given", "give one of them")

    def schema(self, given: dict[str, Tree]) -> Tree:
        return {"oneOf": [_any_of(given, names) for names in self._choices]}


class AtLeastOne:
    """One of these, or several."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def check(self, given: dict[str, Any]) -> None:
        if given.keys().isdisjoint(self._names):
            raise RuleBroken(f"none of {', '.join(self._names)} is given", "give at least one of them")

    def schema(self, given: dict[str, Tree]) -> Tree:
        return _any_of(given, self._names)


class Together:
    """All of these or none."""

    def __init__(self, *names: str) -> None:
        self._names = names

    def check(self, given: dict[str, Any]) -> None:
        found = [name for name in self._names if name in given]
        if found and len(found) < len(self._names):
            missing = next(name for name in self._names if name not in given)
            raise RuleBroken(f"{found[0]} is given without {missing}", "give both or none")

    def schema(self, given: dict[str, Tree]) -> Tree:
        every = [given[name] for name in self._names]
        return {"anyOf": [{"allOf": every}, {"not": {"anyOf": every}}]}


class Needs(NamedTuple):
    """A field, or one value of it, is only taken together with another field, or with one value of that."""

    name: str
    needed: str
    value: Any = UNSET
    needed_value: Any = UNSET

    def check(self, given: dict[str, Any]) -> None:
        if not _has(given, self.name, self.value) or _has(given, self.needed, self.needed_value):
            return
        what = _shown(self.name, self.value)
        needed = _shown(self.needed, self.needed_value)
        raise RuleBroken(f"{what} is given without {needed}", f"give {needed}, or leave out {self.name}")

    def schema(self, given: dict[str, Tree]) -> Tree:
        without = {"not": _with_value(given, self.name, self.value)}
        return {"anyOf": [without, _with_value(given, self.needed, self.needed_value)]}


class Never(NamedTuple):
    """A field that shapes of this kind have, and this one does not take."""

    name: str

    def check(self, given: dict[str, Any]) -> None:
        if self.name in given:
            raise RuleBroken(f"{self.name} is given, and is not taken here", f"leave out {self.name}")

    def schema(self, given: dict[str, Tree]) -> Tree:
        return {"not": given[self.name]}


class HereOrInEach(NamedTuple):
    """A field is given, or each item of a list has it."""

    name: str
    items: str

    def check(self, given: dict[str, Any]) -> None:
        items = given.get(self.items)
        if self.name not in given and (items is None or any(getattr(one, self.name) is UNSET for one in items)):
            raise RuleBroken(f"no {self.name} is given", f"give the request a {self.name}, or each of its {self.items}")

    def schema(self, given: dict[str, Tree]) -> Tree:
        in_each = {"required": [self.items], "properties": {self.items: {"items": {"required": [self.name]}}}}
        return {"anyOf": [given[self.name], in_each]}


class Ruled(msgspec.Struct, frozen=True):
    """Checked as soon as it is read."""

    RULES: ClassVar[tuple[Rule, ...]] = ()

    def __post_init__(self) -> None:
        check_rules(self)


def check_rules(fields: Any) -> None:
    """Raise RuleBroken for a struct with RULES that breaks one."""
    given = {}
    for name, (attribute, left_out) in _defaults(cast(Hashable, type(fields))).items():
        value = getattr(fields, attribute)
        if value != left_out:
            given[name] = value
    for rule in fields.RULES:
        rule.check(given)


def rules_schema(kind: Any) -> list[Tree]:
    """Of a struct; none when it has no rules."""
    rules: tuple[Rule, ...] = getattr(kind, "RULES", ())
    if not rules:
        return []
    given = {name: _given_schema(name, left_out) for name, (_, left_out) in _defaults(kind).items()}
    return [rule.schema(given) for rule in rules]


@functools.cache
def _defaults(kind: Hashable) -> dict[str, tuple[str, Any]]:
    """By the name in JSON: the attribute, and its value when the field is left out."""
    return {
        field.encode_name: (
            field.name,
            field.default if field.default_factory is NODEFAULT else field.default_factory(),
        )
        for field in msgspec.structs.fields(cast(type[msgspec.Struct], kind))
    }


def _given_schema(name: str, left_out: Any) -> Tree:
    value: Tree | None = None
    if left_out is None:
        value = {"not": {"type": "null"}}
    elif left_out is False:
        value = {"const": True}
    elif left_out == []:
        value = {"minItems": 1}
    elif left_out == "":
        value = {"minLength": 1}
    return {"required": [name]} if value is None else {"required": [name], "properties": {name: value}}


def _any_of(given: dict[str, Tree], names: tuple[str, ...]) -> Tree:
    return given[names[0]] if len(names) == 1 else {"anyOf": [given[name] for name in names]}


def _with_value(given: dict[str, Tree], name: str, value: Any) -> Tree:
    return given[name] if value is UNSET else {"required": [name], "properties": {name: {"const": value}}}


def _has(given: dict[str, Any], name: str, value: Any) -> bool:
    return name in given and (value is UNSET or given[name] == value)


def _shown(name: str, value: Any) -> str:
    return name if value is UNSET else f"{name} = {value!r}"
