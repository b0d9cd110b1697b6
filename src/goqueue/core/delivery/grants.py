"""Leases: the consumers and the deadlines of leased records.

A grant is the result of one poll; its records mostly end together.
"""

import heapq
from collections.abc import Iterable, Iterator
from sys import intern

from pyroaring import BitMap64

from goqueue.core.delivery.events import KeptGrant
from goqueue.core.delivery.packed import pack, unpack
from goqueue.model.ids import InstantNs

__all__ = ["Grant", "Grants", "InFlight"]

ALL = -1
"""In the heap, instead of an offset: the deadline of all records without one of their own."""


class Grant:
    """Some hundred bytes and a few bits for each record; `later` holds extended deadlines."""

    __slots__ = ("consumer", "deadline", "later", "leased_at", "number", "records")

    def __init__(
        self, number: int, consumer: str, leased_at: InstantNs, deadline: InstantNs, records: BitMap64
    ) -> None:
        self.number = number
        self.consumer = intern(consumer)
        self.leased_at = leased_at
        self.deadline = deadline
        self.records = records
        self.later: dict[int, InstantNs] = {}

    def deadline_of(self, offset: int) -> InstantNs:
        return self.later.get(offset, self.deadline)


class InFlight(dict[str, int]):
    """Number of leased records by consumer; consumers without any are not included."""

    __slots__ = ()

    def add(self, consumer: str, change: int) -> None:
        count = self.get(consumer, 0) + change
        if count:
            self[consumer] = count
        else:
            self.pop(consumer, None)


class Grants:
    """All leases of a partition in a group, and the next deadline.

    What it counts per consumer is also counted in `total`, together with other partitions.
    """

    __slots__ = ("_by_number", "_heap", "_in_flight", "_total", "last_number", "leased")

    def __init__(self, total: InFlight | None = None) -> None:
        self._by_number: dict[int, Grant] = {}
        self._heap: list[tuple[InstantNs, int, int]] = []
        self._in_flight = InFlight()
        self._total = InFlight() if total is None else total
        self.last_number = 0
        self.leased = BitMap64()

    def __len__(self) -> int:
        """Number of leased records."""
        return len(self.leased)

    def __iter__(self) -> Iterator[Grant]:
        return iter(self._by_number.values())

    def get(self, number: int) -> Grant | None:
        return self._by_number.get(number)

    def in_flight(self, consumer: str) -> int:
        return self._in_flight.get(consumer, 0)

    def of_consumer(self, consumer: str) -> list[Grant]:
        return [grant for grant in self if grant.consumer == consumer]

    def next_deadline(self) -> InstantNs | None:
        while self._heap and not self._is_current(*self._heap[0]):
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def overdue(self, now: InstantNs, most: int) -> list[tuple[Grant, list[int]]]:
        """Records past their deadline, by grant; about `most` of them. They stay due until they are taken back."""
        found: dict[int, set[int]] = {}
        entries: list[tuple[InstantNs, int, int]] = []
        count = 0
        while (deadline := self.next_deadline()) is not None and deadline <= now and count < most:
            entries.append(heapq.heappop(self._heap))
            _, number, offset = entries[-1]
            grant = self._by_number[number]
            offsets = [offset] if offset != ALL else [one for one in grant.records if one not in grant.later]
            # A set, as a deadline that was moved away and back is in the heap twice.
            found.setdefault(number, set()).update(offsets)
            count += len(offsets)
        for entry in entries:
            heapq.heappush(self._heap, entry)
        return [(self._by_number[number], sorted(offsets)) for number, offsets in found.items()]

    # Changes.

    def add(self, grant: Grant) -> None:
        self._by_number[grant.number] = grant
        self.last_number = max(self.last_number, grant.number)
        self.leased |= grant.records
        self._count(grant.consumer, len(grant.records))
        heapq.heappush(self._heap, (grant.deadline, grant.number, ALL))

    def take_back(self, number: int, offsets: BitMap64) -> None:
        grant = self._by_number[number]
        gone = grant.records & offsets
        self.leased -= gone
        self._count(grant.consumer, -len(gone))
        if len(gone) == len(grant.records):
            del self._by_number[number]
            return
        grant.records -= gone
        if grant.later:
            grant.later = {offset: at for offset, at in grant.later.items() if offset in grant.records}

    def extend(self, number: int, offsets: Iterable[int], deadline: InstantNs) -> None:
        grant = self._by_number[number]
        for offset in offsets:
            grant.later[offset] = deadline
            heapq.heappush(self._heap, (deadline, number, offset))
        self._shed()

    def count_in(self, total: InFlight) -> None:
        """Count in this total from now on."""
        for consumer, count in self._in_flight.items():
            self._total.add(consumer, -count)
            total.add(consumer, count)
        self._total = total

    # Snapshots.

    def snapshot(self) -> tuple[KeptGrant, ...]:
        return tuple(
            KeptGrant(one.number, one.consumer, one.leased_at, one.deadline, pack(one.records), dict(one.later))
            for one in self
        )

    def restore(self, kept: Iterable[KeptGrant]) -> None:
        for one in kept:
            self.add(Grant(one.number, one.consumer, one.leased_at, one.deadline, unpack(one.records)))
            for offset, deadline in one.later.items():
                self.extend(one.number, (offset,), deadline)

    # Steps.

    def _is_current(self, deadline: InstantNs, number: int, offset: int) -> bool:
        grant = self._by_number.get(number)
        if grant is None:
            return False
        if offset != ALL:
            return grant.later.get(offset) == deadline and offset in grant.records
        return len(grant.later) < len(grant.records)

    def _shed(self) -> None:
        """Sweep the heap: repeated extensions must not fill it with deadlines that no longer count."""
        if len(self._heap) > 2 * (len(self._by_number) + len(self.leased)) + 64:
            self._heap = [entry for entry in set(self._heap) if self._is_current(*entry)]
            heapq.heapify(self._heap)

    def _count(self, consumer: str, change: int) -> None:
        self._in_flight.add(consumer, change)
        self._total.add(consumer, change)
