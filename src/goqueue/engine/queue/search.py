"""Search for records that a poll may lease in one partition: by priority, visible, not expired, in key order."""

import hashlib
import re
from array import array
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import chain

from goqueue import codec
from goqueue.core.delivery.delivery import Looked
from goqueue.core.priority.drr import by_lane
from goqueue.core.tracing.places import Place
from goqueue.engine.broker import Broker
from goqueue.engine.partition import Partition
from goqueue.engine.queue.gather import Gathered, gather, gather_lanes
from goqueue.engine.queue.lane_runs import LanePart
from goqueue.engine.queue.states import QueueState
from goqueue.engine.tracing.choosing import place_of
from goqueue.engine.tracing.dead_letters import note_expired
from goqueue.engine.visibility import hidden, hides_nothing, is_never
from goqueue.model.expiry import EXPIRES_HEADER, expiry_of
from goqueue.model.ids import InstantNs
from goqueue.model.priority import NORMAL
from goqueue.model.topic import Expired, TopicName

__all__ = ["Search", "may_expire"]

MOST_DEFERRED = 10_000
"""Records that wait for others of their keys: beyond this number, later records are not looked at."""
MOST_PASSED = 10_000
"""Hidden records that one look passes over."""
may_expire = re.compile(re.escape(EXPIRES_HEADER.encode())).search
"""Finds what looks like an expiry header. Every delivered record is scanned, and this takes a sixth of the time of
`in`."""


