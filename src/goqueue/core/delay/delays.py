"""The delayed records of one partition: which are hidden until when, and how it ended for the others.

Commands decide: they return an event and change nothing that is kept; `apply` is the only writer. `Delayed` is applied
before its records can be read, so there is no moment at which a delayed record is visible. An event about a record that
is not pending any more changes nothing: whatever crosses a cancellation, the record stays hidden.

The one thing commands do move is the agenda, which is never written down and follows from what is.

A pending delay takes about 125 bytes, measured with a million of them: 106 for its offset and instant in a dictionary,
the rest in bitmaps. (It is 190 where only one record in a thousand is delayed, as bitmaps are at their best with
neighbours.) A delay that is over takes from a few bits to two bytes until its record is removed from the log.
"""

from collections.abc import Iterable, Sequence

from pyroaring import BitMap64

from goqueue.core.delay.agenda import Agenda
from goqueue.core.delay.events import (
    Cancelled,
    Delayed,
    DelayEvent,
    Expired,
    Fired,
    KeptDelays,
    Rescheduled,
)
from goqueue.core.delay.packing import pack, unpack
from goqueue.core.delay.states import DelayState, DelayStatus, PendingDelay, check_latest, is_immediate, refusal
from goqueue.errors import InvalidRequest
from goqueue.model.ids import InstantNs

__all__ = ["Delays"]

FIRED_TOGETHER = 10_000
"""So that one event stays small when a great many records are due at once."""

NARROW = 1_000_000
"""Offsets up to which it is quicker to cut a range out of a set than to cut off the rest."""


_AFTER_ANY_OFFSET = 2**64 - 1


