"""How do orders come in? With a schema, a priority, an id against double clicks, some of them for later."""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec

from examples.shop.opening import Address
from examples.shop.orders import ORDERS, SCHEMA, STANDARD, Order
from goqueue.client.schemas.sync import JsonSerializer, Registry
from goqueue.client.sync import Admin, Delivery, Producer, Sent
from goqueue.errors import SchemaMismatch, SchemaViolation

__all__ = ["Placed", "TurnedAway", "cancel", "place", "turn_away"]

CHANNELS = ("web", "app", "phone")
DOUBLE_CLICK_EVERY = 50
WRONG = {"number": 0, "customer": "nobody", "cents": -5, "shipping": STANDARD}


class Placed(msgspec.Struct, frozen=True):
    places: dict[int, Sent]
    """By the number of the order: where in the log it is."""
    double_clicks: int
    """Orders that came once more, and were not written again."""


class TurnedAway(msgspec.Struct, frozen=True):
    by_client: int
    by_broker: int


def place(shop: Address, orders: Sequence[Order]) -> Placed:
    """Three channels at the same time, each with a producer of its own."""
    shares = [orders[first :: len(CHANNELS)] for first in range(len(CHANNELS))]
    with ThreadPoolExecutor(len(CHANNELS)) as pool:
        parts = list(pool.map(lambda channel, share: _place(shop, channel, share), CHANNELS, shares))
    places = {number: sent for part in parts for number, sent in part.places.items()}
    return Placed(places, sum(part.double_clicks for part in parts))


def _place(shop: Address, channel: str, orders: Sequence[Order]) -> Placed:
    serializer = JsonSerializer(Registry(shop.registry), SCHEMA)
    with Producer(shop.native) as producer:

        def send(order: Order) -> Delivery:
            return producer.send(
                ORDERS,
                serializer.encode(ORDERS, msgspec.to_builtins(order)),
                key=order.customer.encode(),
                headers=[("channel", channel.encode())],
                priority=order.priority,
                id=order.id,
                deliver_at_ns=order.on_sale_ns,
            )

        deliveries = {order.number: send(order) for order in orders}
        places = {number: delivery.result() for number, delivery in deliveries.items()}
        impatient = [send(order) for order in orders[::DOUBLE_CLICK_EVERY]]
        return Placed(places, sum(delivery.result().duplicate for delivery in impatient))


def turn_away(shop: Address, count: int) -> TurnedAway:
    """Orders that do not fit: the serializer refuses them, and the broker those that come without one."""
    serializer = JsonSerializer(Registry(shop.registry), SCHEMA)
    by_client = by_broker = 0
    with Producer(shop.native) as producer:
        for number in range(count):
            try:
                if number % 2:
                    producer.send(ORDERS, serializer.encode(ORDERS, WRONG))
                else:
                    producer.send(ORDERS, msgspec.json.encode(WRONG)).result()
            except SchemaMismatch:
                by_client += 1
            except SchemaViolation:
                by_broker += 1
    return TurnedAway(by_client, by_broker)


def cancel(shop: Address, orders: Iterable[Order], places: Mapping[int, Sent]) -> int:
    """Second thoughts before the sale has begun: such an order is never delivered. How many were in time."""
    unwanted = [places[order.number] for order in orders]
    with Admin(shop.native) as admin:
        done = admin.cancel_delayed_many(ORDERS, [(sent.partition, sent.offset) for sent in unwanted])
    return len(done.cancelled)
