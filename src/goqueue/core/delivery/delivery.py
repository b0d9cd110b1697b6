"""Delivery state of one group in one partition: a queue over the log.

Nothing is kept for a record that was never delivered, and next to nothing for a settled one: the log before `floor` is
settled, and behind it there are sparse sets. So a record that is held for an hour costs the same when ten million
others pass it as when none do, and blocks none of them.

Commands decide: they return an event and change no persistent state; `apply` is the only writer. Readiness follows from
that state: `again` are records behind the frontiers that may be delivered now.
"""

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import NamedTuple, Protocol

from pyroaring import BitMap64

from goqueue.core.delivery.ahead import Ahead
from goqueue.core.delivery.events import (
    DeliveryEvent,
    Extended,
    Failure,
    Forgotten,
    KeptAttempts,
    KeptDelivery,
    Leased,
    Opened,
    PartOfGrant,
    Repositioned,
    Returned,
    Settled,
)
from goqueue.core.delivery.grants import Grant, Grants, InFlight
from goqueue.core.delivery.key_order import KeyOrder
from goqueue.core.delivery.life_cycle import State
from goqueue.core.delivery.packed import Offsets, end_of_run, pack, seen_in, unpack
from goqueue.core.delivery.policy import RetryPolicy
from goqueue.errors import UnknownReceipt
from goqueue.model.ids import InstantNs
from goqueue.model.priority import LANES, NORMAL

__all__ = ["Attempts", "Delivery", "Lanes", "Looked", "Retries", "Returns", "Standing", "Waiting"]

KEPT_FAILURES = 10
KEPT_ENDS = 5000
LONGEST_REASON = 300
NONE_MOVED: Mapping[int, int] = {}
NOTHING = BitMap64()
NO_KEY_ORDER = KeyOrder()
"""Shared by all groups without key order; it stays empty."""


class Lanes(Protocol):
    """The lanes of the partition's records; false when all are normal."""

    def __bool__(self) -> bool: ...
    def take(self, priority: int, first: int, end: int, limit: int) -> list[int]: ...
    def within(self, priority: int, first: int, end: int) -> BitMap64: ...
    def count(self, priority: int, first: int, end: int) -> int: ...
    def priority_of(self, offset: int) -> int: ...
    def counts_of(self, offsets: BitMap64) -> dict[int, int]: ...


class _OneLane:
    """Lanes of a partition in which all records have the same priority."""

    def __bool__(self) -> bool:
        return False

    def take(self, priority: int, first: int, end: int, limit: int) -> list[int]:
        return list(range(first, min(end, first + limit))) if priority == NORMAL else []

    def within(self, priority: int, first: int, end: int) -> BitMap64:
        return BitMap64(range(first, end)) if priority == NORMAL else BitMap64()

    def count(self, priority: int, first: int, end: int) -> int:
        return max(0, end - first) if priority == NORMAL else 0

    def priority_of(self, offset: int) -> int:
        return NORMAL

    def counts_of(self, offsets: BitMap64) -> dict[int, int]:
        return {NORMAL: len(offsets)}


class Attempts(NamedTuple):
    """Number of deliveries and of failed attempts of a record, and the last failures."""

    deliveries: int
    failures: int
    history: tuple[Failure, ...] = ()


class Looked(NamedTuple):
    """Records found and records skipped by a poll: all of it is written with the lease."""

    taken: Sequence[int]
    frontiers: Mapping[int, int]
    asleep: Sequence[int] = ()
    skipped: Sequence[int] = ()
    keys: Sequence[int] = ()
    deferred: Sequence[tuple[int, int]] = ()


class Returns(NamedTuple):
    """Records of one grant that return to the queue."""

    grant: int
    offsets: Sequence[int]
    reason: str


class Waiting(NamedTuple):
    """Number of deliverable records in each lane, and the first of all of them in the log."""

    ready: list[int]
    first: int | None


class Standing(NamedTuple):
    """State of one record in the queue."""

    state: State
    attempts: Attempts
    until: InstantNs | None = None
    """End of the lease or of the pause."""
    consumer: str = ""


