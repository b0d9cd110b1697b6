"""Which records a reader wants to see while transactions are under way, as it stands in a query."""

from typing import Annotated

from msgspec import Meta

from goqueue.errors import InvalidRequest
from goqueue.model.isolation import Isolation

__all__ = ["COMMITTED", "IsolationText", "isolation_of"]

COMMITTED = Isolation.COMMITTED.value

IsolationText = Annotated[
    str,
    Meta(
        description="read_uncommitted also shows records of transactions that are open or were aborted",
        extra_json_schema={"enum": [one.value for one in Isolation]},
    ),
]
"""The type of a field that takes an isolation; `isolation_of` reads it."""


def isolation_of(given: str) -> Isolation:
    try:
        return Isolation(given)
    except ValueError:
        raise InvalidRequest(
            f"isolation = {given[:60]!r} is no isolation", hint="write read_committed or read_uncommitted"
        ) from None
