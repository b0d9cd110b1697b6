"""Deliveries against a naive model: every record is in exactly one place, whatever workers, time and restarts do."""

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from goqueue.core.delivery.delivery import Delivery, Looked, Returns
from goqueue.core.delivery.events import DeliveryEvent, KeptDelivery
from goqueue.core.delivery.policy import RetryPolicy
from goqueue.core.priority.lane_index import LaneIndex
from goqueue.model.ids import InstantNs
from goqueue.model.priority import LANES

POLICY = RetryPolicy(max_attempts=3, backoff_ms=100, max_backoff_ms=400)
SECOND = 1_000_000_000
VISIBILITY = 5 * SECOND

events = msgspec.msgpack.Decoder(DeliveryEvent)
snapshots = msgspec.msgpack.Decoder(KeptDelivery)
some = st.floats(0, 1)


class Queue(RuleBasedStateMachine):
    """One group, one partition, records in lanes; with key order all records are in one lane."""

    keyed = False

    def __init__(self) -> None:
        super().__init__()
        self.now = 1_000 * SECOND
        self.lanes = LaneIndex()
        self.live = Delivery(self.lanes)
        self.journal: list[bytes] = []
        self.kept: bytes | None = None
        self.write(self.live.open(0, in_key_order=self.keyed))
        self.end = 0
        self.key_of: dict[int, int] = {}
        self.hidden: set[int] = set()
        self.cancelled: set[int] = set()
        # The model: where each record is.
        self.leases: dict[int, tuple[int, int]] = {}
        self.resting: dict[int, int] = {}
        self.deliveries: dict[int, int] = {}
        self.failures: dict[int, int] = {}
        self.done: set[int] = set()
        self.gone: set[int] = set()

    def write(self, event: DeliveryEvent) -> None:
        raw = msgspec.msgpack.encode(event)
        self.journal.append(raw)
        self.live.apply(events.decode(raw))

    @rule(priorities=st.lists(st.integers(0, LANES - 1), min_size=1, max_size=12), delayed=some, keys=st.randoms())
    def publish(self, priorities, delayed, keys) -> None:
        self.lanes.add(self.end, bytes(priorities))
        for step in range(len(priorities)):
            self.key_of[self.end + step] = keys.randint(0, 3)
            if not self.keyed and keys.random() < delayed / 3:
                self.hidden.add(self.end + step)
        self.end += len(priorities)

    @rule(share=some)
    def delays_fall_due(self, share) -> None:
        due = sorted(self.hidden - self.cancelled)[: int(share * 10)]
        self.hidden -= set(due)
        self.live.wake_these(due)

    @precondition(lambda self: self.hidden)
    @rule(share=some)
    def cancel(self, share) -> None:
        self.cancelled.add(sorted(self.hidden)[int(share * (len(self.hidden) - 1))])

    @rule(limit=st.integers(1, 8), lane=st.integers(0, LANES - 1))
    def poll(self, limit, lane) -> None:
        lane = 2 if self.keyed else lane
        now = InstantNs(self.now)
        self.live.ready(self.end, now=now)
        taken, keys, asleep, deferred = [], [], [], []
        begun = set()
        frontier = None
        for offset in self.live.again(lane, limit):
            taken.append(offset)
            keys.append(self.key_of[offset])
        for offset in self.live.fresh(lane, limit - len(taken), self.end) if len(taken) < limit else []:
            frontier = offset + 1
            key = self.key_of[offset]
            if offset in self.hidden:
                asleep.append(offset)
            elif self.keyed and key and (key in begun or not self.live.is_key_free(key)):
                deferred.append((offset, key))
            else:
                taken.append(offset)
                keys.append(key)
                begun.add(key)
        frontiers = {} if frontier is None else {lane: frontier}
        looked = Looked(taken, frontiers, asleep, (), keys if self.keyed else (), deferred)
        event = self.live.lease(looked, "worker", deadline=InstantNs(self.now + VISIBILITY), now=now)
        if event is None:
            return
        self.write(event)
        for offset in taken:
            assert offset not in self.leases, "two have it"
            assert offset not in self.done, "delivered again after its ack"
            assert self.resting.get(offset, 0) <= self.now, "too early"
            assert offset not in self.hidden
            if self.keyed and self.key_of[offset]:
                older = [one for one in range(offset) if self.key_of[one] == self.key_of[offset]]
                assert all(one in self.done or one in self.gone for one in older), "out of the order of its key"
            self.resting.pop(offset, None)
            self.deliveries[offset] = self.deliveries.get(offset, 0) + 1
            self.leases[offset] = (event.grant, self.now + VISIBILITY)

    def some_leases(self, share) -> dict[int, list[int]]:
        by_grant: dict[int, list[int]] = {}
        for offset in sorted(self.leases)[: 1 + int(share * len(self.leases))]:
            by_grant.setdefault(self.leases[offset][0], []).append(offset)
        return by_grant

    @precondition(lambda self: self.leases)
    @rule(share=some)
    def ack(self, share) -> None:
        chosen = self.some_leases(share)
        self.write(self.live.settle(chosen))
        for offsets in chosen.values():
            for offset in offsets:
                del self.leases[offset]
                self.done.add(offset)

    @precondition(lambda self: self.leases)
    @rule(share=some)
    def nack(self, share) -> None:
        for grant, offsets in self.some_leases(share).items():
            self.return_failed(grant, offsets, None)

    def return_failed(self, grant, offsets, pause_ms) -> None:
        now = InstantNs(self.now)
        retries = self.live.fail(Returns(grant, offsets, "broken"), POLICY, pause_ms=pause_ms, now=now)
        exhausted = [one for one in offsets if self.failures.get(one, 0) + 1 >= POLICY.max_attempts]
        assert retries.exhausted == exhausted
        if retries.event is not None:
            self.write(retries.event)
            for offset, at in zip(retries.event.offsets, retries.event.visible_at, strict=True):
                self.failures[offset] = self.failures.get(offset, 0) + 1
                self.resting[offset] = at
                del self.leases[offset]
        if exhausted:
            self.write(self.live.settle({grant: exhausted}))
            for offset in exhausted:
                del self.leases[offset]
                self.done.add(offset)

    @precondition(lambda self: self.leases)
    @rule(share=some)
    def give_back(self, share) -> None:
        for grant, offsets in self.some_leases(share).items():
            self.write(self.live.give_back(Returns(grant, offsets, "stopping"), now=InstantNs(self.now)))
            for offset in offsets:
                del self.leases[offset]
                self.resting[offset] = self.now

    @precondition(lambda self: self.leases)
    @rule(share=some, seconds=st.integers(0, 20))
    def extend(self, share, seconds) -> None:
        deadline = self.now + seconds * SECOND
        for grant, offsets in self.some_leases(share).items():
            self.write(self.live.extend(grant, offsets, InstantNs(deadline)))
            for offset in offsets:
                self.leases[offset] = (grant, deadline)

    @rule(milliseconds=st.integers(1, 7000))
    def time_passes(self, milliseconds) -> None:
        self.now += milliseconds * 1_000_000
        late = {offset for offset, (_, deadline) in self.leases.items() if deadline <= self.now}
        deadlines = [deadline for _, deadline in self.leases.values()]
        assert self.live.next_deadline() == min(deadlines, default=None)
        found = self.live.overdue(now=InstantNs(self.now), most=10_000)
        assert sorted(offset for _, offsets in found for offset in offsets) == sorted(late)
        for grant, offsets in found:
            self.return_failed(grant.number, offsets, 0)

    @rule(share=some)
    def retention(self, share) -> None:
        below = int(share * self.end / 2)
        event = self.live.forget_below(below)
        if event is not None:
            self.write(event)
        self.lanes.forget_below(below)
        for offset in range(below):
            self.gone.add(offset)
            for known in (self.leases, self.resting):
                known.pop(offset, None)
            self.hidden.discard(offset)

    @rule()
    def snapshot(self) -> None:
        self.kept = msgspec.msgpack.encode(self.live.snapshot())
        self.journal.clear()

    @rule()
    def restart(self) -> None:
        again = Delivery(self.lanes)
        if self.kept is not None:
            again.restore(snapshots.decode(self.kept))
        for raw in self.journal:
            again.apply(events.decode(raw))
        again.wake(self.hidden.__contains__)
        assert plain(again) == plain(self.live)
        self.live = again

    @invariant()
    def every_record_is_in_one_place(self) -> None:
        assert self.live.leased_count == len(self.leases)
        for offset in self.leases:
            assert self.live.attempts_of(offset)[:2] == (self.deliveries[offset], self.failures.get(offset, 0))
        floor = self.live.floor
        assert all(offset in self.done or offset in self.gone for offset in range(floor))
        assert floor == self.end or floor not in self.done
        assert self.live.unsettled(self.end) == len(set(range(self.end)) - self.done - self.gone)

    def teardown(self) -> None:
        """Nothing is lost: once all delays are due and time has passed, all that is not done comes again."""
        self.live.wake_these(sorted(self.hidden))
        self.hidden.clear()
        for _ in range(self.end + 3):
            if self.live.unsettled(self.end) == 0:
                break
            self.time_passes(60_000)
            for lane in range(LANES):
                self.poll(1000, lane)
            if self.leases:
                self.ack(1.0)
        assert set(range(self.end)) == self.done | self.gone


class KeyedQueue(Queue):
    keyed = True


def plain(delivery: Delivery) -> KeptDelivery:
    return delivery.snapshot()


TestQueue = Queue.TestCase
TestKeyedQueue = KeyedQueue.TestCase
TestQueue.settings = TestKeyedQueue.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
