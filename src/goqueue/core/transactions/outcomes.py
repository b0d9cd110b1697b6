"""Outcomes of transactional records in one partition, and its last stable offset.

`Wrote` is applied before its records can be read, so a record of an open transaction is visible at no moment. `Closed`
is written in one entry with the marker that ends the transaction in this partition; until that marker is durable,
readers wait in front of the transaction's first record.

Aborted records stay hidden until they leave the log. A million of them take 250 bytes when they are contiguous, 250 kB
when they alternate with others in tens, and never more than two bytes each. An open transaction takes about 200 bytes
here, and 16 more for each separate run of its records.
"""

from collections import deque

import msgspec
from pyroaring import BitMap64

from goqueue.core.transactions.writes import AFTER_ANY_OFFSET, Writes

__all__ = ["Closed", "KeptOutcomes", "KeptWrites", "OutcomeEvent", "Outcomes", "Wrote"]

NARROW = 1_000_000
"""Number of offsets up to which cutting a range out of a set is faster than removing the rest."""


class Wrote(msgspec.Struct, frozen=True, array_like=True, tag="wrote"):
    """`count` records from `base_offset` on belong to this transaction. Written together with the records."""

    number: int
    base_offset: int
    count: int


class Closed(msgspec.Struct, frozen=True, array_like=True, tag="closed"):
    """The transaction ended; its marker in this partition is at `marker_offset`."""

    number: int
    committed: bool
    marker_offset: int


OutcomeEvent = Wrote | Closed


class KeptWrites(msgspec.Struct, frozen=True, array_like=True):
    """The records of one transaction as runs (first, count); with its end, if that may not be durable yet."""

    number: int
    runs: tuple[tuple[int, int], ...]
    closed: Closed | None = None


class KeptOutcomes(msgspec.Struct, frozen=True, array_like=True):
    """Snapshot of one partition: bitmaps are in the portable format of Roaring.

    Open transactions are in the order of their first records, closed ones in the order of their markers.
    """

    open: tuple[KeptWrites, ...] = ()
    closing: tuple[KeptWrites, ...] = ()
    aborted: bytes = b""
    markers: bytes = b""


class _Closing:
    """A transaction that ended and whose marker may not be durable."""

    __slots__ = ("closed", "durable_at", "writes")

    def __init__(self, closed: Closed, writes: Writes) -> None:
        self.closed = closed
        self.writes = writes
        self.durable_at = closed.marker_offset


