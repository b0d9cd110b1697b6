"""Timer wheel, hierarchical: the next due offset among many, with adding and cancelling in constant time.

| level | slots | a slot is | the level is |
|-------|-------|-----------|--------------|
| 0     | 256   | 10 ms     | 2.56 s       |
| 1     | 64    | 2.56 s    | 2.73 min     |
| 2     | 64    | 2.73 min  | 2.91 h       |
| 3     | 64    | 2.91 h    | 7.76 days    |

Time is counted in ticks of 10 ms. An entry is at the lowest level at which one turn holds both its tick and the tick
the wheel is at. So its slot follows from its due time and the wheel's tick alone: cancelling needs no search and leaves
nothing behind. When the wheel advances, everything in the slots passed is due, and only the one slot it arrives in is
spread over the levels below; empty ranges cost nothing, however long. When the clock was set back, the levels below the
one that turns are collected into the slot they came from.

A slot is a compressed bitmap, a few bytes per entry; slots are keyed by their number counted from 1970, so that no
slot is mistaken for one of another turn. Entries of the wheel's tick, and older ones, are held in order in front of the
levels: they are compared by the nanosecond, so nothing is early or late by part of a tick.
"""

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator
from itertools import chain

from pyroaring import BitMap64

__all__ = ["PAGE_NS", "TICK_NS", "TimerWheel"]

TICK_NS = 10_000_000
_SLOT_BITS = (0, 8, 14, 20)
"""The width of a slot of each level, as a power of two of ticks."""
_TOP = len(_SLOT_BITS) - 1
_TOP_SLOTS = 64
_LEVEL_OF_BITS = (0,) * 9 + (1,) * 6 + (2,) * 6 + (3,) * 44
"""The level of an entry, by the position of the highest bit in which its tick differs from the wheel's."""

PAGE_NS = TICK_NS << _SLOT_BITS[_TOP]
"""The width of a slot of the top level. A page is the span of such a slot, numbered from 1970."""

_AFTER_ANY_OFFSET = 1 << 64


class TimerWheel:
    """Holds offsets, not due times: `due_of` must know the due time of each offset while it is in the wheel.

    Begins in 1970, where no current due time fits; the first `advance` moves it to the present.
    """

    def __init__(self, due_of: Callable[[int], int]) -> None:
        self._due_of = due_of
        self._tick = 0
        self.end_page = _TOP_SLOTS
        """The first page that does not fit. Stays where it is when the clock is set back: pages taken are kept."""
        self._front: list[tuple[int, int]] = []
        self._levels: tuple[dict[int, BitMap64], ...] = tuple({} for _ in _SLOT_BITS)

    def __len__(self) -> int:
        return len(self._front) + sum(len(slot) for slots in self._levels for slot in slots.values())

    @property
    def end(self) -> int:
        """The first instant that does not fit: 7.76 days from the start of the page the wheel is at."""
        return self.end_page * PAGE_NS

    def fits(self, due: int) -> bool:
        return due < self.end

    def add(self, offset: int, due: int) -> None:
        assert due < self.end_page * PAGE_NS, "beyond the span of the wheel"
        tick = due // TICK_NS
        if tick <= self._tick:
            insort(self._front, (due, offset))
            return
        level = _LEVEL_OF_BITS[(tick ^ self._tick).bit_length()]
        slots, number = self._levels[level], tick >> _SLOT_BITS[level]
        slot = slots.get(number)
        if slot is None:
            slot = slots[number] = BitMap64()
        slot.add(offset)

    def add_page(self, page: int, offsets: BitMap64) -> None:
        """Add all entries of a page, in one step if the page is still to come."""
        assert page < self.end_page, "beyond the span of the wheel"
        if page <= self._tick >> _SLOT_BITS[_TOP]:
            self._spread(offsets)
        elif offsets:
            self._levels[_TOP].setdefault(page, BitMap64()).update(offsets)

    def cancel(self, offset: int, due: int) -> bool:
        """Remove the offset; False if it was not there with this due time."""
        tick = due // TICK_NS
        if tick <= self._tick:
            at = bisect_left(self._front, (due, offset))
            is_there = self._front[at : at + 1] == [(due, offset)]
            del self._front[at : at + is_there]
            return is_there
        level = _LEVEL_OF_BITS[(tick ^ self._tick).bit_length()]
        slots, number = self._levels[level], tick >> _SLOT_BITS[level]
        slot = slots.get(number)
        if slot is None or offset not in slot:
            return False
        slot.remove(offset)
        if not slot:
            del slots[number]
        return True

    def advance(self, now: int) -> list[int]:
        """Remove and return exactly the due offsets: by due time, then by offset.

        The cost is that of the due entries and of the one slot arrived in, about half a microsecond for each entry. An
        entry is in a slot arrived in three times at most, however long it waits.
        """
        tick = now // TICK_NS
        due: list[int] = []
        if tick > self._tick:
            due = self._forward(tick)
        elif tick < self._tick:
            self._back(tick)
        if self._front:
            ready = bisect_right(self._front, (now, _AFTER_ANY_OFFSET))
            due += [offset for _, offset in self._front[:ready]]
            del self._front[:ready]
        return due

    def next_due(self) -> int | None:
        """When to call `advance` next: never after the next due time, perhaps before."""
        if self._front:
            return self._front[0][0]
        for slots, bits in zip(self._levels, _SLOT_BITS, strict=True):
            if slots:
                return (min(slots) << bits) * TICK_NS
        return None

    def groups(self) -> Iterator[list[int] | BitMap64]:
        """All entries in groups, such that those of a group are due before those of the next."""
        yield [offset for _, offset in self._front]
        for slots in self._levels:
            for number in sorted(slots):
                yield slots[number]

    def _spread(self, offsets: BitMap64) -> None:
        add, due_of = self.add, self._due_of
        for offset in offsets:
            add(offset, due_of(offset))

    def _forward(self, tick: int) -> list[int]:
        """Entries due in the slots passed, in order. Later entries of the tick arrived at are moved to the front."""
        turned = _LEVEL_OF_BITS[(tick ^ self._tick).bit_length()]
        arrived = tick >> _SLOT_BITS[turned]
        passed = [slot for slots in self._levels[:turned] for slot in slots.values()]
        for slots in self._levels[:turned]:
            slots.clear()
        slots = self._levels[turned]
        passed += [slots.pop(number) for number in sorted(slots) if number < arrived]
        late = [offset for _, offset in self._front]
        self._front.clear()
        self._tick = tick
        self.end_page = max(self.end_page, (tick >> _SLOT_BITS[_TOP]) + _TOP_SLOTS)
        if arrived in slots:
            self._spread(slots.pop(arrived))
        # The union yields offsets in order, and the stable sort keeps that order among equal due times.
        return late + sorted(BitMap64().union(*passed), key=self._due_of)

    def _back(self, tick: int) -> None:
        turned = _LEVEL_OF_BITS[(tick ^ self._tick).bit_length()]
        lower = list(chain.from_iterable(slots.values() for slots in self._levels[:turned]))
        if lower:
            for slots in self._levels[:turned]:
                slots.clear()
            self._levels[turned][self._tick >> _SLOT_BITS[turned]] = BitMap64().union(*lower)
        front, self._front = self._front, []
        self._tick = tick
        for due, offset in front:
            self.add(offset, due)
