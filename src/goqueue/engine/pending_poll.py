"""Pending poll: a poll of a worker that is answered through a callback and waits without a task.

It serves a worker of one topic whose records are plain: visible, new, and all in one partition. Everything else
(members, key order, several topics, pending retries, hidden records) is left to a task that runs
`goqueue.engine.poll.poll` for the rest of the wait.
"""

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from goqueue.engine.broker import Broker
from goqueue.engine.partition import Partition
from goqueue.engine.poll import Poll, check_consumer, note_worker, poll
from goqueue.engine.queue.at_once import may_take
from goqueue.engine.queue.positions import give_back_grant
from goqueue.engine.queue.ring import Ring
from goqueue.engine.queue.states import PollAtOnce, QueueState
from goqueue.engine.queue.take import Taken, bytes_within, check_take, room_of
from goqueue.engine.queue.together import take_together
from goqueue.errors import GoQueueError, UnknownTopic
from goqueue.model.topic import TopicName

__all__ = ["Answer", "PendingPoll"]

Answer = Callable[[Sequence[Taken] | Exception], bool]
"""Called once, unless the poll is cancelled. Returns False if the client has gone; then its records are returned."""


class PendingPoll:
    __slots__ = (
        "_answer",
        "_broker",
        "_ended",
        "_has_waited",
        "_is_called",
        "_is_leasing",
        "_is_over",
        "_loop",
        "_request",
        "_ring",
        "_task",
        "_timer",
        "_until",
    )

    def __init__(self, broker: Broker, request: Poll, answer: Answer, ended: "Callable[[PendingPoll], None]") -> None:
        """`ended` is called before the answer, or when the poll is cancelled."""
        self._broker = broker
        self._request = request
        self._answer = answer
        self._ended = ended
        self._loop = asyncio.get_running_loop()
        self._until = self._loop.time() + request.wait_ms / 1000
        self._ring: Ring | None = None
        self._timer: asyncio.TimerHandle | None = None
        """Set while the poll waits."""
        self._task: asyncio.Task[None] | None = None
        self._has_waited = False
        self._is_called = False
        self._is_leasing = False
        self._is_over = False

    def start(self) -> None:
        request = self._request
        try:
            check_consumer(request.consumer)
            check_take(request.limit, request.wait_ms, request.visibility_ms)
        except GoQueueError as refusal:
            self._finish(refusal)
            return
        self._ring = self._find_ring()
        if self._ring is None or not may_take(self._broker, request.group):
            self._leave_to_task()
        else:
            note_worker(request)
            self._broker.groups.group(request.group).use(now=self._broker.clock.now_ns())
            self._look(self._ring)

    def cancel(self) -> None:
        """Drop the poll: the client has gone."""
        if self._is_over:
            return
        self._end()
        if self._task is not None:
            self._task.cancel()

    def end_wait(self) -> None:
        """Answer now; with no records unless a lease is in progress."""
        self._until = min(self._until, self._loop.time())
        if self._is_over or self._is_leasing:
            return
        if self._task is not None:
            self._task.cancel()
        self._finish([])

    # Looking for records.

    def _find_ring(self) -> Ring | None:
        """The partitions of the topic, if the group has taken from them before without key order."""
        request, broker = self._request, self._broker
        if request.generation is not None or request.in_key_order or len(request.topics) != 1:
            return None
        ring = broker.rings.find(request.group, request.topics[0])
        return ring if ring is not None and ring.is_without_key_order and self._is_current(ring) else None

    def _is_current(self, ring: Ring) -> bool:
        """False if the group or the topic was deleted, or the number of partitions has changed."""
        topic = self._request.topics[0]
        try:
            partitions = self._broker.partitions(TopicName(topic))
        except UnknownTopic:
            return False
        return ring.partitions is partitions and ring is self._broker.rings.find(self._request.group, topic)

    def _look_again(self) -> None:
        """Look again after a wake-up."""
        self._is_called = False
        ring = self._ring
        if self._is_over or ring is None or self._timer is None:
            return
        if not self._is_current(ring):
            self._leave_to_task()
        elif may_take(self._broker, self._request.group):
            self._look(ring)
        # Otherwise the group was paused or a member has joined: this worker may take nothing.

    def _look(self, ring: Ring) -> None:
        """Look once at each partition: lease from the only one with records, or from one with enough."""
        broker, request = self._broker, self._request
        limit = min(request.limit, room_of(broker, request.group, request.consumer))
        now_ns = broker.clock.now_ns
        found: tuple[QueueState, Partition] | None = None
        for state, partition in ring.may_be_ready(now_ns):
            if limit <= 0 or not state.delivery.is_open or found is not None:
                # The group's first poll of a queue, several partitions with few records each, or no room.
                self._leave_to_task()
                return
            promised = sum(poll.limit for poll in state.polls)
            if state.delivery.has_ready(partition.stable_offset - promised - limit + 1, now=now_ns()):
                self._lease(state, partition, limit, least=limit)
                return
            found = state, partition
        if found is None:
            self._wait()
        else:
            self._lease(*found, limit, least=1)

    def _lease(self, state: QueueState, partition: Partition, limit: int, least: int) -> None:
        request = self._request
        self._is_leasing = True
        self._broker.queues.begin_take(request.group, request.consumer, limit)
        wish = PollAtOnce(
            partition,
            request.consumer,
            limit,
            least,
            bytes_within(request.max_bytes),
            request.visibility_ms,
            self._leased,
        )
        take_together(self._broker, state, wish)

    def _leased(self, found: Taken | Exception | None) -> bool:
        self._is_leasing = False
        if self._is_over:
            return False
        if found is None:
            self._look_further()
            return True
        return self._finish([found] if isinstance(found, Taken) else found)

    def _look_further(self) -> None:
        """Another worker was faster, or the records are not plain."""
        ring = self._ring
        assert ring is not None
        if self._is_current(ring) and next(ring.may_be_ready(self._broker.clock.now_ns), None) is None:
            self._wait()
        else:
            self._leave_to_task()

    # Waiting.

    def _wait(self) -> None:
        assert self._ring is not None
        if self._loop.time() >= self._until:
            self._finish([])
        elif self._ring.next_rested() is not None:
            self._leave_to_task()
        elif self._timer is None:
            self._has_waited = True
            self._timer = self._loop.call_at(self._until, self.end_wait)
            self._ring.watch(self._call)
            self._broker.queues.watch(self._request.group, self._call)

    def _call(self) -> None:
        """Schedule another look; records that this poll leaves are for the next one."""
        if not self._is_called and not self._is_leasing:
            self._is_called = True
            self._loop.call_soon(self._look_again)

    def _stop_waiting(self) -> None:
        if self._timer is None:
            return
        assert self._ring is not None
        self._timer.cancel()
        self._timer = None
        self._ring.unwatch(self._call)
        self._broker.queues.unwatch(self._request.group, self._call)

    # Ending.

    def _finish(self, result: Sequence[Taken] | Exception) -> bool:
        self._end()
        return self._answer(result)

    def _end(self) -> None:
        self._is_over = True
        self._ended(self)
        self._stop_waiting()
        if self._has_waited and self._ring is not None:
            # Pass the wake-up on: records that this poll left are for the next waiting poll.
            self._ring.hand_on(self._broker.clock.now_ns())

    def _leave_to_task(self) -> None:
        self._stop_waiting()
        self._task = self._loop.create_task(self._run_task())

    async def _run_task(self) -> None:
        left_ms = max(0, round(1000 * (self._until - self._loop.time())))
        wait_ms = min(self._request.wait_ms, left_ms)
        result: Sequence[Taken] | Exception
        try:
            result = await poll(self._broker, msgspec.structs.replace(self._request, wait_ms=wait_ms))
        except Exception as failure:
            result = failure
        if not self._is_over and not self._finish(result) and not isinstance(result, Exception):
            self._give_back(result)

    def _give_back(self, taken: Sequence[Taken]) -> None:
        for one in taken:
            state = self._broker.queues.get(self._request.group, one.log)
            if state is not None:
                give_back = give_back_grant(self._broker, state, one.grant, "its consumer went away")
                self._broker.queues.in_background(give_back)
