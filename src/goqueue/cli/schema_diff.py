"""Two schemas beside each other: which lines differ, and who can no longer read what the other wrote."""

import difflib
import json
from typing import Any

import msgspec

from goqueue.adapters.schemas.protoc import compile_files
from goqueue.client.schemas.sync import Registry, Schema
from goqueue.core.schemas import schema as core_schema
from goqueue.core.schemas.formats import Incompatibility
from goqueue.core.schemas.parsing import Parser
from goqueue.engine.schemas.formats import schema_formats

__all__ = ["Difference", "Side", "compared", "pretty", "print_difference"]


class Side(msgspec.Struct, frozen=True):
    """A schema and what to call it."""

    name: str
    schema: Schema


class Difference(msgspec.Struct, frozen=True):
    """`backward` is why the new side cannot read the old one's data, `forward` the other way round."""

    old: str
    new: str
    lines: list[str]
    backward: list[str]
    forward: list[str]
    reused: list[str]

    @property
    def levels(self) -> list[str]:
        """Those at which the new schema may follow the old one."""
        if self.reused:
            return ["NONE"]
        ways = {"BACKWARD": self.backward, "FORWARD": self.forward, "FULL": self.backward + self.forward}
        return ["NONE", *(level for level, reasons in ways.items() if not reasons)]


def compared(registry: Registry, old: Side, new: Side) -> Difference:
    lines = list(
        difflib.unified_diff(
            pretty(old.schema).splitlines(), pretty(new.schema).splitlines(), old.name, new.name, lineterm=""
        )
    )
    if old.schema.type != new.schema.type:
        why = [f"DIFFERENT_TYPE at /: {old.name} is {old.schema.type}, {new.name} is {new.schema.type}"]
        return Difference(old.name, new.name, lines, why, why, [])
    parser = Parser(schema_formats(compile_files), lambda reference: _found(registry, reference))
    before, after = (_for_parser(side.schema) for side in (old, new))
    kind, earlier, later = parser.format(after), parser.parse(before), parser.parse(after)
    return Difference(
        old.name,
        new.name,
        lines,
        _told(kind.incompatibilities(later, earlier)),
        _told(kind.incompatibilities(earlier, later)),
        _told(kind.reuses(later, earlier)),
    )


def _found(registry: Registry, reference: core_schema.Reference) -> core_schema.Schema:
    return _for_parser(registry.version(reference.subject, reference.version).schema)


def _for_parser(schema: Schema) -> core_schema.Schema:
    references = (core_schema.Reference(one.name, one.subject, one.version) for one in schema.references)
    return core_schema.Schema(schema.type, schema.text, tuple(references))


def _told(found: list[Incompatibility]) -> list[str]:
    return [f"{why.kind} at {why.path}: {why.message}" for why in found]


def pretty(schema: Schema) -> str:
    if schema.type == "PROTOBUF":
        return schema.text
    try:
        parsed: Any = json.loads(schema.text)
    except ValueError:
        return schema.text
    return json.dumps(parsed, indent=2, ensure_ascii=False)


def print_difference(found: Difference) -> None:
    for line in found.lines:
        print(line)
    if not found.lines:
        print(f"{found.old} and {found.new} read the same")
    _print_way(f"{found.new} reads what {found.old} wrote", found.backward)
    _print_way(f"{found.old} reads what {found.new} wrote", found.forward)
    for reason in found.reused:
        print(f"  {reason}")
    print(f"allowed at {', '.join(found.levels)}")


def _print_way(what: str, reasons: list[str]) -> None:
    print(f"{what}: {'NO' if reasons else 'yes'}")
    for reason in reasons:
        print(f"  {reason}")
