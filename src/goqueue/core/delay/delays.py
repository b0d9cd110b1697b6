"""Delays of one partition: due times of pending records, and outcomes of the others.

Commands decide: they return an event and change no persistent state; `apply` is the only writer. `Delayed` is applied
before its records can be read, so a delayed record is visible at no moment. An event about a record that is not pending
any more changes nothing: after a concurrent cancellation, the record stays hidden.

Commands do move the agenda, which is never persisted and follows from the persistent state.

A pending delay takes about 125 bytes, measured with a million of them: 106 for its offset and due time in a dictionary,
the rest in bitmaps. (It is 190 where only one record in a thousand is delayed, as bitmaps work best with neighbours.) A
finished delay takes from a few bits to two bytes until its record is removed from the log.
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
"""Keeps one event small when a great many records are due at once."""

NARROW = 1_000_000
"""Number of offsets up to which cutting a range out of a set is faster than removing the rest."""


_AFTER_ANY_OFFSET = 2**64 - 1


class Delays:
    """State in three parts: due times of pending records, sets of finished delays, and records hidden from readers."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._dues: dict[int, int] = {}
        self._delivered = BitMap64()
        self._cancelled = BitMap64()
        self._expired = BitMap64()
        # All records that are pending, cancelled or expired.
        self._hidden = BitMap64()
        self._agenda = Agenda(self._dues.__getitem__)

    # Commands.

    def schedule(self, offsets: Sequence[int], dues: Sequence[int], *, now: InstantNs) -> Delayed | None:
        """Delay new records, each until its due time. Those due at once are left out; None when all are."""
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
        """Cancel these records, which are then never delivered. All must be pending, or nothing happens."""
        self._check_pending(offsets, "cancelled")
        return Cancelled(pack(offsets))

    def expire(self, *offsets: int) -> Expired:
        """Expire these records before they are due; they stay hidden. All must be pending, or nothing happens."""
        self._check_pending(offsets, "expired")
        return Expired(pack(offsets))

    def reschedule(self, offset: int, due: int) -> Rescheduled:
        """Change the due time of a pending record. An instant in the past makes it due at once."""
        self._check_pending((offset,), "rescheduled")
        check_latest(due)
        return Rescheduled(pack((offset,)), pack((max(due, 0),)))

    def fire(self, *, now: InstantNs, limit: int = FIRED_TOGETHER) -> Fired | None:
        """Records that are due, by due time, then by offset; None when none is.

        Never early, to the nanosecond. When more than `limit` are due, `next_due` stays in the past: apply and ask
        again. Without applying, the answer stays the same.
        """
        due = self._agenda.due(now, limit)
        return Fired(pack(due)) if due else None

    # Queries.

    @property
    def has_any(self) -> bool:
        """Whether there is any state, finished delays included."""
        return bool(self._hidden or self._delivered)

    def __len__(self) -> int:
        """Number of pending delays."""
        return len(self._dues)

    def count(self, state: DelayState) -> int:
        """Number of records in the log in this state."""
        return len(self._dues) if state is DelayState.PENDING else len(self._over()[state])

    def next_due(self) -> InstantNs | None:
        """When to call `fire` next: never after the next due time, perhaps before. Ask after every event."""
        due = self._agenda.next_due()
        return None if due is None else InstantNs(due)

    def first_pending(self) -> int | None:
        """The first pending record in the log."""
        return min(self._dues, default=None)

    def hides(self, offset: int) -> bool:
        """Whether readers must skip this record now."""
        return offset in self._hidden

    @property
    def hides_any(self) -> bool:
        return bool(self._hidden)

    def pending(self) -> BitMap64:
        """The pending records; not to be changed."""
        over = self.never_due()
        return self._hidden - over if over else self._hidden

    def never_due(self) -> BitMap64:
        """The records hidden for good, as they were cancelled or expired; not to be changed."""
        if not self._expired:
            return self._cancelled
        return self._cancelled | self._expired if self._cancelled else self._expired

    def hidden(self, first: int, end: int) -> BitMap64:
        """Records from `first` up to, but not including, `end` that readers must skip now. 2 µs for a few hundred."""
        if not self._hidden or first >= end:
            return BitMap64()
        if end - first <= NARROW:
            return self._hidden & BitMap64(range(first, end))
        within = self._hidden.copy()
        within.remove_range(0, first)
        within.remove_range(end, 2**64 - 1)
        return within

    def lookup(self, offset: int) -> DelayStatus | None:
        """None for a record that was never delayed or has left the log."""
        due = self._dues.get(offset)
        if due is not None:
            return DelayStatus(DelayState.PENDING, InstantNs(due))
        for state, offsets in self._over().items():
            if offset in offsets:
                return DelayStatus(state, None)
        return None

    def by_state(self, offsets: BitMap64) -> dict[DelayState, BitMap64]:
        """Like `lookup`, for many records; those without a delay are left out."""
        found = {state: offsets & over for state, over in self._over().items()}
        pending = (offsets & self._hidden) - found[DelayState.CANCELLED] - found[DelayState.EXPIRED]
        return {DelayState.PENDING: pending, **found}

    def listing(self, *, skip: int = 0, limit: int = 100) -> list[PendingDelay]:
        """Pending delays by due time, then by offset.

        Slots of the wheel before the page are only counted, and only those that the page touches are sorted. That is
        fast unless very many records are due within the same slot: a slot of a million takes up to a second.
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

    # Events.

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
        """Drop state below the log start offset, also after a restart."""
        if any(some and some.min() < start for some in (self._hidden, self._delivered)):
            self._forget(start)

    def forget_from(self, end: int) -> None:
        """Drop state from this offset on: the log was truncated, and later records with these offsets are others."""
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
        """Remove from the pending records; False if it was not pending."""
        due = self._dues.pop(offset, None)
        if due is None:
            return False
        self._agenda.remove(offset, due)
        return True

    # Snapshots.

    def snapshot(self) -> KeptDelays:
        pending = self._hidden - self._cancelled - self._expired
        dues = pack(map(self._dues.__getitem__, pending))
        over = (self._delivered, self._cancelled, self._expired)
        return KeptDelays(_packed(pending), dues, *map(_packed, over))

    def restore(self, kept: KeptDelays) -> None:
        """Takes about half a second for a million pending delays, a second on a busy machine."""
        self._clear()
        self._hidden = BitMap64.deserialize(kept.pending)
        self._dues.update(zip(self._hidden, unpack(kept.dues), strict=True))
        self._agenda.add(self._dues.keys(), self._dues.values())
        self._delivered = BitMap64.deserialize(kept.delivered)
        self._cancelled = BitMap64.deserialize(kept.cancelled)
        self._expired = BitMap64.deserialize(kept.expired)
        self._hidden |= self._cancelled | self._expired

    # Event handlers.

    def _over(self) -> dict[DelayState, BitMap64]:
        return {
            DelayState.DELIVERED: self._delivered,
            DelayState.CANCELLED: self._cancelled,
            DelayState.EXPIRED: self._expired,
        }

    def _sets(self) -> tuple[BitMap64, ...]:
        return self._hidden, self._delivered, self._cancelled, self._expired

    # Steps shared by commands.

    def _check_pending(self, offsets: Iterable[int], wish: str) -> None:
        for offset in offsets:
            if offset not in self._dues:
                raise refusal(offset, wish, self.lookup(offset))


def _packed(offsets: BitMap64) -> bytes:
    """Equal sets give equal bytes: the set is rebuilt, because the encoding of a bitmap depends on its history."""
    return bytes(BitMap64(offsets.to_array()).serialize())
