"""What becomes of orders that failed too often? What can be mended is, and goes back; the others wait for people."""

from collections.abc import Iterator

import msgspec

from examples.shop.opening import Address
from examples.shop.orders import ORDERS, SCHEMA
from goqueue.client.schemas.sync import JsonDeserializer, JsonSerializer, Registry
from goqueue.client.sync import Admin, LetterEdit, LetterSelect
from goqueue.wire.native.letters import UNCHANGED, FoundLetter

__all__ = ["Redriven", "held_orders", "letters_of", "mend"]

PAGE = 200
WRONG_CURRENCY = "no rate for the currency"


class Redriven(msgspec.Struct, frozen=True):
    mended: int
    """Sent back with another value."""
    unchanged: int
    """Sent back as they were: they had bad luck."""
    left: int


def mend(shop: Address) -> Redriven:
    registry = Registry(shop.registry)
    writer, reader = JsonSerializer(registry, SCHEMA), JsonDeserializer(registry)
    counts = {"mended": 0, "unchanged": 0, "left": 0}
    with Admin(shop.native) as admin:
        for letter in list(letters_of(admin)):
            assert letter.origin is not None
            fate, edit = "unchanged", UNCHANGED
            if letter.origin.cause == "rejected":
                counts["left"] += 1
                continue
            if letter.origin.reason.startswith(WRONG_CURRENCY):
                order = {**reader.decode(letter.value), "currency": "EUR"}
                fate, edit = "mended", LetterEdit(("value",), writer.encode(ORDERS, order))
            which = LetterSelect(places=((letter.partition, letter.offset),))
            counts[fate] += admin.redrive_dead_letters(ORDERS, which, edit).done
    return Redriven(**counts)


def letters_of(admin: Admin) -> Iterator[FoundLetter]:
    """All dead letters of orders, page by page."""
    after = None
    while True:
        page = admin.dead_letters(ORDERS, limit=PAGE, after=after)
        yield from page.letters
        if page.next is None:
            return
        after = page.next


def held_orders(shop: Address) -> list[int]:
    """The numbers of orders that are dead letters now."""
    reader = JsonDeserializer(Registry(shop.registry))
    with Admin(shop.native) as admin:
        return [reader.decode(letter.value)["number"] for letter in letters_of(admin)]