class Outcomes:
    """`apply` is the writer; records lost or removed from the log are dropped by `forget_from` and `forget_below`.

    `hidden` and `is_aborted` may be called from any thread, everything else only where events are applied.
    """

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._open: dict[int, Writes] = {}
        self._closing: deque[_Closing] = deque()
        # The first records of open and of closing transactions, which are all different.
        self._firsts = BitMap64()
        self._aborted = BitMap64()
        self._markers = BitMap64()
        # Markers, aborted and open records in one set, so no reader sees a record move from one set to another.
        self._hidden = BitMap64()

    # Queries.

    def __bool__(self) -> bool:
        """Whether there is any hidden record or any transaction to wait for."""
        return bool(self._hidden) or bool(self._closing)

    def stable(self, high_watermark: int) -> int:
        """The last stable offset: below it, every record is durable and so is the end of its transaction.

        A marker that has been below the high watermark once is durable for good. To be called regularly as the high
        watermark moves: until then, each ended transaction takes 400 bytes.
        """
        closing = self._closing
        while closing and closing[0].durable_at < high_watermark:
            self._firsts.discard(closing.popleft().writes.first)
        return min(self._firsts.min(), high_watermark) if self._firsts else high_watermark

    def hidden(self, first: int, end: int) -> BitMap64:
        """Records from `first` up to, but not including, `end` that are markers, aborted, or of open transactions."""
        return _within(self._hidden, first, end)

    @property
    def unreadable(self) -> BitMap64:
        """All records that are markers, aborted, or of open transactions; not to be changed."""
        return self._hidden

    def markers(self, first: int, end: int) -> BitMap64:
        """The markers from `first` up to, but not including, `end`."""
        return _within(self._markers, first, end)

    def aborted(self) -> BitMap64:
        """All aborted records that are still in the log."""
        return self._aborted.copy()

    def is_never(self, offset: int) -> bool:
        """Whether the record is hidden for good: a marker, or aborted."""
        return offset in self._aborted or offset in self._markers

    def is_aborted(self, offset: int) -> bool:
        return offset in self._aborted

    def is_open_offset(self, offset: int) -> bool:
        return offset in self._hidden and not self.is_never(offset)

    @property
    def aborted_count(self) -> int:
        return len(self._aborted)

    def open_numbers(self) -> list[int]:
        """Open transactions with records here, by their first records."""
        return sorted(self._open, key=lambda number: self._open[number].first)

    def first_offset(self, number: int) -> int | None:
        """The first record of an open transaction; None when it has none here."""
        writes = self._open.get(number)
        return None if writes is None else writes.first

    def offsets(self, number: int) -> BitMap64:
        """The records of an open transaction."""
        writes = self._open.get(number)
        return BitMap64() if writes is None else writes.bitmap()

    def count(self, number: int) -> int:
        """Number of records of an open transaction."""
        writes = self._open.get(number)
        return 0 if writes is None else writes.count

    # Events.

    def apply(self, event: OutcomeEvent) -> None:
        match event:
            case Wrote(number, base_offset, count):
                self._write(number, base_offset, base_offset + count)
            case Closed(number, _, marker_offset):
                self._markers.add(marker_offset)
                self._hidden.add(marker_offset)
                writes = self._open.pop(number, None)
                if writes is not None:
                    self._close(event, writes)

    def forget_from(self, end: int) -> None:
        """The log was truncated here. How a transaction ended still holds, also when its marker is gone."""
        self._keep_only(0, end)
        for one in self._closing:
            one.durable_at = min(one.durable_at, end - 1)

    def forget_below(self, start: int) -> None:
        """Drop records below the log start offset."""
        if self and self._lowest() < start:
            self._keep_only(start, AFTER_ANY_OFFSET)

    def _write(self, number: int, first: int, end: int) -> None:
        if first == end:
            return
        writes = self._open.get(number)
        if writes is None:
            writes = self._open[number] = Writes()
            self._firsts.add(first)
        writes.add(first, end)
        self._hidden.add_range(first, end)

    def _close(self, event: Closed, writes: Writes) -> None:
        offsets = writes.bitmap()
        if event.committed:
            self._hidden.difference_update(offsets)
        else:
            self._aborted |= offsets
        self._closing.append(_Closing(event, writes))

    def _lowest(self) -> int:
        return min(some.min() for some in (self._hidden, self._firsts) if some)

    def _keep_only(self, first: int, end: int) -> None:
        for some in (self._hidden, self._aborted, self._markers):
            some.remove_range(0, first)
            some.remove_range(end, AFTER_ANY_OFFSET)
        for writes in (*self._open.values(), *(one.writes for one in self._closing)):
            if writes.first < first or writes.bounds[-1] > end:
                writes.keep(first, end)
        self._open = {number: writes for number, writes in self._open.items() if writes.bounds}
        self._closing = deque(one for one in self._closing if one.writes.bounds)
        self._find_firsts()

    def _find_firsts(self) -> None:
        closing = (one.writes.first for one in self._closing)
        self._firsts = BitMap64([*(writes.first for writes in self._open.values()), *closing])

    # Snapshots.

    def snapshot(self) -> KeptOutcomes:
        """Durable ends are left out as soon as `stable` has seen that they are durable."""
        still_open = tuple(_kept(number, self._open[number]) for number in self.open_numbers())
        closing = tuple(_kept(one.closed.number, one.writes, one.closed) for one in self._closing)
        return KeptOutcomes(still_open, closing, _packed(self._aborted), _packed(self._markers))

    def restore(self, kept: KeptOutcomes) -> None:
        self._clear()
        if kept.aborted:
            self._aborted = BitMap64.deserialize(kept.aborted)
        if kept.markers:
            self._markers = BitMap64.deserialize(kept.markers)
        self._hidden = self._aborted | self._markers
        for one in kept.open:
            for first, count in one.runs:
                self._write(one.number, first, first + count)
        for one in kept.closing:
            assert one.closed is not None
            writes = Writes()
            for first, count in one.runs:
                writes.add(first, first + count)
            self._closing.append(_Closing(one.closed, writes))
        self._find_firsts()


def _within(offsets: BitMap64, first: int, end: int) -> BitMap64:
    if not offsets or first >= end:
        return BitMap64()
    if end - first <= NARROW:
        return offsets & BitMap64(range(first, end))
    within = offsets.copy()
    within.remove_range(0, first)
    within.remove_range(end, AFTER_ANY_OFFSET)
    return within


def _packed(offsets: BitMap64) -> bytes:
    """Rebuilt, so that equal sets give equal bytes: the encoding of a bitmap depends on its history."""
    return bytes(BitMap64(offsets.to_array()).serialize()) if offsets else b""


def _kept(number: int, writes: Writes, closed: Closed | None = None) -> KeptWrites:
    return KeptWrites(number, tuple((first, end - first) for first, end in writes.runs()), closed)
