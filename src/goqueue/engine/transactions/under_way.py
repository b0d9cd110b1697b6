"""Transactions in progress that accept no more writes: ending, broken, or left from an earlier run of the broker."""

import asyncio
from collections import Counter
from collections.abc import Iterable

from goqueue.engine.group_commit import Done
from goqueue.engine.partition import Partition
from goqueue.errors import GoQueueError, TransactionConflict, TransactionEnded

__all__ = ["Endings"]


class Endings:
    """In memory only: after a restart everything that was open is aborted."""

    def __init__(self) -> None:
        self._ending: dict[int, asyncio.Future[None]] = {}
        self._broken: dict[int, str] = {}
        self._writes: Counter[int] = Counter()
        self._waiting: dict[int, asyncio.Future[None]] = {}
        self.left_over: set[int] = set()
        """Open when the broker stopped, and to be aborted, as some of their writes may be lost."""

        self.orphans: dict[int, list[Partition]] = {}
        """Unknown transactions with records in these partitions, to be aborted as well."""

    def is_ending(self, numbers: Iterable[int]) -> bool:
        return any(number in self._ending for number in numbers)

    def check(self, number: int) -> None:
        """Raise if the transaction accepts no more writes."""
        if number in self.left_over:
            raise TransactionEnded(f"transaction {number} was open when the broker stopped, and is aborted")
        if number in self._ending:
            raise TransactionConflict(f"transaction {number} is being ended", hint="begin another transaction")

    def check_whole(self, number: int) -> None:
        """Raise if the transaction cannot be committed."""
        self.check(number)
        self.check_complete(number)

    def check_complete(self, number: int) -> None:
        """Raise if a write of the transaction was refused."""
        reason = self._broken.get(number)
        if reason is not None:
            raise TransactionConflict(f"transaction {number} is not complete: {reason}", hint="abort it, and try again")

    def break_off(self, number: int, reason: str) -> None:
        """Note that a write of the transaction failed: it can only be aborted."""
        self._broken[number] = reason

    async def settled(self, numbers: Iterable[int]) -> None:
        """Wait until no end of these transactions is in progress."""
        for number in numbers:
            while (ending := self._ending.get(number)) is not None:
                await asyncio.wait((ending,))

    def track(self, number: int) -> Done:
        """Returns a callback for the outcome of a write. The transaction ends after it, and cannot commit if it was
        refused."""
        self._writes[number] += 1

        def told(refusal: GoQueueError | None) -> None:
            self._written(number)
            if refusal is not None:
                self.break_off(number, refusal.message)

        return told

    def _written(self, number: int) -> None:
        self._writes[number] -= 1
        if not self._writes[number]:
            del self._writes[number]
            if number in self._waiting:
                self._waiting.pop(number).set_result(None)

    async def writes_done(self, numbers: Iterable[int]) -> None:
        """Wait for the writes in progress of these transactions."""
        for number in numbers:
            if number in self._writes:
                if number not in self._waiting:
                    self._waiting[number] = asyncio.get_running_loop().create_future()
                await asyncio.wait((self._waiting[number],))

    def begin(self, numbers: Iterable[int]) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._ending.update(dict.fromkeys(numbers, future))

    def finish(self, numbers: Iterable[int], *, ended: bool) -> None:
        for number in numbers:
            future = self._ending.pop(number)
            if not future.done():
                future.set_result(None)
            if ended:
                self._broken.pop(number, None)
                self.left_over.discard(number)
