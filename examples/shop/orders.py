"""What is an order? Its fields, the schema that every order has to fit, and the two thousand of this day."""

from collections.abc import Iterator
from typing import Any

import msgspec

__all__ = [
    "ECONOMY",
    "EXPRESS",
    "INVOICES",
    "ORDERS",
    "PAYMENTS",
    "PRIORITIES",
    "SCHEMA",
    "STANDARD",
    "Order",
    "is_cancelled_later",
    "orders_of_the_day",
]

ORDERS, PAYMENTS, INVOICES = "orders", "payments", "invoices"
"""Topics."""

EXPRESS, STANDARD, ECONOMY = "express", "standard", "economy"
PRIORITIES = {EXPRESS: 0, STANDARD: 2, ECONOMY: 4}
"""Of five, 0 is the most urgent."""

ITEMS = (
    ("coffee", "espresso beans 1 kg", 2190),
    ("coffee", "filter papers", 390),
    ("tea", "first flush 250 g", 1850),
    ("kitchen", "chef's knife", 7900),
    ("kitchen", "cast iron pan", 5490),
    ("books", "the art of bread", 3200),
    ("garden", "lavender, three pots", 1470),
)
CUSTOMERS = 311

SCHEMA: dict[str, Any] = {
    "type": "object",
    "title": "Order",
    "properties": {
        "number": {"type": "integer", "minimum": 1},
        "customer": {"type": "string", "pattern": "^customer-[0-9]+$"},
        "category": {"enum": sorted({category for category, _, _ in ITEMS})},
        "item": {"type": "string"},
        "cents": {"type": "integer", "minimum": 1},
        "currency": {"type": "string"},
        "card": {"type": "string"},
        "shipping": {"enum": [EXPRESS, STANDARD, ECONOMY]},
        "on_sale_ns": {"type": ["integer", "null"]},
    },
    "required": ["number", "customer", "category", "item", "cents", "currency", "card", "shipping"],
    "additionalProperties": False,
}


class Order(msgspec.Struct, frozen=True):
    number: int
    customer: str
    category: str
    item: str
    cents: int
    currency: str
    card: str
    shipping: str
    on_sale_ns: int | None = None
    """Of something that is announced already: nobody may have it before."""

    @property
    def priority(self) -> int:
        return PRIORITIES[self.shipping]

    @property
    def id(self) -> str:
        """By which the broker knows an order that comes twice."""
        return f"order-{self.number}"


def orders_of_the_day(count: int, on_sale_ns: int) -> Iterator[Order]:
    """The same ones every day, apart from the moment at which the sale begins."""
    for number in range(1, count + 1):
        category, item, cents = ITEMS[number * 31 // 9 % len(ITEMS)]
        yield Order(
            number,
            # A few customers order much more than others.
            f"customer-{number * number % CUSTOMERS}",
            category,
            item,
            cents * (1 + number % 3),
            # It fits the schema, and yet nobody can charge it: a poison message.
            "EURO" if number % 60 == 31 else "EUR",
            "stolen" if number % 125 == 77 else f"card-{number % 97}",
            EXPRESS if number % 10 == 0 else ECONOMY if number % 10 in (4, 8) else STANDARD,
            on_sale_ns if number % 20 == 13 else None,
        )


def is_cancelled_later(order: Order) -> bool:
    """Customers who have second thoughts before the sale begins."""
    return order.on_sale_ns is not None and order.number % 100 == 13
