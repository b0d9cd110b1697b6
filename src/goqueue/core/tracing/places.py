"""Places: runs of records with the same operation, each of which becomes one span run."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from goqueue.model.contexts import NO_CONTEXTS, PackedContexts, pack
from goqueue.model.runs import Runs, runs_of
from goqueue.model.trace import TraceContext

__all__ = ["Place", "by_delivery", "leave_out", "together"]


class Place(NamedTuple):
    """`length` records from `offset` on, `step` apart; with a context, a key or an id it is one record.

    Records that carry contexts are at the distances in `contexts`.
    """

    offset: int
    length: int = 1
    context: TraceContext | None = None
    key: bytes | None = None
    id: str = ""
    delivery: int = 0
    step: int = 1
    contexts: PackedContexts = NO_CONTEXTS

    @property
    def offsets(self) -> Sequence[int]:
        if self.contexts:
            return [self.offset + distance for distance, _ in self.contexts]
        return range(self.offset, self.offset + self.length * self.step, self.step)


def together(carriers: Sequence[tuple[int, TraceContext]]) -> Place:
    """Records that carry contexts, by offset, as one place."""
    first, context = carriers[0]
    if len(carriers) == 1:
        return Place(first, 1, context)
    return Place(first, len(carriers), contexts=pack((offset - first, one) for offset, one in carriers))


def leave_out(runs: Runs, others: Collection[int]) -> Runs:
    """Runs without those offsets."""
    if not others:
        return runs
    kept: list[tuple[int, int]] = []
    for first, count in runs:
        kept += runs_of([offset for offset in range(first, first + count) if offset not in others])
    return tuple(kept)


def by_delivery(places: Iterable[Place], deliveries: Mapping[int, int], usual: int = 1) -> list[Place]:
    """The places with their delivery numbers: `usual`, except for those in `deliveries`."""
    if not deliveries:
        return [place._replace(delivery=usual) for place in places]
    found = []
    for place in places:
        apart = [one for one in place.offsets if one in deliveries]
        if len(apart) == place.length == 1 or not apart:
            found.append(place._replace(delivery=deliveries.get(place.offset, usual)))
            continue
        if place.contexts:
            found += _carriers_by_delivery(place, deliveries, usual)
            continue
        rest = runs_of([one for one in place.offsets if one not in deliveries])
        found += [Place(first, count, delivery=usual) for first, count in rest]
        found += [Place(one, delivery=deliveries[one]) for one in apart]
    return found


def _carriers_by_delivery(place: Place, deliveries: Mapping[int, int], usual: int) -> list[Place]:
    by_number: dict[int, list[tuple[int, TraceContext]]] = {}
    for distance, context in place.contexts:
        offset = place.offset + distance
        by_number.setdefault(deliveries.get(offset, usual), []).append((offset, context))
    return [together(carriers)._replace(delivery=number) for number, carriers in by_number.items()]