class Retries(NamedTuple):
    """Records to retry, as an event, and records that have failed too often."""

    event: Returned | None
    exhausted: list[int]


class Delivery:
    """`lanes` is shared with the partition."""

    __slots__ = (
        "_again",
        "_ahead",
        "_all_lanes",
        "_asleep",
        "_attempts",
        "_ends",
        "_floor",
        "_frontiers",
        "_grants",
        "_in_flight",
        "_key_order",
        "_lanes",
        "_rest_heap",
        "_rested",
        "_resting",
        "_settled",
        "in_key_order",
        "is_open",
        "leased_at",
    )

    def __init__(self, lanes: Lanes) -> None:
        self._lanes = self._all_lanes = lanes
        self._in_flight = InFlight()
        self._grants = Grants(self._in_flight)
        self.is_open = False
        self.in_key_order = False
        """With key order there is one lane only: a key has one order, whatever the priorities of its records."""
        self.leased_at = InstantNs(0)
        """Time of the last lease."""
        self._start(0)

    def _start(self, floor: int) -> None:
        self._floor = floor
        self._frontiers = [floor] * LANES
        self._settled = BitMap64()
        self._asleep = BitMap64()
        # Leases granted before no longer count.
        self._grants.count_in(InFlight())
        self._grants = Grants(self._in_flight)
        self._attempts: dict[int, Attempts] = {}
        self._resting: dict[int, InstantNs] = {}
        self._rest_heap: list[tuple[InstantNs, int]] = []
        self._rested = NOTHING
        """Resting records whose pause is over: they are ready, and keep their times for snapshots."""
        # Most queues have nothing in most of these, and there may be very many queues.
        self._again = [NOTHING] * LANES
        self._ahead: dict[int, Ahead] = {}
        self._key_order = KeyOrder() if self.in_key_order else NO_KEY_ORDER
        self._ends: dict[int, int] = {}
        """Grants under which records ended, kept where it is not evident; negative for dead letters."""

    # Questions of a poll.

    def open(self, offset: int, *, in_key_order: bool, last_grant: int = 0) -> Opened:
        """The first event: the start offset, and whether keys are ordered."""
        return Opened(offset, in_key_order, last_grant)

    def has_ready(self, end: int, *, now: InstantNs) -> bool:
        """Whether `ready` would count any record. Called alone for most queues at each publish and poll."""
        if self._rest_heap:
            self._wake_rested(now)
        if any(self._again):
            return True
        if not self._lanes:
            return self._frontiers[NORMAL] < end and self._floor < end
        return any(self._ahead_in(lane).count(self.frontier(lane), end, 1) for lane in range(LANES))

    @property
    def has_again(self) -> bool:
        """Whether deliverable records are behind the frontiers, of those that `ready` counted."""
        return any(self._again)

    def ready(
        self, end: int, *, now: InstantNs, enough: int | None = None, frontiers: Mapping[int, int] = NONE_MOVED
    ) -> list[int]:
        """Upper bound of deliverable records in each lane: among the new ones, some may be hidden.

        For a lane that has `enough`, any number from there on may be returned: counting a long backlog takes time at
        every poll. With future `frontiers`, it is the rest after leases that are decided and not applied yet.
        """
        self._wake_rested(now)
        counts = list(map(len, self._again))
        if not self._lanes:
            counts[NORMAL] += max(0, end - frontiers.get(NORMAL, self.frontier(NORMAL)))
            return counts
        for lane in range(LANES):
            first = frontiers.get(lane, self.frontier(lane))
            if enough is None:
                counts[lane] += self._lanes.count(lane, first, end)
            else:
                counts[lane] += self._ahead_in(lane).count(first, end, enough)
        return counts

    def again(self, lane: int, limit: int) -> list[int]:
        """Deliverable records behind the frontier, the oldest first."""
        found = self._again[lane]
        return list(islice(found, limit)) if found else []

    def frontier(self, lane: int) -> int:
        """The first offset of the lane that no poll has reached."""
        return max(self._frontiers[lane], self._floor)

    def fresh(self, lane: int, limit: int, end: int, first: int | None = None) -> Sequence[int]:
        """Records of the lane that no poll has reached, from the frontier or from `first` on."""
        if first is None:
            first = self.frontier(lane)
        if lane == NORMAL and not self._lanes:
            # They are contiguous, so a range is enough.
            return range(first, max(first, min(end, first + limit)))
        return self._ahead_in(lane).find(first, end, limit)

    def is_key_free(self, key: int) -> bool:
        return self._key_order.is_free(key)

    def lease(
        self, looked: Looked, consumer: str, *, deadline: InstantNs, now: InstantNs, behind: int = 0
    ) -> Leased | None:
        """None when no record was found and none was skipped.

        It may follow `behind` other leases that are decided and not applied yet, whose frontiers it repeats.
        """
        if not (looked.taken or looked.asleep or looked.skipped or looked.deferred):
            return None
        keys: tuple[int, ...] = ()
        if looked.keys:
            keys = tuple(key for _, key in sorted(zip(looked.taken, looked.keys, strict=True)))
        frontiers = self._frontiers.copy()
        for lane, frontier in looked.frontiers.items():
            frontiers[lane] = frontier
        return Leased(
            self._grants.last_number + 1 + behind,
            now,
            deadline,
            consumer,
            pack(looked.taken),
            tuple(frontiers),
            pack(looked.asleep),
            pack(looked.skipped),
            keys,
            tuple(looked.deferred),
        )

    # Requests of consumers.

    def settle(self, offsets_by_grant: Mapping[int, Offsets], *, is_dead: bool = False) -> Settled:
        """All records must be leased under their grants. Dead letters are settled with the copies that are written."""
        parts = [self.part_of(number, offsets) for number, offsets in offsets_by_grant.items()]
        return Settled(tuple(parts), is_dead)

    def part_of(self, number: int, offsets: Offsets) -> PartOfGrant:
        """These records of a grant, all of which must be leased under it."""
        self._check_leased(number, offsets)
        return PartOfGrant(number, pack(offsets))

    def fail(self, returns: Returns, policy: RetryPolicy, *, pause_ms: int | None = None, now: InstantNs) -> Retries:
        """Failed records: each is retried after its pause, unless it has failed too often."""
        self._check_leased(returns.grant, returns.offsets)
        again, visible, exhausted = [], [], []
        for offset in sorted(returns.offsets):
            failures = self.attempts_of(offset).failures + 1
            if policy.is_exhausted(failures):
                exhausted.append(offset)
                continue
            again.append(offset)
            at = policy.visible_at(offset, failures, now) if pause_ms is None else InstantNs(now + pause_ms * 1_000_000)
            visible.append(at)
        if not again:
            return Retries(None, exhausted)
        reason = returns.reason[:LONGEST_REASON]
        return Retries(Returned(now, returns.grant, tuple(again), tuple(visible), reason), exhausted)

    def give_back(self, returns: Returns, *, now: InstantNs) -> Returned:
        """Release unprocessed records: another consumer may have them at once."""
        self._check_leased(returns.grant, returns.offsets)
        ordered = tuple(sorted(returns.offsets))
        return Returned(now, returns.grant, ordered, (now,) * len(ordered), returns.reason, is_failure=False)

    def extend(self, grant: int, offsets: Offsets, deadline: InstantNs) -> Extended:
        self._check_leased(grant, offsets)
        return Extended(PartOfGrant(grant, pack(offsets)), deadline)

    def holds(self, grant: int, offsets: Iterable[int]) -> bool:
        """Whether all of them are leased under this grant."""
        found = self._grants.get(grant)
        wanted = offsets if isinstance(offsets, BitMap64) else BitMap64(offsets)
        return found is not None and wanted.issubset(found.records)

    def is_leased(self, grant: int, offset: int) -> bool:
        found = self._grants.get(grant)
        return found is not None and offset in found.records

    def is_asleep(self, offset: int) -> bool:
        """Whether the record was hidden when a poll reached it and has not been delivered since."""
        return offset in self._asleep

    def is_settled(self, offset: int) -> bool:
        return offset < self._floor or offset in self._settled

    def has_acked(self, grant: int, offset: int) -> bool:
        """Whether the record was acknowledged under this grant, as far as is known: repeating the ack is then safe.

        It is known only of recently ended records that had several deliveries. A late ack of one of them is refused, as
        the record may be a dead letter now.
        """
        return self.is_settled(offset) and self._ends.get(offset, grant) == grant

    def has_buried(self, grant: int, offset: int) -> bool:
        """Like `has_acked`, for a dead letter."""
        return self.is_settled(offset) and self._ends.get(offset) == -grant

    # Effects of time, operators and the log.

    def overdue(self, *, now: InstantNs, most: int) -> list[tuple[Grant, list[int]]]:
        return self._grants.overdue(now, most)

    def next_deadline(self) -> InstantNs | None:
        return self._grants.next_deadline()

    def next_rested(self) -> InstantNs | None:
        """When the next resting record may be retried."""
        while self._rest_heap and self._resting.get(self._rest_heap[0][1]) != self._rest_heap[0][0]:
            heapq.heappop(self._rest_heap)
        return self._rest_heap[0][0] if self._rest_heap else None

    def wake(self, is_hidden: Callable[[int], bool]) -> None:
        """Make sleeping records that are no longer hidden deliverable. Not an event: it follows from the delays."""
        for offset in self._asleep:
            if not is_hidden(offset):
                self._deliver_again(offset)

    def wake_these(self, offsets: Iterable[int]) -> bool:
        """Like `wake`, for records that have just become due; True if one of them was asleep here."""
        woken = [offset for offset in offsets if offset in self._asleep]
        for offset in woken:
            self._deliver_again(offset)
        return bool(woken)

    def reposition(self, offset: int) -> Repositioned:
        return Repositioned(offset)

    def forget_below(self, offset: int) -> Forgotten | None:
        """Drop records below the log start offset, or below a committed offset; None when nothing changes."""
        return Forgotten(offset) if offset > self._floor else None

    # Queries.

    @property
    def floor(self) -> int:
        """The committed offset: everything before it is settled."""
        return self._floor

    @property
    def deferred_count(self) -> int:
        return self._key_order.deferred_count

    @property
    def leased_count(self) -> int:
        return len(self._grants)

    def resting_count(self, *, now: InstantNs) -> int:
        """Number of records whose pause after a failure is not over; the others are ready."""
        self._wake_rested(now)
        return len(self._resting) - len(self._rested)

    def is_busy(self, *, now: InstantNs) -> bool:
        """Whether something happens without a poll: a lease may end, a retry or a delayed record become due."""
        if self._grants.leased:
            return True
        rested = self.next_rested()
        if rested is not None and rested > now:
            return True
        return len(self._asleep) > sum(self._asleep.intersection_cardinality(lane) for lane in self._again)

    def leased_by_lane(self) -> list[int]:
        counts = [0] * LANES
        for lane, count in self._lanes.counts_of(self._grants.leased).items():
            counts[lane] = count
        return counts

    def oldest_ready(self, lane: int, end: int) -> int | None:
        """The first record in the log of those that `ready` counts."""
        found = [*self.again(lane, 1), *self.fresh(lane, 1, end)]
        return min(found, default=None)

    def waiting(self, end: int, *, now: InstantNs, start: int = 0, hidden: Sequence[BitMap64] = ()) -> Waiting:
        """The count of `ready`, without looking at each record where there is one lane only.

        In that case, new records before `start`, which have left the log, and `hidden` ones are not counted.
        """
        self._wake_rested(now)
        if self._lanes:
            firsts = [self.oldest_ready(lane, end) for lane in range(LANES)]
            found = min((first for first in firsts if first is not None), default=None)
            return Waiting(self.ready(end, now=now), found)
        again = self._again[NORMAL]
        new = seen_in(max(self.frontier(NORMAL), start), end, hidden)
        ready = [0] * LANES
        ready[NORMAL] = len(again) + new.number
        return Waiting(ready, again.min() if again else new.first)

    def standing(self, offset: int) -> Standing:
        """State of a record. Whether a settled one became a dead letter is known only for the most recent ones."""
        attempts = self.attempts_of(offset)
        if self.is_settled(offset):
            return Standing("dead" if self._ends.get(offset, 0) < 0 else "settled", attempts)
        for grant in self._grants if offset in self._grants.leased else ():
            if offset in grant.records:
                return Standing("leased", attempts, grant.deadline_of(offset), grant.consumer)
        if offset in self._resting:
            return Standing("resting", attempts, self._resting[offset])
        if offset in self._asleep:
            return Standing("asleep", attempts)
        is_deferred = any(one == offset for one, _ in self._key_order.deferred())
        return Standing("deferred" if is_deferred else "waiting", attempts)

    def in_flight(self, consumer: str) -> int:
        return self._grants.in_flight(consumer)

    def count_in_flight(self, total: InFlight) -> None:
        """Include the leases of each consumer here in this total over several partitions."""
        self._in_flight = total
        self._grants.count_in(total)

    def grants_of(self, consumer: str) -> list[Grant]:
        return self._grants.of_consumer(consumer)

    def grant(self, number: int) -> Grant | None:
        return self._grants.get(number)

    def unsettled(self, end: int, first: int = 0) -> int:
        """Number of unsettled records before `end`; with `first`, only from there on."""
        first = max(first, self._floor)
        if first >= end:
            return 0
        return end - first - (self._settled.range_cardinality(first, end) if self._settled else 0)

    def unsettled_of(self, offsets: BitMap64, end: int, first: int = 0) -> int:
        """Like `unsettled`, among these records only."""
        first = max(first, self._floor)
        if first >= end:
            return 0
        count = offsets.range_cardinality(first, end)
        if not count or not self._settled:
            return count
        if first == self._floor:
            return max(0, count - self._settled.intersection_cardinality(offsets))
        return count - (self._settled & offsets).range_cardinality(first, end)

    def reach_of(self, consumer: str, end: int) -> int:
        """The offset up to which everything the consumer had is settled: what it may commit."""
        mine = BitMap64()
        for grant in self._grants.of_consumer(consumer):
            mine |= grant.records
        others = self._grants.leased - mine
        lows = [end, *self._resting, *(offset for offset, _ in self._key_order.deferred())]
        lows += [some.min() for some in (others, self._asleep, *self._again) if some]
        for lane in range(LANES):
            lows += self._lanes.take(lane, self.frontier(lane), end, 1)
        return min(lows)

    def repeated(self, offsets: Iterable[int]) -> dict[int, Attempts]:
        """The records that have been delivered before, with their attempts."""
        if not self._attempts:
            return {}
        found = ((offset, self._attempts.get(offset)) for offset in offsets)
        return {offset: one for offset, one in found if one is not None and one.deliveries > 1}

    def attempts_of(self, offset: int) -> Attempts:
        """For a leased record, the current delivery is included."""
        found = self._attempts.get(offset)
        if found is not None:
            return found
        return Attempts(1 if offset in self._grants.leased else 0, 0)

    # Events.

    def apply(self, event: DeliveryEvent) -> None:
        match event:
            case Opened(offset, in_key_order, last_grant):
                self._open(offset, in_key_order=in_key_order)
                self._grants.last_number = last_grant
            case _ if not self.is_open:
                # Written at the moment the topic was deleted: there is no state left to change.
                return
            case Leased():
                self._lease(event)
            case Settled(parts, is_dead):
                for part in parts:
                    self._settle(part.grant, unpack(part.records), is_dead=is_dead)
            case Returned():
                self._return(event)
            case Extended(part, deadline):
                self._grants.extend(part.grant, unpack(part.records), deadline)
            case Repositioned(offset):
                last = self._grants.last_number
                self._start(offset)
                # Receipts given before must not match leases granted afterwards.
                self._grants.last_number = last
            case Forgotten(below):
                self._forget(below)

    def _open(self, floor: int, *, in_key_order: bool) -> None:
        self.is_open = True
        self.in_key_order = in_key_order
        self._lanes = _OneLane() if in_key_order else self._all_lanes
        self._start(floor)

    def _lease(self, event: Leased) -> None:
        self.leased_at = event.at
        taken = unpack(event.records)
        self._grants.add(Grant(event.grant, event.consumer, event.at, event.deadline, taken))
        if not taken:
            self._grants.take_back(event.grant, taken)
        self._frontiers = list(event.frontiers)
        if event.asleep:
            self._asleep |= unpack(event.asleep)
        if self._asleep:
            self._asleep -= taken
        for lane in self._again:
            if lane:
                lane.difference_update(taken)
        self._count_deliveries(taken)
        if event.keys:
            for offset, key in zip(taken, event.keys, strict=True):
                self._key_order.begin(offset, key)
        for offset, key in event.deferred:
            self._key_order.defer(offset, key)
        if self._asleep and event.deferred:
            # They are awake, and wait for another record of their key from now on.
            waiting = BitMap64([offset for offset, _ in event.deferred])
            self._asleep -= waiting
            for lane in self._again:
                lane.difference_update(waiting)
        if event.skipped:
            self._done(unpack(event.skipped))

    def _count_deliveries(self, taken: BitMap64) -> None:
        if not self._attempts:
            return
        for offset in taken if len(taken) < len(self._attempts) else [one for one in self._attempts if one in taken]:
            before = self._attempts.get(offset)
            if before is not None:
                self._attempts[offset] = before._replace(deliveries=before.deliveries + 1)
                self._end_rest(offset)

    def _settle(self, grant: int, offsets: BitMap64, *, is_dead: bool) -> None:
        self._grants.take_back(grant, offsets)
        if is_dead or self._attempts:
            self._note_ends(-grant if is_dead else grant, offsets if is_dead else self._tried_before(offsets))
        self._done(offsets)

    def _tried_before(self, offsets: BitMap64) -> list[int]:
        return [offset for offset in offsets if offset in self._attempts]

    def _note_ends(self, end: int, offsets: Iterable[int]) -> None:
        for offset in offsets:
            self._ends[offset] = end
        for offset in list(islice(self._ends, max(0, len(self._ends) - KEPT_ENDS))):
            del self._ends[offset]

    def _done(self, offsets: BitMap64) -> None:
        if self._attempts:
            for offset in self._tried_before(offsets):
                del self._attempts[offset]
                self._end_rest(offset)
        if self._asleep:
            self._asleep -= offsets
        for lane in self._again:
            if lane:
                lane.difference_update(offsets)
        for turn in self._key_order.end(offsets):
            self._deliver_again(turn)
        self._settled |= offsets
        if self._floor in self._settled:
            self._raise_floor()

    def _return(self, event: Returned) -> None:
        for offset, at in zip(event.offsets, event.visible_at, strict=True):
            before = self.attempts_of(offset)
            failures, history = before.failures, before.history
            if event.is_failure:
                failures += 1
                history = (*history, Failure(event.at, event.reason))[-KEPT_FAILURES:]
            self._attempts[offset] = Attempts(before.deliveries, failures, history)
            self._rest(offset, at)
        self._grants.take_back(event.grant, BitMap64(event.offsets))

    def _rest(self, offset: int, at: InstantNs) -> None:
        self._end_rest(offset)
        self._resting[offset] = at
        heapq.heappush(self._rest_heap, (at, offset))

    def _end_rest(self, offset: int) -> None:
        if self._resting.pop(offset, None) is not None and self._rested:
            self._rested.discard(offset)

    def _wake_rested(self, now: InstantNs) -> None:
        while self._rest_heap and (at := self.next_rested()) is not None and at <= now:
            offset = heapq.heappop(self._rest_heap)[1]
            # The time is kept, so that a snapshot contains it; only the heap has dropped it.
            if self._rested is NOTHING:
                self._rested = BitMap64()
            self._rested.add(offset)
            self._deliver_again(offset)

    def _forget(self, below: int) -> None:
        if below <= self._floor:
            return
        gone = BitMap64()
        gone.add_range(0, below)
        for grant in [one for one in self._grants if one.records.min() < below]:
            self._grants.take_back(grant.number, gone)
        for offset in [one for one in self._attempts if one < below]:
            del self._attempts[offset]
            self._end_rest(offset)
        turns = self._key_order.forget_below(below)
        self._asleep.remove_range(0, below)
        self._settled.remove_range(0, below)
        for lane in self._again:
            lane.remove_range(0, below)
        for turn in turns:
            self._deliver_again(turn)
        self._frontiers = [max(frontier, below) for frontier in self._frontiers]
        self._floor = below
        if below in self._settled:
            self._raise_floor()

    def _raise_floor(self) -> None:
        """Move the floor behind the run of settled records that begins there."""
        last = self._settled.max()
        if last - self._floor + 1 == len(self._settled):
            # The common case: there is no other run.
            self._floor = last + 1
            self._settled.clear()
            return
        self._floor = end_of_run(self._settled, self._floor)
        self._settled.remove_range(0, self._floor)

    # Snapshots.

    def snapshot(self) -> KeptDelivery:
        return KeptDelivery(
            self._floor,
            tuple(self._frontiers),
            self._settled.serialize(),
            self._asleep.serialize(),
            self._grants.last_number,
            self._grants.snapshot(),
            tuple(
                KeptAttempts(offset, one.deliveries, one.failures, self._resting.get(offset, InstantNs(0)), one.history)
                for offset, one in sorted(self._attempts.items())
            ),
            tuple(self._key_order.under_way()),
            tuple(self._key_order.deferred()),
            self.is_open,
            self.in_key_order,
            tuple(self._ends.items()),
            self.leased_at,
        )

    def restore(self, kept: KeptDelivery) -> None:
        """Call `wake` when everything is restored and applied."""
        self._open(kept.floor, in_key_order=kept.in_key_order)
        self.is_open = kept.is_open
        self.leased_at = kept.leased_at
        self._frontiers = list(kept.frontiers)
        self._settled = BitMap64.deserialize(kept.settled)
        self._asleep = BitMap64.deserialize(kept.asleep)
        self._grants.restore(kept.grants)
        self._grants.last_number = kept.last_grant
        for one in kept.attempts:
            self._attempts[one.offset] = Attempts(one.deliveries, one.failures, one.history)
            if one.visible_at:
                self._rest(one.offset, one.visible_at)
        self._key_order.restore(kept.keys, kept.deferred)
        self._ends = dict(kept.ends)
        for offset, _ in kept.keys:
            if offset not in self._grants.leased and offset not in self._attempts:
                self._deliver_again(offset)

    # Steps shared by commands.

    def _check_leased(self, number: int, offsets: Iterable[int]) -> None:
        if self.holds(number, offsets):
            return
        grant = self._grants.get(number)
        missing = next((offset for offset in offsets if grant is None or offset not in grant.records), None)
        if missing is not None:
            raise UnknownReceipt(f"record {missing} is not leased under this receipt any more")

    def _ahead_in(self, lane: int) -> Ahead:
        found = self._ahead.get(lane)
        if found is None:
            found = self._ahead[lane] = Ahead(self._lanes, lane)
        return found

    def _deliver_again(self, offset: int) -> None:
        lane = self._lane_of(offset)
        if self._again[lane] is NOTHING:
            self._again[lane] = BitMap64()
        self._again[lane].add(offset)

    def _lane_of(self, offset: int) -> int:
        return self._lanes.priority_of(offset)
