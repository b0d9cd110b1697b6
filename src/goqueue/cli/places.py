"""Records as people name them: 0/17 is one of partition 0, 0/17-25 are nine of it."""

import re
from collections.abc import Iterable, Iterator

from goqueue.cli.failures import Refused

__all__ = ["MOST_PLACES", "parse_places"]

MOST_PLACES = 10_000

_PLACES = re.compile(r"(\d{1,5})/(\d{1,18})(?:-(\d{1,18}))?", re.ASCII)


def parse_places(texts: Iterable[str], *, hint: str = "and the others afterwards") -> list[tuple[int, int]]:
    """Partitions and offsets; `hint` says what else can be done when they are too many."""
    found = [place for text in texts for place in _places(text)]
    if len(found) > MOST_PLACES:
        raise Refused(f"{len(found)} offsets", hint=f"name at most {MOST_PLACES} at once, {hint}")
    return found


def _places(text: str) -> Iterator[tuple[int, int]]:
    found = _PLACES.fullmatch(text)
    if found is None:
        raise Refused(f"{text!r} is not a place", hint="write partition and offset, such as 0/17 or 0/17-25")
    first = int(found[2])
    last = int(found[3] or first)
    if not first <= last < first + MOST_PLACES:
        hint = f"write the lower offset first, and name at most {MOST_PLACES}"
        raise Refused(f"{text!r} has its ends the wrong way round, or too far apart", hint=hint)
    return ((int(found[1]), offset) for offset in range(first, last + 1))
