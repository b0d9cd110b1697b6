"""Decisions about larger transactions, by key, so that a repeated decision changes nothing.

Keys are remembered for 7 days. When there are more than 100,000, the oldest are forgotten first, but none younger than
a day: instead, a further decision is refused. A decision takes about 300 bytes, more when the numbers of its parts are
far apart.
"""

from collections import OrderedDict
from collections.abc import Iterable
from typing import NamedTuple

from pyroaring import BitMap64

from goqueue.core.transactions.events import Decided, Ended, KeptDecision
from goqueue.errors import AlreadyDecided, StateConflict
from goqueue.model.ids import InstantNs

__all__ = ["FORGET_AFTER_NS", "MOST_KEYS", "NEVER_BEFORE_NS", "Decision", "Decisions"]

DAY_NS = 24 * 3600 * 1_000_000_000
FORGET_AFTER_NS = 7 * DAY_NS
NEVER_BEFORE_NS = DAY_NS
MOST_KEYS = 100_000


class Decision(NamedTuple):
    """Write all events in one entry, with the effects of ending each part. None when it is a repeated decision."""

    events: tuple[Decided | Ended, ...]
    committed: tuple[int, ...]
    aborted: tuple[int, ...]


class Decisions:
    """Ordered by time of decision."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, KeptDecision] = OrderedDict()

    def __len__(self) -> int:
        return len(self._known)

    def remembered(self, key: str) -> Decided | None:
        kept = self._known.get(key)
        return None if kept is None else Decided(key, _unpacked(kept.committed), _unpacked(kept.aborted), kept.at)

    def check_undecided(self, key: str) -> None:
        if key in self._known:
            raise AlreadyDecided(f"what belongs to {key} has been decided, and nothing can be added")

    def repeated(self, key: str, numbers: set[int]) -> Decision | None:
        """The answer to a repeated decision; None for a key that is not decided yet."""
        before = self.remembered(key)
        if before is None:
            return None
        if set(before.committed) != numbers:
            raise AlreadyDecided(
                f"{key} was decided with other parts: {_some(before.committed)} were committed, not {_some(numbers)}",
            )
        return Decision((), before.committed, before.aborted)

    def check_room(self, now: InstantNs) -> None:
        if len(self._known) < MOST_KEYS:
            return
        oldest = next(iter(self._known.values()))
        if oldest.at + NEVER_BEFORE_NS > now:
            raise StateConflict(
                f"{MOST_KEYS} decisions were made within a day, and no more can be remembered",
                hint="decide less often, with more in each transaction",
            )

    def apply(self, event: Decided) -> None:
        self._known[event.key] = KeptDecision(event.key, _packed(event.committed), _packed(event.aborted), event.at)
        while len(self._known) > MOST_KEYS or next(iter(self._known.values())).at + FORGET_AFTER_NS <= event.at:
            self._known.popitem(last=False)

    def snapshot(self) -> tuple[KeptDecision, ...]:
        return tuple(self._known.values())

    def restore(self, decisions: tuple[KeptDecision, ...]) -> None:
        self._known = OrderedDict((one.key, one) for one in decisions)


def _packed(numbers: Iterable[int]) -> bytes:
    ordered = sorted(numbers)
    return bytes(BitMap64(ordered).serialize()) if ordered else b""


def _unpacked(packed: bytes) -> tuple[int, ...]:
    return tuple(BitMap64.deserialize(packed)) if packed else ()


def _some(numbers: Iterable[int]) -> str:
    """A few of the numbers, enough to recognise the decision."""
    ordered = sorted(numbers)
    named = ", ".join(map(str, ordered[:10]))
    return (f"{named} and {len(ordered) - 10} more" if len(ordered) > 10 else named) or "none"
