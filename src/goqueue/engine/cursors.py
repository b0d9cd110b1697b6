"""Page cursors: places in a topic as text, from which the next page of a list continues."""

import re

from goqueue.engine.browse import Place
from goqueue.errors import InvalidRequest

__all__ = ["CURSOR_PATTERN", "cursor_of", "place_of"]

LARGEST = (1 << 63) - 1

CURSOR_PATTERN = r"^[0-9]{1,19}\.[0-9]{1,5}\.[0-9]{1,19}$"
_CURSOR = re.compile(CURSOR_PATTERN, re.ASCII)


def cursor_of(place: Place | None) -> str | None:
    return None if place is None else "{}.{}.{}".format(*place)


def place_of(cursor: str) -> Place:
    if not _CURSOR.fullmatch(cursor):
        raise InvalidRequest(f"{cursor[:60]!r} is not a cursor", hint="use the next_cursor of the page before")
    timestamp_ns, partition, offset = map(int, cursor.split("."))
    return Place(min(timestamp_ns, LARGEST - 1), partition, min(offset, LARGEST - 1))
