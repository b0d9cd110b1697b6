"""Suggestions for a topic or a group that does not exist: the nearest name that does."""

import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches

from goqueue.errors import GoQueueError, UnknownGroup, UnknownTopic

__all__ = ["suggest"]

_UNKNOWN = re.compile(r"there is no (?:topic|group) (\S+)")


def suggest(error: GoQueueError, names_of: Callable[[type[GoQueueError]], Iterable[str]]) -> None:
    """Put the nearest name in front of the hint; `names_of` is asked for what exists only when a name is unknown."""
    kind = type(error)
    if kind not in (UnknownTopic, UnknownGroup):
        return
    named = _UNKNOWN.match(error.message)
    close = get_close_matches(named[1], names_of(kind), n=1) if named else []
    if close:
        error.hint = f"did you mean {close[0]!r}? {error.hint or ''}".rstrip()
