"""Schemas, versions and policies as `goqueue schema` prints them."""

from typing import Any

import msgspec

from goqueue.cli.output import print_table
from goqueue.client.schemas.sync import Version

__all__ = ["Facts", "list_facts", "print_list", "print_version", "version_facts"]

Facts = dict[str, Any]


def version_facts(version: Version) -> Facts:
    facts = msgspec.structs.asdict(version)
    facts["references"] = [msgspec.structs.asdict(one) for one in version.references]
    facts["schema"] = facts.pop("text")
    return facts


def list_facts(found: list[Version], live: list[Version]) -> list[Facts]:
    """Those that are not live are deleted."""
    places = {(one.subject, one.version) for one in live}
    return [version_facts(one) | {"deleted": (one.subject, one.version) not in places} for one in found]


def print_list(found: list[Facts], *, prefix: str) -> None:
    if not found:
        print(f"no subject begins with {prefix}" if prefix else "no schema is registered")
        return
    names = ("subject", "type", "version", "id")
    rows = [(*(one[name] for name in names), "deleted" if one["deleted"] else "") for one in found]
    columns = ("subject", "type", "latest", "id", "")
    print_table(f"Subjects, {len(found):,} in all", columns, rows, numbers="latest,id")


def print_version(facts: Facts, text: str) -> None:
    for name, value in facts.items():
        if name == "references":
            for one in value:
                print(f"{'refers to':10}  {one['name']}, which is {one['subject']} version {one['version']}")
        elif name != "schema":
            print(f"{name:10}  {value}")
    print()
    print(text)
