"""Crash states: the states after a power cut that are worth testing, out of the many possible ones."""

from collections.abc import Iterable, Iterator
from itertools import product

from goqueue.testing.disk_image import Change, Image, Linked, Renamed, Unlinked, Wrote
from goqueue.testing.entropy import SeededEntropy
from goqueue.testing.power_cut import KEPT, LOST, ZEROED, Fate, Pending, Platter, torn

__all__ = ["crash_states"]

NAMES = (Linked, Renamed, Unlinked)


def crash_states(
    platter: Platter,
    entropy: SeededEntropy,
    *,
    exhaustive: int = 4,
    singles: bool = True,
    samples: int = 4,
    cuts: int = 4,
    sector: int = 512,
) -> Iterator[Image]:
    """States that a power cut may leave now.

    Always: nothing unsynced, all of it, all names but no data (files grown or not), all data but no names. With up to
    `exhaustive` pending changes: every combination of kept and lost. With more, and `singles`: each lost alone and each
    kept alone. The newest write torn at `cuts` bytes (0: at every byte), with all other changes kept and with all of
    them lost. `samples` random mixtures, with writes torn at any byte or at any set of sectors.
    """
    pending = platter.pending()
    yield platter.image({})
    if not pending:
        return
    numbers = [number for number, _ in pending]
    names = dict.fromkeys((n for n, change in pending if isinstance(change, NAMES)), KEPT)
    yield platter.image({}, KEPT)
    yield platter.image(names)
    yield platter.image(names, ZEROED)
    yield platter.image(dict.fromkeys(names, LOST), KEPT)
    if len(pending) <= exhaustive:
        for fates in product((KEPT, LOST), repeat=len(pending)):
            yield platter.image(dict(zip(numbers, fates, strict=True)))
    elif singles:
        for number in numbers:
            yield platter.image({number: LOST}, KEPT)
            yield platter.image({number: KEPT})
    yield from _newest_torn(platter, pending, names, entropy, cuts)
    for _ in range(samples):
        fates_by_number = {number: _draw(change, entropy, sector) for number, change in pending}
        yield platter.image(fates_by_number, names_in_order=entropy.chance(2))


def _newest_torn(
    platter: Platter, pending: list[Pending], names: dict[int, Fate], entropy: SeededEntropy, cuts: int
) -> Iterator[Image]:
    number, change = pending[-1]
    if not isinstance(change, Wrote):
        return
    length = len(change.data)
    places: Iterable[int] = range(1, length)
    if 0 < cuts < length - 1:
        places = sorted({1 + entropy.below(length - 1) for _ in range(cuts)})
    for place in places:
        yield platter.image({number: torn(place)}, KEPT)
        yield platter.image({number: torn(place, grown=True)}, KEPT)
        yield platter.image(names | {number: torn(place)})


def _draw(change: Change, entropy: SeededEntropy, sector: int) -> Fate:
    if not isinstance(change, Wrote):
        return KEPT if entropy.chance(2) else LOST
    kind = entropy.below(8)
    if kind < 3:
        return KEPT
    if kind < 5:
        return LOST
    if kind == 5:
        return ZEROED
    if kind == 6:
        return torn(entropy.below(len(change.data) + 1), grown=entropy.chance(2))
    return Fate(tuple(_some_sectors(change, entropy, sector)), entropy.chance(2))


def _some_sectors(change: Wrote, entropy: SeededEntropy, sector: int) -> Iterator[tuple[int, int]]:
    end = change.position + len(change.data)
    start = change.position
    while start < end:
        stop = min(end, (start // sector + 1) * sector)
        if entropy.chance(2):
            yield start - change.position, stop - change.position
        start = stop
