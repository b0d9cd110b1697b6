"""Records to which the same happens, cut into runs that one span each can stand for."""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from goqueue.model.runs import Runs, runs_of
from goqueue.model.trace import TraceContext

__all__ = ["Place", "by_delivery", "leave_out"]


class Place(NamedTuple):
    """`length` records from `offset` on, `step` apart; with a context, a key or an id it is one record."""

    offset: int
    length: int = 1
    context: TraceContext | None = None
    key: bytes | None = None
    id: str = ""
    delivery: int = 0
    step: int = 1

    @property
    def offsets(self) -> range:
        return range(self.offset, self.offset + self.length * self.step, self.step)


def leave_out(runs: Runs, others: Collection[int]) -> Runs:
    """Runs without those offsets."""
    if not others:
        return runs
    kept: list[tuple[int, int]] = []
    for first, count in runs:
        kept += runs_of([offset for offset in range(first, first + count) if offset not in others])
    return tuple(kept)


def by_delivery(places: Iterable[Place], deliveries: Mapping[int, int], usual: int = 1) -> list[Place]:
    """With the number of the delivery they belong to: `usual`, but for some."""
    if not deliveries:
        return [place._replace(delivery=usual) for place in places]
    found = []
    for place in places:
        apart = [one for one in place.offsets if one in deliveries]
        if len(apart) == place.length == 1 or not apart:
            found.append(place._replace(delivery=deliveries.get(place.offset, usual)))
            continue
        rest = runs_of([one for one in place.offsets if one not in deliveries])
        found += [Place(first, count, delivery=usual) for first, count in rest]
        found += [Place(one, delivery=deliveries[one]) for one in apart]
    return found
