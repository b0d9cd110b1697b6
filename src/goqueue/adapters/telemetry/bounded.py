"""Label sets that stay small: so many are shown by name, and all others together."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Annotated, Generic, TypeVar

import msgspec

__all__ = ["MetricsSettings", "Names", "Sums"]

Count = Annotated[int, msgspec.Meta(ge=1, le=10_000)]
Name = TypeVar("Name", bound=Hashable)


class MetricsSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many series `/metrics` has; what is not shown by name is added up under `other`."""

    topics: Count = 200
    """Topics that are shown by name."""
    groups: Count = 200
    """Groups, and groups in topics, that are shown by name."""


class Names(Generic[Name]):
    """The first so many that are met. One that goes makes room for one that comes, and not for one that is there.

    So what has a name keeps it, and what has none never gets one: a series does not jump from one to the other. Whoever
    is really called as all the others are together is one of them.
    """

    def __init__(self, most: int, others: Name) -> None:
        self._most = most
        self._others = others
        self._known: Mapping[Name, object] = {}
        self._named: set[Name] = set()

    def __contains__(self, name: Name) -> bool:
        return name in self._named

    def update(self, present: Iterable[Name]) -> None:
        """Those that are there now. While there is no room for another, this takes no longer for very many."""
        there = present if isinstance(present, dict) else dict.fromkeys(present)
        self._named = {name for name in self._named if name in there}
        if len(self._named) < self._most:
            for name in there:
                if name not in self._known and name != self._others:
                    self._named.add(name)
                    if len(self._named) == self._most:
                        break
        self._known = there


class Sums(Generic[Name]):
    """The totals of those without a name, which must not shrink when one of them goes."""

    def __init__(self, width: int) -> None:
        self._seen: dict[Name, Sequence[int]] = {}
        self._met: dict[Name, Sequence[int]] = {}
        self.totals = [0] * width

    def update(self, counts: Mapping[Name, Sequence[int]]) -> None:
        """What each has counted by now."""
        for name, now in counts.items():
            self.meet(name, now)
        self.finish()

    def meet(self, name: Name, now: Sequence[int]) -> None:
        """As `update`, one by one; `finish` has to follow when all were met. Of those at 0 nothing is kept."""
        if not any(now):
            return
        before = self._seen.get(name)
        for place, value in enumerate(now):
            grown = value - before[place] if before is not None else value
            # It went and came again, and began at nothing.
            self.totals[place] += value if grown < 0 else grown
        self._met[name] = now

    def finish(self) -> None:
        self._seen, self._met = self._met, {}
