"""What does the card service say? Mostly yes; at times nothing, at first; never to a stolen card."""

from examples.shop.orders import Order

__all__ = ["CardRefused", "CardServiceDown", "charge"]


class CardServiceDown(Exception):
    """It may work the next time."""


class CardRefused(Exception):
    """It will never work."""


def charge(order: Order, failures: int) -> None:
    """Returns if the card was charged. An order that has failed before is not as unlucky again."""
    if order.card == "stolen":
        raise CardRefused("the card is reported as stolen")
    if order.currency != "EUR":
        raise CardServiceDown(f"no rate for the currency {order.currency}")
    if order.number % 12 == 5 and failures == 0:
        raise CardServiceDown("timeout after 3 s at the card service")
