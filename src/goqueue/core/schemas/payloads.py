"""Payloads of records: whether they match a schema, whatever its format.

A value made by a serializer for registries is framed: a zero byte, the id of its schema in four bytes, and the payload,
which for Protobuf begins with the path to its message. No JSON text begins with a zero byte.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

__all__ = ["FRAME_BYTES", "Payloads", "Problem", "framed_id", "payloads_of"]

FRAME_BYTES = 5


class Problem(NamedTuple):
    """Why a payload does not match; the path is a JSON pointer to the place, empty for the whole."""

    path: str
    reason: str


class Payloads(Protocol):
    """Checks for payloads of one schema."""

    def fit(self, payloads: Sequence[bytes]) -> bool:
        """Whether all payloads match; faster than asking for the problem of each."""

    def problem(self, payload: bytes) -> Problem | None: ...

    def problem_of_large(self, payload: bytes) -> Problem | None:
        """Like `problem`, for use in another thread, one payload at a time, while the event loop checks others."""


def framed_id(value: bytes) -> int | None:
    """The schema id of a framed value; None when the value is not framed."""
    if len(value) < FRAME_BYTES or value[0]:
        return None
    return int.from_bytes(value[1:FRAME_BYTES], "big")


def payloads_of(parsed: Any) -> Payloads:
    """`parsed` is the result of parsing a schema."""
    # Imported late, as it imports the libraries of all formats, which are needed only once there is a schema.
    from goqueue.core.schemas.payload_checks import checks_of

    return checks_of(parsed)
