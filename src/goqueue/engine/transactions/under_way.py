"""Transactions that take nothing more: being ended, only to be aborted, or of an earlier run of the broker."""

import asyncio
from collections.abc import Iterable
from typing import TYPE_CHECKING

from goqueue.engine.machines import COORDINATOR
from goqueue.engine.partition import Partition
from goqueue.engine.ports import Operation
from goqueue.engine.streams import Streams
from goqueue.errors import TransactionConflict, TransactionEnded

if TYPE_CHECKING:
    from goqueue.core.transactions.events import Began

__all__ = ["Endings"]


class Endings:
    """In memory only: after a restart everything that was open is aborted."""

    def __init__(self) -> None:
        self._ending: dict[int, asyncio.Future[None]] = {}
        self._broken: dict[int, str] = {}
        self._unwritten: dict[int, Began] = {}
        self.left_over: set[int] = set()
        """Open when the broker stopped, and to be aborted: nobody knows whether all of their writes arrived."""

        self.orphans: dict[int, list[Partition]] = {}
        """Transactions with records in these partitions that are not known any more, to be aborted as well."""

    def is_ending(self, numbers: Iterable[int]) -> bool:
        return any(number in self._ending for number in numbers)

    def check(self, number: int) -> None:
        """Whether more may be added to it."""
        if number in self.left_over:
            raise TransactionEnded(f"transaction {number} was open when the broker stopped, and is aborted")
        if number in self._ending:
            raise TransactionConflict(f"transaction {number} is being ended", hint="begin another transaction")

    def check_whole(self, number: int) -> None:
        """Whether it may be committed."""
        self.check(number)
        reason = self._broken.get(number)
        if reason is not None:
            raise TransactionConflict(f"transaction {number} is not complete: {reason}", hint="abort it, and try again")

    def break_off(self, number: int, reason: str) -> None:
        """Something that belongs to it was not written: it can only be aborted."""
        self._broken[number] = reason

    async def settled(self, numbers: Iterable[int]) -> None:
        """Wait for whoever ends one of them right now."""
        for number in numbers:
            while (ending := self._ending.get(number)) is not None:
                await asyncio.wait((ending,))

    def began(self, event: "Began") -> None:
        """It is written down with whatever comes next: one that nothing ever belonged to need not survive."""
        self._unwritten[event.number] = event

    def unwritten(self, number: int, streams: Streams) -> list[Operation]:
        """What has to be written before the next event of the transaction; call `noted` when it was."""
        event = self._unwritten.get(number)
        return [] if event is None else [streams.event(COORDINATOR, event)]

    def noted(self, number: int) -> None:
        """Its beginning is on disk. Until that is known it is written again: whatever it went with may be refused."""
        self._unwritten.pop(number, None)

    def begin(self, numbers: Iterable[int]) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._ending.update(dict.fromkeys(numbers, future))

    def finish(self, numbers: Iterable[int], *, ended: bool) -> None:
        for number in numbers:
            future = self._ending.pop(number)
            if not future.done():
                future.set_result(None)
            if ended:
                self._unwritten.pop(number, None)
                self._broken.pop(number, None)
                self.left_over.discard(number)
