"""Whether the values of records fit a schema, whatever its format.

A value made by a serializer for registries is framed: a zero byte, the id of its schema in four bytes, and the payload,
which for Protobuf begins with the path to its message. No JSON text begins with a zero byte.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

__all__ = ["FRAME_BYTES", "Payloads", "Problem", "framed_id", "payloads_of"]

FRAME_BYTES = 5


class Problem(NamedTuple):
    """Why a payload does not fit; the path leads to its place as a JSON pointer does, empty for the whole."""

    path: str
    reason: str


class Payloads(Protocol):
    """What is made of one schema to check payloads with."""

    def fit(self, payloads: Sequence[bytes]) -> bool:
        """Whether all of them do; quicker than to ask for the problem of each."""

    def problem(self, payload: bytes) -> Problem | None: ...

    def problem_of_large(self, payload: bytes) -> Problem | None:
        """The same in another thread, for one payload at a time, while the event loop asks for those of others."""


def framed_id(value: bytes) -> int | None:
    """The id of its schema; None when the value is not framed."""
    if len(value) < FRAME_BYTES or value[0]:
        return None
    return int.from_bytes(value[1:FRAME_BYTES], "big")


def payloads_of(parsed: Any) -> Payloads:
    """`parsed` is what a format made of the text of a schema."""
    # The libraries of all formats are loaded with it: not before there is a schema to check values against.
    from goqueue.core.schemas.payload_checks import checks_of

    return checks_of(parsed)
