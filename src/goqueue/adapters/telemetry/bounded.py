"""Bounded label sets: a limited number of names has a series each, all others share one."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Annotated, Generic, TypeVar

import msgspec

__all__ = ["MetricsSettings", "Names", "Sums"]

Count = Annotated[int, msgspec.Meta(ge=1, le=10_000)]
Name = TypeVar("Name", bound=Hashable)


class MetricsSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of the series on `/metrics`; topics and groups beyond them are summed up under `other`."""

    topics: Count = 200
    """Maximum of topics shown by name."""
    groups: Count = 200
    """Maximum of groups, and of groups in topics, shown by name."""


class Names(Generic[Name]):
    """The first names that were seen, up to a limit. A name that goes makes room for a new name, not for a known one.

    So a named series stays named, and the others never become named: no count moves from one series to another. A name
    equal to that of the shared series belongs to the shared series.
    """

    def __init__(self, most: int, others: Name) -> None:
        self._most = most
        self._others = others
        self._known: Mapping[Name, object] = {}
        self._named: set[Name] = set()

    def __contains__(self, name: Name) -> bool:
        return name in self._named

    def update(self, present: Iterable[Name]) -> None:
        """Update to the present names; if the limit is reached, the time does not depend on their number."""
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
    """Totals over the unnamed, which do not shrink when one of them goes."""

    def __init__(self, width: int) -> None:
        self._seen: dict[Name, Sequence[int]] = {}
        self._met: dict[Name, Sequence[int]] = {}
        self.totals = [0] * width

    def update(self, counts: Mapping[Name, Sequence[int]]) -> None:
        """Update with the current counts of each name."""
        for name, now in counts.items():
            self.meet(name, now)
        self.finish()

    def meet(self, name: Name, now: Sequence[int]) -> None:
        """Update with one name; `finish` must follow after the last. Counts of 0 take no memory."""
        if not any(now):
            return
        before = self._seen.get(name)
        for place, value in enumerate(now):
            grown = value - before[place] if before is not None else value
            # The name was removed and created again, and its count began at 0.
            self.totals[place] += value if grown < 0 else grown
        self._met[name] = now

    def finish(self) -> None:
        self._seen, self._met = self._met, {}