class Search:
    """The look of one poll at one partition."""

    def __init__(self, broker: Broker, state: QueueState, partition: Partition, limit: int, width: int) -> None:
        self._broker = broker
        self._state = state
        self._partition = partition
        self._limit = limit
        self._width = width
        """Records to look at: more than to take, if earlier ones were passed over for key order."""
        self._waiting: list[int] = []
        self._passed: list[tuple[int, int]] = []
        """Lane and offset of new records that are hidden."""
        self._hides_nothing = False
        self._taken_by_lane: Mapping[int, int] = {}
        self._too_old = 0
        self._expired: list[Place] = []
        self.looked = Looked((), {})
        self.expired: list[int] = []
        """Leased with the others, and then moved to the dead letters."""

    async def run(self, room: int) -> Gathered:
        delivery = self._state.delivery
        end = self._partition.stable_offset
        now = self._broker.clock.now_ns()
        self._state.follow(self._broker.catalog.topic(TopicName(self._state.log.topic)).config)
        width = self._width if delivery.in_key_order else self._limit
        self._waiting = delivery.ready(end, now=now, enough=self._state.lanes.enough(width))
        self._hides_nothing = hides_nothing(self._partition, delivery.floor)
        over: list[int] = []
        frontiers: dict[int, int] = {}
        lanes = self._wanted(width, end, frontiers, over, now)
        # With key order, records are looked at one by one, whatever their lane.
        is_short = bool(lanes) and not delivery.in_key_order
        found = await gather_lanes(self._broker, self._partition, lanes, room) if is_short else None
        if found is None:
            offsets = [lane.offsets for lane in lanes]
            wanted = offsets[0] if len(lanes) == 1 else sorted(chain.from_iterable(offsets))
            found = await gather(self._broker, self._partition, wanted, room)
            if len(found.offsets) < len(wanted):
                there = set(found.offsets)
                over += [offset for offset in wanted if offset < found.reached and offset not in there]
                self._hold_back(frontiers, lanes, found.reached)
        if may_expire(found.records):
            found = self._without_expired(found, over, now)
        self.looked = Looked(found.offsets, frontiers, (), over)
        if delivery.in_key_order:
            found = self._put_in_key_order(found)
        if self.expired:
            # Dead letters are always moved out of a lease.
            keys = [*self.looked.keys, *(0 for _ in self.expired)] if self.looked.keys else ()
            self.looked = self.looked._replace(taken=[*self.looked.taken, *self.expired], keys=keys)
        if self._passed:
            self._note_passed()
        self._taken_by_lane = _count_by_lane(lanes, self.looked.taken)
        return found

    def _wanted(
        self, width: int, end: int, frontiers: dict[int, int], over: list[int], now: InstantNs
    ) -> list[LanePart]:
        """The records to take from each lane; the new frontiers are noted in `frontiers`."""
        delivery, next_of = self._state.delivery, self._broker.lane_runs.next
        is_plain = self._hides_nothing and not delivery.in_key_order and not delivery.has_again
        parts = []
        for lane, count in by_lane(self._state.lanes.plan(self._waiting, width, now=now)).items():
            part = next_of(self._partition, lane, delivery.frontier(lane), count) if is_plain else None
            if part is not None and part.offsets[-1] < end:
                frontiers[lane] = part.offsets[-1] + 1
                parts.append(part)
                continue
            offsets: Sequence[int] = self._again(lane, count, over)
            if len(offsets) < count:
                new, frontier = self._new(lane, count - len(offsets), end)
                # Redelivered records always lie before new ones.
                offsets = [*offsets, *new] if offsets else new
                if frontier is not None:
                    frontiers[lane] = frontier
            if offsets:
                parts.append(LanePart(lane, offsets))
        return parts

    def _without_expired(self, found: Gathered, over: list[int], now: InstantNs) -> Gathered:
        """Leave out expired records: they are skipped, or moved to the dead letters if the topic is configured so."""
        gone: list[int] = []
        for record in codec.decode(found.records):
            expiry = expiry_of(record.headers)
            if expiry is not None and expiry <= now:
                gone.append(record.offset)
                self._expired.append(place_of(record))
        if not gone:
            return found
        self._too_old = len(gone)
        config = self._broker.catalog.topic(TopicName(self._state.log.topic)).config
        (self.expired if config.expired is Expired.DEAD_LETTER else over).extend(gone)
        left = [offset for offset in found.offsets if offset not in gone]
        return Gathered(codec.pick(found.records, array("q", left).tobytes())[0], left, found.reached)

    def _again(self, lane: int, count: int, over: list[int]) -> list[int]:
        """Records before the frontier that are ready again. Those cancelled while hidden are added to `over`."""
        again = self._state.delivery.again(lane, count)
        if not again or self._hides_nothing:
            return again
        never = hidden(self._partition, again[0], again[-1] + 1)
        over += [offset for offset in again if offset in never]
        return [offset for offset in again if offset not in never]

    def _new(self, lane: int, count: int, end: int) -> tuple[Sequence[int], int | None]:
        """Up to `count` new visible records, and the new frontier: hidden records are passed over."""
        if self._hides_nothing:
            new = self._state.delivery.fresh(lane, count, end)
            return new, new[-1] + 1 if new else None
        asked = count
        visible: Sequence[int]
        while True:
            new = self._state.delivery.fresh(lane, asked, end)
            not_now = hidden(self._partition, new[0], new[-1] + 1) if new else None
            if not not_now:
                visible = new[:count]
                break
            visible = [offset for offset in new if offset not in not_now][:count]
            if len(visible) == count or len(new) < asked or asked >= MOST_PASSED:
                break
            asked = min(2 * asked, MOST_PASSED)
        if not_now:
            self._passed += [(lane, offset) for offset in new if offset in not_now]
        if not new:
            return visible, None
        return visible, (visible[-1] if len(visible) == count else new[-1]) + 1

    def _note_passed(self) -> None:
        """Note hidden records up to the frontiers: delayed ones sleep, cancelled ones are settled."""
        frontiers = self.looked.frontiers
        passed = [offset for lane, offset in self._passed if offset < frontiers[lane]]
        # A record that became due meanwhile sleeps, too; it is woken as soon as this is written.
        never = [offset for offset in passed if is_never(self._partition, offset)]
        asleep = sorted(set(passed).difference(never))
        self.looked = self.looked._replace(asleep=asleep, skipped=[*self.looked.skipped, *never])

    def _put_in_key_order(self, found: Gathered) -> Gathered:
        """Leave out records whose key is in flight; they follow when that is settled."""
        delivery = self._state.delivery
        first_new = delivery.frontier(NORMAL)
        taken: list[int] = []
        keys: list[int] = []
        deferred: list[tuple[int, int]] = []
        begun: set[int] = set()
        frontiers = dict(self.looked.frontiers)
        for record in codec.decode(found.records):
            key = _key_hash(record.key)
            # Unlike other redelivered records, one that was hidden has not begun.
            is_begun = record.offset < first_new and not delivery.is_asleep(record.offset)
            is_free = is_begun or key == 0 or (key not in begun and delivery.is_key_free(key))
            has_room = delivery.deferred_count + len(deferred) < MOST_DEFERRED
            if len(taken) >= self._limit or not (is_free or has_room):
                if record.offset < first_new:
                    continue
                frontiers = {lane: min(at, record.offset) for lane, at in frontiers.items()}
                break
            if is_free:
                taken.append(record.offset)
                keys.append(key)
                begun.add(key)
            else:
                deferred.append((record.offset, key))
        self.looked = Looked(taken, frontiers, (), self.looked.skipped, keys, deferred)
        records, _ = codec.pick(found.records, array("q", taken).tobytes())
        return Gathered(records, taken, found.reached)

    def _hold_back(self, frontiers: dict[int, int], lanes: Sequence[LanePart], reached: int) -> None:
        """Where the byte limit was reached, the next look at a lane continues from there."""
        for lane, offsets, _ in lanes:
            first = max(reached, self._state.delivery.frontier(lane))
            left = next((offset for offset in offsets if offset >= first), None)
            if left is not None:
                frontiers[lane] = min(frontiers[lane], left)

    def served(self, now: InstantNs) -> None:
        for lane, count in self._taken_by_lane.items():
            self._state.dequeued.note(lane, count, now=now)
        self._state.lanes.served(self._waiting, self._taken_by_lane.items(), now=now)
        self._partition.tally.expired += self._too_old
        if self._expired and self._broker.tracing.is_on:
            note_expired(self._broker, self._state, self._expired, now)


def _count_by_lane(lanes: Sequence[LanePart], taken: Sequence[int]) -> Mapping[int, int]:
    counts = {lane: len(offsets) for lane, offsets, _ in lanes}
    if len(taken) == sum(counts.values()):
        return counts
    lane_of = {offset: lane for lane, offsets, _ in lanes for offset in offsets}
    return Counter(map(lane_of.__getitem__, taken))


def _key_hash(key: bytes | None) -> int:
    """0 for records without a key."""
    if key is None:
        return 0
    return int.from_bytes(hashlib.blake2b(key, digest_size=7).digest(), "big") | 1 << 56
