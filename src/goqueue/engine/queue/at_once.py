"""Leases of plain records: granted without a task, and written together with those of other workers.

Records are plain if none is hidden, retried or in key order, and they are in memory or in a block read before. All
others are found by `goqueue.engine.queue.take`.
"""

from collections.abc import Sequence
from typing import NamedTuple

from goqueue.core.delivery.delivery import Looked
from goqueue.core.delivery.events import Leased
from goqueue.core.priority.drr import by_lane
from goqueue.engine.broker import Broker
from goqueue.engine.partition import Partition
from goqueue.engine.queue.gather import Gathered, at_hand
from goqueue.engine.queue.lane_runs import LanePart
from goqueue.engine.queue.policies import settings_of
from goqueue.engine.queue.positions import give_back_grant
from goqueue.engine.queue.search import may_expire
from goqueue.engine.queue.states import Change, PollAtOnce, QueueState
from goqueue.engine.queue.take import taken_of
from goqueue.engine.visibility import hides_nothing
from goqueue.errors import GoQueueError
from goqueue.model.ids import InstantNs
from goqueue.model.topic import TopicName

__all__ = ["lease_at_once", "may_take"]

NS_PER_MS = 1_000_000


class _Granted(NamedTuple):
    poll: PollAtOnce
    event: Leased
    found: Gathered


def lease_at_once(broker: Broker, state: QueueState, polls: Sequence[PollAtOnce]) -> Change | None:
    """A lease for each poll that finds at least `least` records; the other polls are answered with None."""
    granted: list[_Granted] = []
    failure: Exception | None = None
    try:
        if polls:
            broker.queues.check_there(state)
            granted = _Leasing(broker, state, polls[0].partition).run(polls)
    except GoQueueError:
        # Group or topic were deleted meanwhile: the regular path reports it.
        pass
    except Exception as error:
        failure = error
    for poll in polls[len(granted) :]:
        _end(broker, state, poll)
        poll.answer(failure)
    if not granted:
        return None
    return Change([one.event for one in granted], lambda refusal: _answer(broker, state, granted, refusal))


class _Leasing:
    """Several leases in a row, each of the records that the previous ones leave."""

    def __init__(self, broker: Broker, state: QueueState, partition: Partition) -> None:
        self._broker = broker
        self._state = state
        self._partition = partition
        self._now = broker.clock.now_ns()
        self._end = partition.stable_offset
        self._frontiers: dict[int, int] = {}
        """Of the lanes that they take from."""

    def run(self, polls: Sequence[PollAtOnce]) -> list[_Granted]:
        """Grant leases up to the first poll for which there are too few records."""
        granted: list[_Granted] = []
        if not self._is_plain():
            return granted
        state, now = self._state, self._now
        config = settings_of(self._broker, state.group, state.log)
        state.follow(self._broker.catalog.topic(TopicName(state.log.topic)).config)
        for poll in polls:
            found = self._find(poll)
            if found is None:
                break
            visible_ns = (poll.visibility_ms or config.visibility_timeout_ms) * NS_PER_MS
            looked = Looked(found.offsets, self._frontiers)
            deadline = InstantNs(now + visible_ns)
            event = state.delivery.lease(looked, poll.consumer, deadline=deadline, now=now, behind=len(granted))
            assert event is not None, "some were found"
            granted.append(_Granted(poll, event, found))
        return granted

    def _is_plain(self) -> bool:
        broker, state, partition = self._broker, self._state, self._partition
        delivery = state.delivery
        if not (broker.is_open(partition) and delivery.is_open and may_take(broker, state.group)):
            return False
        return not delivery.in_key_order and hides_nothing(partition, delivery.floor)

    def _find(self, poll: PollAtOnce) -> Gathered | None:
        state, now = self._state, self._now
        enough = state.lanes.enough(poll.limit)
        waiting = state.delivery.ready(self._end, now=now, enough=enough, frontiers=self._frontiers)
        if state.delivery.has_again:
            return None
        wanted = by_lane(state.lanes.plan(waiting, poll.limit, now=now))
        parts = [part for lane, count in wanted.items() if (part := self._part(lane, count)).offsets]
        if sum(len(part.offsets) for part in parts) < poll.least:
            return None
        found = at_hand(self._broker, self._partition, parts, poll.max_bytes)
        if found is None or may_expire(found.records):
            return None
        for lane, offsets, _ in parts:
            self._frontiers[lane] = offsets[-1] + 1
            state.dequeued.note(lane, len(offsets), now=now)
        state.lanes.served(waiting, wanted.items(), now=now)
        return found

    def _part(self, lane: int, count: int) -> LanePart:
        delivery = self._state.delivery
        first = self._frontiers.get(lane, delivery.frontier(lane))
        part = self._broker.lane_runs.next(self._partition, lane, first, count)
        if part is None or part.offsets[-1] >= self._end:
            part = LanePart(lane, delivery.fresh(lane, count, self._end, first))
        return part


def _answer(broker: Broker, state: QueueState, granted: Sequence[_Granted], refusal: GoQueueError | None) -> None:
    for poll, event, found in granted:
        _end(broker, state, poll)
        if refusal is not None:
            poll.answer(refusal)
        elif not poll.answer(taken_of(broker, state, event, found)):
            give_back = give_back_grant(broker, state, event.grant, "its consumer went away")
            broker.queues.in_background(give_back)


def _end(broker: Broker, state: QueueState, poll: PollAtOnce) -> None:
    broker.queues.end_take(state.group, poll.consumer, poll.limit)


def may_take(broker: Broker, group: str) -> bool:
    """Whether workers may take: not while the group is paused or has members, which own the partitions."""
    found = broker.groups.group(group)
    return not found.is_paused and not found.member_count
