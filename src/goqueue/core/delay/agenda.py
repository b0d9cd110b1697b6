"""Agenda of delays: pending offsets in order of due time. A cache beside the due times, never persisted.

An offset is in one of three places. A near one is in the timer wheel. One beyond its span is far, and enters the wheel
when it is near. One that is due and not yet removed is ripe: it is returned again on each call, so nothing is lost with
an event that was decided and never applied.

A new agenda starts in 1970 and treats everything as far; the first call with the current time sorts it. Offsets that
came due in between are therefore due at once.
"""

from collections.abc import Callable, Collection, Iterator
from itertools import islice

from pyroaring import BitMap64

from goqueue.core.delay.far import FarPages
from goqueue.core.delay.wheel import TimerWheel

__all__ = ["Agenda"]


class Agenda:
    """Like the wheel, it asks `due_of` for the due time of every offset that it holds."""

    def __init__(self, due_of: Callable[[int], int]) -> None:
        self._due_of = due_of
        self._now = 0
        self._ripe: dict[int, None] = {}
        # The due time of the first far offset, or an earlier instant.
        self._ripe_from = 0
        self._wheel = TimerWheel(due_of)
        self._far = FarPages()

    def __len__(self) -> int:
        return len(self._ripe) + len(self._wheel) + len(self._far)

    def add(self, offsets: Collection[int], dues: Collection[int]) -> None:
        if not dues:
            return
        end = self._wheel.end
        if min(dues) >= end:
            self._far.add(zip(offsets, dues, strict=True))
            return
        add, far = self._wheel.add, []
        for offset, due in zip(offsets, dues, strict=True):
            if due < end:
                add(offset, due)
            else:
                far.append((offset, due))
        self._far.add(far)

    def remove(self, offset: int, due: int) -> None:
        if self._wheel.cancel(offset, due):
            return
        if offset in self._ripe:
            del self._ripe[offset]
        else:
            self._far.remove(offset, due)

    def due(self, now: int, limit: int) -> list[int]:
        """The first due offsets, by due time, then by offset. They stay here until they are removed."""
        if now < self._now:
            self._unripen()
        self._now = now
        self._ripen(self._wheel.advance(now))
        if self._enter():
            self._ripen(self._wheel.advance(now))
        return list(islice(self._ripe, limit))

    def next_due(self) -> int | None:
        """When to call `due` next: never after the next due time, perhaps before."""
        near = self._wheel.next_due()
        if self._ripe:
            # Something with an earlier due time may have been added since.
            return self._ripe_from if near is None else min(self._ripe_from, near)
        return self._far.start() if near is None else near

    def groups(self) -> Iterator[list[int] | BitMap64]:
        """All offsets in groups, such that those of a group are due before those of the next."""
        groups = self._wheel.groups()
        # Something with an earlier due time than a ripe offset may have been added.
        yield [*self._ripe, *next(groups)]
        yield from groups
        yield from self._far.groups()

    def _enter(self) -> bool:
        """Move far offsets that are near now into the wheel; True if there were any."""
        has_entered = False
        while self._far.first is not None and self._far.first < self._wheel.end_page:
            page = self._far.first
            self._wheel.add_page(page, self._far.take(page))
            has_entered = True
        return has_entered

    def _ripen(self, offsets: list[int]) -> None:
        if not offsets:
            return
        if self._ripe:
            last = next(reversed(self._ripe))
            if self._order(offsets[0]) < self._order(last):
                offsets = sorted([*self._ripe, *offsets], key=self._order)
                self._ripe = {}
        if not self._ripe:
            self._ripe = {}
            self._ripe_from = self._due_of(offsets[0])
        self._ripe.update(dict.fromkeys(offsets))

    def _unripen(self) -> None:
        """Return ripe offsets to the wheel after the clock was set back: they may not be due any more."""
        ripe, self._ripe = self._ripe, {}
        for offset in ripe:
            self._wheel.add(offset, self._due_of(offset))

    def _order(self, offset: int) -> tuple[int, int]:
        return self._due_of(offset), offset
