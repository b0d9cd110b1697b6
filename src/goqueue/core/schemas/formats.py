"""Schema formats: the protocol for parsing, canonical text and comparison."""

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

__all__ = ["Incompatibility", "SchemaFormat"]


class Incompatibility(msgspec.Struct, frozen=True):
    """One reason why a reader cannot read what a writer wrote; `path` is a JSON pointer to its place."""

    kind: str
    path: str
    message: str


class SchemaFormat(Protocol):
    """A stateless format: equal arguments give equal answers, and parsed values are never changed.

    The result of `parse` is only passed back to the same format; the registry does not inspect it.
    """

    @property
    def name(self) -> str:
        """AVRO, PROTOBUF or JSON."""

    def parse(self, text: str, references: Mapping[str, str]) -> Any:
        """Raise InvalidSchema, with a message that says where and why, if the text is not a schema.

        `references` are the texts of all schemas referred to, directly or not, by reference name; each comes after
        those it refers to itself.
        """

    def canonical(self, parsed: Any) -> str:
        """The common text of all equivalent schemas; without one, only identical texts are the same schema."""

    def incompatibilities(self, reader: Any, writer: Any) -> list[Incompatibility]:
        """Why `reader` cannot read what `writer` wrote; nothing when it can."""

    def reuses(self, newer: Any, older: Any) -> list[Incompatibility]:
        """Uses in `newer` of numbers or names that `older` reserved, independent of who reads whose data."""
