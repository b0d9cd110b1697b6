"""What a broker has to offer to be measured: the port that each adapter fills."""

from collections.abc import Sequence
from typing import Protocol

import msgspec

__all__ = ["Adapter", "Publisher", "Reader", "Subject"]


class Subject(msgspec.Struct, frozen=True):
    """A topic, stream or queue, and the groups that each get all of its records."""

    name: str
    groups: tuple[str, ...] = ()


class Publisher(Protocol):
    """One connection that publishes."""

    async def publish(self, values: Sequence[bytes]) -> None:
        """Hand over records, and wait until the broker has confirmed all of them."""

    async def close(self) -> None: ...


class Reader(Protocol):
    """One connection that takes records and acknowledges them."""

    async def next(self, limit: int, wait_s: float) -> int:
        """Acknowledge what came before, and wait for more: how many came, none when there is nothing in time.

        Both in whatever way is quickest for the client. What came before is acknowledged when this returns.
        """

    async def close(self) -> None: ...


class Adapter(Protocol):
    """A client library at its best. `is_alone` tells that a process has no more than one connection."""

    def __init__(self, address: str, *, is_alone: bool) -> None: ...

    async def create(self, subject: Subject) -> None: ...

    async def drop(self, subject: Subject) -> None: ...

    async def publisher(self, subject: Subject) -> Publisher: ...

    async def worker(self, subject: Subject, group: str) -> Reader:
        """Shares the records of the group with other workers, and acknowledges each of them."""

    async def follower(self, subject: Subject, group: str) -> Reader:
        """Is the only one of its group, and may remember how far it came."""

    async def close(self) -> None: ...
