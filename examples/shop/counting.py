"""What happened, by the log? Everything that is counted here is read back from the broker, not remembered."""

from collections import Counter
from collections.abc import Iterator
from statistics import median

import msgspec

from examples.shop.opening import Address
from examples.shop.orders import INVOICES, ORDERS, PAYMENTS, PRIORITIES, Order
from examples.shop.paying import Payment
from goqueue.client.schemas.sync import JsonDeserializer, Registry
from goqueue.client.sync import Admin, Consumer, LogId, Message

__all__ = ["Books", "books_of", "records_of"]

NS_PER_S = 1_000_000_000


class Books(msgspec.Struct, frozen=True):
    orders: dict[int, Order]
    """Those that anybody may see, by number; what was sent back is here as it was mended."""
    placed_ns: dict[int, int]
    payments: tuple[Payment, ...]
    invoices: tuple[int, ...]

    @property
    def paid(self) -> set[int]:
        return {payment.order for payment in self.payments}

    @property
    def cents(self) -> int:
        return sum(payment.cents for payment in self.payments)

    def waits_s(self) -> dict[str, tuple[int, float]]:
        """By shipping: how many orders, and how long one of them waited until a till had it. Not of announced ones."""
        waits: dict[str, list[int]] = {shipping: [] for shipping in PRIORITIES}
        for payment in self.payments:
            if self.orders[payment.order].on_sale_ns is None:
                waits[payment.shipping].append(payment.taken_ns - self.placed_ns[payment.order])
        return {name: (len(some), round(median(some) / NS_PER_S, 3)) for name, some in waits.items() if some}

    def by_second(self) -> list[tuple[int, dict[str, int]]]:
        """How many were taken to be paid in each second since the first order, by shipping."""
        began = min(self.placed_ns.values())
        counts: Counter[tuple[int, str]] = Counter(
            ((payment.taken_ns - began) // NS_PER_S, payment.shipping) for payment in self.payments
        )
        seconds = sorted({second for second, _ in counts})
        return [(second, {name: counts[second, name] for name in PRIORITIES}) for second in seconds]

    def after_sale_began_ms(self) -> list[float]:
        """Of each announced order that was paid: how long after the beginning of the sale a till had it."""
        found = ((payment.taken_ns, self.orders[payment.order].on_sale_ns) for payment in self.payments)
        return [round((taken - on_sale) / 1e6, 1) for taken, on_sale in found if on_sale is not None]


def books_of(shop: Address) -> Books:
    reader = JsonDeserializer(Registry(shop.registry))
    orders: dict[int, Order] = {}
    placed_ns: dict[int, int] = {}
    for message in records_of(shop, ORDERS):
        order = msgspec.convert(reader.decode(message.value), Order)
        orders[order.number] = order
        placed_ns.setdefault(order.number, message.timestamp_ns)
    payments = [msgspec.json.decode(one.value or b"", type=Payment) for one in records_of(shop, PAYMENTS)]
    invoices = [msgspec.json.decode(one.value or b"")["order"] for one in records_of(shop, INVOICES)]
    return Books(orders, placed_ns, tuple(payments), tuple(invoices))


def records_of(shop: Address, topic: str) -> Iterator[Message]:
    """All that are there now. A consumer without a group reads every partition, and leaves no trace."""
    with Admin(shop.native) as admin:
        logs = [LogId(topic, number) for number in range(admin.topic(topic).partitions)]
        ends = admin.offsets_at(logs, "latest")
    with Consumer(topic, bootstrap=shop.native) as consumer:
        while True:
            yield from consumer.poll(wait_ms=500, limit=1000)
            if all(consumer.position(log) >= end for log, end in ends.items()):
                return