class Delays:
    """Truth in three kinds: instants of what is pending, sets of what is over, and what readers must skip."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._dues: dict[int, int] = {}
        self._delivered = BitMap64()
        self._cancelled = BitMap64()
        self._expired = BitMap64()
        # Whatever is pending, cancelled or expired.
        self._hidden = BitMap64()
        self._agenda = Agenda(self._dues.__getitem__)

    # Deciding.

    def schedule(self, offsets: Sequence[int], dues: Sequence[int], *, now: InstantNs) -> Delayed | None:
        """Delay new records, each until its instant. Those that are immediate are left out; None when all are."""
        assert len(offsets) == len(dues)
        if not dues or is_immediate(max(dues), now=now):
            return None
        if is_immediate(min(dues), now=now):
            later = [(offset, due) for offset, due in zip(offsets, dues, strict=True) if not is_immediate(due, now=now)]
            offsets, dues = zip(*later, strict=True)
        check_latest(max(dues))
        packed = pack(offsets)
        given = BitMap64(unpack(packed))
        if len(given) < len(offsets) or given.intersect(self._hidden) or given.intersect(self._delivered):
            raise InvalidRequest("a record was delayed already", hint="reschedule it to change when it is due")
        return Delayed(packed, pack(dues))

    def cancel(self, *offsets: int) -> Cancelled:
        """None of these is ever delivered. All of them must be pending, or nothing happens."""
        self._check_pending(offsets, "cancelled")
        return Cancelled(pack(offsets))

    def expire(self, *offsets: int) -> Expired:
        """The time to live of these ended first; they stay hidden. All must be pending, or nothing happens."""
        self._check_pending(offsets, "expired")
        return Expired(pack(offsets))

    def reschedule(self, offset: int, due: int) -> Rescheduled:
        """Change the instant of a pending record. An instant in the past makes it due at once."""
        self._check_pending((offset,), "rescheduled")
        check_latest(due)
        return Rescheduled(pack((offset,)), pack((max(due, 0),)))

    def fire(self, *, now: InstantNs, limit: int = FIRED_TOGETHER) -> Fired | None:
        """What is due, by instant, then by offset; None when nothing is.

        Never early, by the nanosecond. When more than `limit` are due, `next_due` stays in the past: apply and ask
        again. Without applying, the answer stays the same.
        """
        due = self._agenda.due(now, limit)
        return Fired(pack(due)) if due else None

    # What there is to see.

    @property
    def has_any(self) -> bool:
        """Whether there is anything to remember, also of delays that are over."""
        return bool(self._hidden or self._delivered)

    def __len__(self) -> int:
        """How many are pending."""
        return len(self._dues)

    def count(self, state: DelayState) -> int:
        """How many are in this state, of records that are in the log."""
        return len(self._dues) if state is DelayState.PENDING else len(self._over()[state])

    def next_due(self) -> InstantNs | None:
        """When to call `fire` next: never after the next record is due, perhaps before. Ask after every event."""
        due = self._agenda.next_due()
        return None if due is None else InstantNs(due)

    def first_pending(self) -> int | None:
        """The first record in the log that is still to be due."""
        return min(self._dues, default=None)

    def hides(self, offset: int) -> bool:
        """Whether readers must skip this record now."""
        return offset in self._hidden

    @property
    def hides_any(self) -> bool:
        return bool(self._hidden)

    def pending(self) -> BitMap64:
        """The records that are still to be due; not to be changed."""
        over = self.never_due()
        return self._hidden - over if over else self._hidden

    def never_due(self) -> BitMap64:
        """The records that stay hidden for good, as they were cancelled or expired; not to be changed."""
        if not self._expired:
            return self._cancelled
        return self._cancelled | self._expired if self._cancelled else self._expired

    def hidden(self, first: int, end: int) -> BitMap64:
        """The records from `first` up to and without `end` that readers must skip now. 2 µs for a few hundred."""
        if not self._hidden or first >= end:
            return BitMap64()
        if end - first <= NARROW:
            return self._hidden & BitMap64(range(first, end))
        within = self._hidden.copy()
        within.remove_range(0, first)
        within.remove_range(end, 2**64 - 1)
        return within

    def lookup(self, offset: int) -> DelayStatus | None:
        """None for a record that was never delayed, or is not in the log any more."""
        due = self._dues.get(offset)
        if due is not None:
            return DelayStatus(DelayState.PENDING, InstantNs(due))
        for state, offsets in self._over().items():
            if offset in offsets:
                return DelayStatus(state, None)
        return None

    def by_state(self, offsets: BitMap64) -> dict[DelayState, BitMap64]:
        """As `lookup`, for many at once; those of which nothing is known are left out."""
        found = {state: offsets & over for state, over in self._over().items()}
        pending = (offsets & self._hidden) - found[DelayState.CANCELLED] - found[DelayState.EXPIRED]
        return {DelayState.PENDING: pending, **found}

    def listing(self, *, skip: int = 0, limit: int = 100) -> list[PendingDelay]:
        """Pending delays by instant, then by offset.

        Slots of the wheel that are skipped are only counted, and only those that the page touches are sorted. That is
        quick unless very many are due within the same slot: a slot of a million takes up to a second.
        """
        page: list[PendingDelay] = []
        for group in self._agenda.groups():
            if skip >= len(group):
                skip -= len(group)
                continue
            if len(page) >= limit:
                break
            ordered = sorted(sorted(group), key=self._dues.__getitem__)[skip : skip + limit - len(page)]
            page += [PendingDelay(offset, InstantNs(self._dues[offset])) for offset in ordered]
            skip = 0
        return page

    # Applying.

    def apply(self, event: DelayEvent) -> None:
        match event:
            case Cancelled(offsets):
                self._end(unpack(offsets), self._cancelled)
            case Delayed(offsets, dues):
                self._begin(unpack(offsets), unpack(dues))
            case Fired(offsets):
                self._show(unpack(offsets))
            case Expired(offsets):
                self._end(unpack(offsets), self._expired)
            case Rescheduled(offsets, dues):
                for offset, due in zip(unpack(offsets), unpack(dues), strict=True):
                    self._move(offset, due)

    def forget_below(self, start: int) -> None:
        """The log begins here now, as its segments say, also after a restart."""
        if any(some and some.min() < start for some in (self._hidden, self._delivered)):
            self._forget(start)

    def forget_from(self, end: int) -> None:
        """The log ends here after all: records that get these offsets later have nothing to do with what is known."""
        for offset in self.hidden(end, _AFTER_ANY_OFFSET):
            self._withdraw(offset)
        for some in self._sets():
            some.remove_range(end, _AFTER_ANY_OFFSET)

    def _begin(self, offsets: Sequence[int], dues: Sequence[int]) -> None:
        self._dues.update(zip(offsets, dues, strict=True))
        self._hidden.update(offsets)
        self._agenda.add(offsets, dues)

    def _end(self, offsets: Iterable[int], over: BitMap64) -> None:
        for offset in offsets:
            if self._withdraw(offset):
                over.add(offset)

    def _show(self, offsets: Iterable[int]) -> None:
        for offset in offsets:
            if self._withdraw(offset):
                self._delivered.add(offset)
                self._hidden.remove(offset)

    def _move(self, offset: int, due: int) -> None:
        if self._withdraw(offset):
            self._dues[offset] = due
            self._agenda.add((offset,), (due,))

    def _forget(self, below: int) -> None:
        for offset in self.hidden(0, below):
            self._withdraw(offset)
        for some in self._sets():
            some.remove_range(0, below)

    def _withdraw(self, offset: int) -> bool:
        """Not pending any more, if it was."""
        due = self._dues.pop(offset, None)
        if due is None:
            return False
        self._agenda.remove(offset, due)
        return True

    # Surviving a restart.

    def snapshot(self) -> KeptDelays:
        pending = self._hidden - self._cancelled - self._expired
        dues = pack(map(self._dues.__getitem__, pending))
        over = (self._delivered, self._cancelled, self._expired)
        return KeptDelays(_packed(pending), dues, *map(_packed, over))

    def restore(self, kept: KeptDelays) -> None:
        """About half a second for a million pending delays, a second on a busy machine."""
        self._clear()
        self._hidden = BitMap64.deserialize(kept.pending)
        self._dues.update(zip(self._hidden, unpack(kept.dues), strict=True))
        self._agenda.add(self._dues.keys(), self._dues.values())
        self._delivered = BitMap64.deserialize(kept.delivered)
        self._cancelled = BitMap64.deserialize(kept.cancelled)
        self._expired = BitMap64.deserialize(kept.expired)
        self._hidden |= self._cancelled | self._expired

    # Parts.

    def _over(self) -> dict[DelayState, BitMap64]:
        return {
            DelayState.DELIVERED: self._delivered,
            DelayState.CANCELLED: self._cancelled,
            DelayState.EXPIRED: self._expired,
        }

    def _sets(self) -> tuple[BitMap64, ...]:
        return self._hidden, self._delivered, self._cancelled, self._expired

    # Steps that commands share.

    def _check_pending(self, offsets: Iterable[int], wish: str) -> None:
        for offset in offsets:
            if offset not in self._dues:
                raise refusal(offset, wish, self.lookup(offset))


def _packed(offsets: BitMap64) -> bytes:
    """Equal sets give equal bytes: made anew, because the form that a bitmap takes inside depends on its past."""
    return bytes(BitMap64(offsets.to_array()).serialize())
