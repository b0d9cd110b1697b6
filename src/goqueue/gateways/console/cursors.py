"""Places in a topic as they stand in links: where the next page of a list begins."""

import re

from goqueue.engine.browse import Place
from goqueue.errors import InvalidRequest

__all__ = ["cursor", "numbers", "place"]

LARGEST = (1 << 63) - 1

_PLACE = re.compile(r"([0-9]{1,19})\.([0-9]{1,5})\.([0-9]{1,19})", re.ASCII)
_NUMBERS = re.compile(r"[0-9]{1,19}(?:\.[0-9]{1,19})*", re.ASCII)


def cursor(given: Place | None) -> str:
    """Empty for none."""
    return "" if given is None else "{}.{}.{}".format(*given)


def place(text: str) -> Place | None:
    if not text:
        return None
    found = _PLACE.fullmatch(text)
    if found is None:
        raise InvalidRequest(f"{text[:60]!r} is not a place in a topic", hint="use the buttons to go on")
    timestamp_ns, partition, offset = map(int, found.groups())
    return Place(min(timestamp_ns, LARGEST - 1), partition, min(offset, LARGEST - 1))


def numbers(text: str) -> tuple[int, ...] | None:
    """Offsets by partition, with dots between them."""
    if not text:
        return None
    if not _NUMBERS.fullmatch(text):
        raise InvalidRequest(f"{text[:60]!r} are no offsets", hint="begin again from the list")
    return tuple(min(int(one), LARGEST - 1) for one in text.split("."))
