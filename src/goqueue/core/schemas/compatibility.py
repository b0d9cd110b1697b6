"""Compatibility levels: the earlier versions that a new schema is compared with, and the reported reasons."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from goqueue.core.schemas.formats import Incompatibility, SchemaFormat
from goqueue.core.schemas.policies import Level

__all__ = ["Version", "compared", "reasons"]

TRANSITIVE = {Level.BACKWARD_TRANSITIVE, Level.FORWARD_TRANSITIVE, Level.FULL_TRANSITIVE}
NEW_READS = {Level.BACKWARD, Level.BACKWARD_TRANSITIVE, Level.FULL, Level.FULL_TRANSITIVE}
OLD_READS = {Level.FORWARD, Level.FORWARD_TRANSITIVE, Level.FULL, Level.FULL_TRANSITIVE}


class Version(NamedTuple):
    number: int
    type: str
    parsed: Any


def compared(level: Level, versions: list[int]) -> list[int]:
    """The versions to compare with, the latest first."""
    if level is Level.NONE:
        return []
    return versions[::-1] if level in TRANSITIVE else versions[-1:]


def reasons(level: Level, kind: SchemaFormat, new: Any, earlier: Iterable[Version]) -> list[str]:
    """Why the new schema is incompatible: all reasons for the first version it does not match, or nothing."""
    for version in earlier:
        if version.type != kind.name:
            return [f"DIFFERENT_TYPE at /: version {version.number} is {version.type}, the new schema is {kind.name}"]
        found = [f"{why.kind} at {why.path}: {why.message}" for why in kind.reuses(new, version.parsed)]
        if level in NEW_READS:
            found += _told(kind.incompatibilities(new, version.parsed), "the new schema", f"version {version.number}")
        if level in OLD_READS:
            found += _told(kind.incompatibilities(version.parsed, new), f"version {version.number}", "the new schema")
        if found:
            return found
    return []


def _told(found: list[Incompatibility], reader: str, writer: str) -> list[str]:
    return [f"{why.kind} at {why.path}: {why.message} (reader: {reader}, writer: {writer})" for why in found]
