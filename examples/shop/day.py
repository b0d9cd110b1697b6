"""What is known of the day? All that the acts have seen, gathered for the report and for the last screen."""

from typing import Any

import msgspec

from examples.shop.counting import Books
from examples.shop.crashing import LastWords
from examples.shop.placing import TurnedAway
from examples.shop.redriving import Redriven
from examples.shop.streaming import Read

__all__ = ["Broker", "Check", "Day", "Step", "checks_of"]


class Broker(msgspec.Struct, frozen=True):
    """What the broker itself says at the end of the day."""

    committed: int
    aborted: int
    aborted_records: dict[str, int]
    """By topic."""
    delivered_later: int
    cancelled: int
    nacked: int
    ran_out: int
    """Leases of those who did not come back."""


class Step(msgspec.Struct, frozen=True):
    """Of the life of one order."""

    after_s: float
    what: str
    by: str
    note: str


class Day(msgspec.Struct, frozen=True):
    placed: int
    announced: int
    double_clicks: int
    turned_away: TurnedAway
    killed: tuple[LastWords, ...]
    dead: dict[str, int]
    """Letters by cause, before any was sent back."""
    redriven: Redriven
    read: Read
    books: Books
    held: tuple[int, ...]
    """Orders that are dead letters now, and wait for a person."""
    broker: Broker
    unlucky: int
    """The number of the order whose life is told."""
    life: tuple[Step, ...]
    spark: dict[str, dict[str, Any]]
    """Answers by question; none without Spark."""
    without_spark: str = ""
    """Why there is none."""

    @property
    def cancelled(self) -> set[int]:
        """Orders that were placed, and that nobody ever sees."""
        return set(range(1, self.placed + 1)) - self.books.orders.keys()


class Check(msgspec.Struct, frozen=True):
    what: str
    expected: int
    found: int

    @property
    def holds(self) -> bool:
        return self.expected == self.found


def checks_of(day: Day) -> list[Check]:
    """What must hold whatever happens to the tills."""
    books, paid, held = day.books, day.books.paid, set(day.held)
    early = sum(1 for after in books.after_sale_began_ms() if after < 0)
    return [
        Check(
            "orders that were paid, cancelled, or are held for a person", day.placed, len(paid | held | day.cancelled)
        ),
        Check("orders in two of these states", 0, len(paid & held) + len((paid | held) & day.cancelled)),
        Check("payments, and orders that were charged", len(books.payments), len(paid)),
        Check("payments, and invoices for them", len(books.payments), len(books.invoices)),
        Check("orders without their invoice", 0, len(paid ^ set(books.invoices))),
        Check("orders delivered before their sale began", 0, early),
        Check("cancelled orders, by the log and by the broker", day.broker.cancelled, len(day.cancelled)),
    ]
