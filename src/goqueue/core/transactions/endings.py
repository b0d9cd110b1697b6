"""Outcomes of recently ended transactions, so that a repeated commit or abort gets the answer it missed."""

from collections import OrderedDict
from collections.abc import Iterable

from goqueue.core.transactions.transaction import Ending
from goqueue.errors import TransactionEnded

__all__ = ["ABORTED_BY_PRODUCER", "ENDINGS_REMEMBERED", "TIME_IS_UP", "Endings", "as_refusal"]

ENDINGS_REMEMBERED = 10_000

ABORTED_BY_PRODUCER = "its producer aborted it"
TIME_IS_UP = "its time was up"
"""The reason for ending an overdue transaction: these are counted."""


class Endings:
    """By number, in the order in which they ended; with total counts."""

    def __init__(self) -> None:
        self._known: OrderedDict[int, Ending] = OrderedDict()
        self.committed = 0
        self.aborted = 0
        self.timed_out = 0

    def get(self, number: int) -> Ending | None:
        return self._known.get(number)

    def apply(self, ending: Ending) -> None:
        self._known[ending.number] = ending
        if len(self._known) > ENDINGS_REMEMBERED:
            self._known.popitem(last=False)
        self.committed += ending.committed
        self.aborted += not ending.committed
        self.timed_out += not ending.committed and ending.why == TIME_IS_UP

    def snapshot(self) -> tuple[Ending, ...]:
        return tuple(self._known.values())

    def restore(self, endings: Iterable[Ending], *, committed: int, aborted: int, timed_out: int) -> None:
        self._known = OrderedDict((one.number, one) for one in endings)
        self.committed, self.aborted, self.timed_out = committed, aborted, timed_out


def as_refusal(ending: Ending) -> TransactionEnded:
    because = f": {ending.why}" if ending.why else ""
    if ending.committed:
        return TransactionEnded(
            f"transaction {ending.number} was committed{because}", hint="all of it took effect; begin another one"
        )
    return TransactionEnded(
        f"transaction {ending.number} was aborted{because}", hint="nothing of it took effect; begin another one"
    )
