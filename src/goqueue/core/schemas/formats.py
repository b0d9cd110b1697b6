"""What the registry asks of a schema format: to parse a text, to bring it into one form, to compare two schemas."""

from collections.abc import Mapping
from typing import Any, Protocol

import msgspec

__all__ = ["Incompatibility", "SchemaFormat"]


class Incompatibility(msgspec.Struct, frozen=True):
    """One reason why a reader cannot read what a writer wrote; `path` leads to its place, as a JSON pointer does."""

    kind: str
    path: str
    message: str


class SchemaFormat(Protocol):
    """A format without state of its own: equal arguments give equal answers, and what was parsed is never changed.

    What `parse` returns is only handed back to the same format; the registry does not look into it.
    """

    @property
    def name(self) -> str:
        """AVRO, PROTOBUF or JSON."""

    def parse(self, text: str, references: Mapping[str, str]) -> Any:
        """Raise InvalidSchema, with a message that says where and why, if the text is not a schema.

        `references` are the texts of all schemas referred to, directly or not, by the name they are referred to; each
        comes after those it refers to itself.
        """

    def canonical(self, parsed: Any) -> str:
        """The one text of all schemas that mean the same: without it, they are the same only if written the same."""

    def incompatibilities(self, reader: Any, writer: Any) -> list[Incompatibility]:
        """Why `reader` cannot read what `writer` wrote; nothing when it can."""

    def reuses(self, newer: Any, older: Any) -> list[Incompatibility]:
        """What `newer` takes for something new that `older` set aside for good, whoever reads what the other wrote."""
