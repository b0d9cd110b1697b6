"""Ends of transactions: one journal entry holds the end and everything that follows from it.

A marker in each partition, the offsets of groups and the acknowledgements: after a crash all of that is there, or none
of it, so no end has to be completed later.
"""

from collections.abc import Iterable, Sequence
from contextlib import suppress

from goqueue.core.transactions.coordinator import Coordinator
from goqueue.core.transactions.endings import ABORTED_BY_PRODUCER, TIME_IS_UP
from goqueue.core.transactions.events import Decided, Ended
from goqueue.core.transactions.transaction import PartitionPart, State, Transaction
from goqueue.engine.broker import Broker
from goqueue.engine.partition import Marker, Partition
from goqueue.engine.shielded import shielded
from goqueue.engine.staged_append import StagedAppend
from goqueue.engine.state_log import Also, Decision, Owner
from goqueue.engine.stream_names import COORDINATOR
from goqueue.engine.tracing.waiting import note_ended
from goqueue.engine.transactions.consequences import GroupMoves, QueueChanges
from goqueue.engine.transactions.joining import transaction_owner
from goqueue.errors import UnknownPartition, UnknownTopic
from goqueue.model.topic import TopicName

__all__ = ["abort", "abort_now", "abort_overdue", "commit", "decide"]

ENDED_AT_ONCE = 1000
LEFT_OVER = "the broker was stopped before it ended"


async def commit(broker: Broker, number: int, producer_id: int, epoch: int) -> None:
    """Commit: all of the transaction takes effect. Repeating it is safe, as a reply may have been lost."""
    await _end_own(broker, number, producer_id, epoch, committed=True, why="")


async def abort(broker: Broker, number: int, producer_id: int, epoch: int) -> None:
    """Abort: none of the transaction takes effect."""
    await _end_own(broker, number, producer_id, epoch, committed=False, why=ABORTED_BY_PRODUCER)


async def _end_own(broker: Broker, number: int, producer_id: int, epoch: int, *, committed: bool, why: str) -> None:
    await broker.endings.settled((number,))
    broker.producer_ids.check(producer_id, epoch)
    broker.transactions.fence(number, producer_id, epoch)
    now = broker.clock.now_ns()
    ended = broker.transactions.end(number, committed=committed, why=why, now=now)
    if ended is None:
        # Ended before: the reply was lost, or that end is not durable yet.
        await broker.commit.durable()
        return
    if committed:
        broker.endings.check_whole(number)
        if broker.transactions.deadline_of(number) <= now:
            await abort_now(broker, number, TIME_IS_UP)
            broker.transactions.end(number, committed=True, why="", now=now)
    await _end(broker, (ended,))


async def abort_now(broker: Broker, number: int, why: str) -> bool:
    """Abort a transaction for the broker or an operator; returns False if it has ended already."""
    await broker.endings.settled((number,))
    if broker.transactions.get(number) is None:
        return False
    ended = broker.transactions.end(number, committed=False, why=why, now=broker.clock.now_ns())
    if ended is not None:
        await _end(broker, (ended,))
    return ended is not None


async def decide(broker: Broker, key: str, numbers: Sequence[int]) -> Decided:
    """Commit these parts and abort all others under the key. Repeating the same decision is safe."""
    while broker.transactions.remembered(key) is None:
        live = broker.transactions.numbers_of(key)
        if broker.endings.is_ending(live):
            await broker.endings.settled(live)
            continue
        decision = broker.transactions.decide(key, numbers, broker.clock.now_ns())
        for number in decision.committed:
            broker.endings.check_whole(number)
        (decided, *ends) = decision.events
        assert isinstance(decided, Decided)
        await _end(broker, [one for one in ends if isinstance(one, Ended)], decided)
    await broker.commit.durable()
    broker.transactions.decide(key, numbers, broker.clock.now_ns())
    remembered = broker.transactions.remembered(key)
    assert remembered is not None
    return remembered


async def abort_overdue(broker: Broker) -> int:
    """Abort transactions that have timed out, or were open when the broker stopped; returns their number."""
    count = 0
    for number in sorted(broker.endings.left_over):
        count += await abort_now(broker, number, LEFT_OVER)
        broker.endings.left_over.discard(number)
    count += await _abort_orphans(broker)
    for number in broker.transactions.overdue(broker.clock.now_ns(), ENDED_AT_ONCE):
        count += await abort_now(broker, number, TIME_IS_UP)
    return count


async def _abort_orphans(broker: Broker) -> int:
    """Abort records of unknown transactions, as older versions left them on a full disk."""
    orphans = broker.endings.orphans
    count = len(orphans)
    while orphans:
        number, partitions = next(iter(orphans.items()))
        there = [partition for partition in partitions if broker.is_open(partition)]

        def appends(there: Sequence[Partition] = there, number: int = number) -> Also:
            return Also(appends=[partition.stage_markers([Marker(number, 0, 0, False)]) for partition in there])

        await broker.state_log.change_together((), tuple, appends)
        orphans.pop(number, None)
    return count


async def _end(broker: Broker, ends: Sequence[Ended], decided: Decided | None = None) -> None:
    """Shielded: once submitted the end happens, even if the caller is cancelled. Until then no other end may begin."""
    numbers = [one.number for one in ends]
    broker.endings.begin(numbers)
    await shielded(_end_begun(broker, ends, decided, numbers))


async def _end_begun(broker: Broker, ends: Sequence[Ended], decided: Decided | None, numbers: Sequence[int]) -> None:
    is_ended = False
    try:
        await broker.endings.writes_done(numbers)
        for end in ends:
            if end.committed:
                broker.endings.check_complete(end.number)
        await _Ending(broker, ends, decided).run()
        is_ended = True
    finally:
        broker.endings.finish(numbers, ended=is_ended)


class _Ending:
    """Ends some transactions together."""

    def __init__(self, broker: Broker, ends: Sequence[Ended], decided: Decided | None) -> None:
        self._broker = broker
        self._ends = ends
        self._decided = decided
        self._live = {one.number: _live(broker.transactions, one.number) for one in ends}
        self._queues = QueueChanges(broker, [(self._live[one.number], one.committed) for one in ends])
        self._moves = GroupMoves(broker, [self._live[one.number] for one in ends if one.committed])

    async def run(self) -> None:
        """Returns when the end is as durable as it has to be."""
        broker = self._broker
        owners: list[Owner] = [*self._moves.owners, *self._queues.owners]
        try:
            await broker.state_log.change_together(owners, self._decide, self._also)
        finally:
            self._queues.tell()
        if broker.tracing.is_on:
            for one in self._ends:
                note_ended(broker, self._live[one.number], one)

    def _decide(self) -> Decision:
        moves = self._moves.decide()
        self._queues.decide()
        transactions = [(transaction_owner(self._broker, one.number), one) for one in self._ends]
        decided = [] if self._decided is None else [(self._broker.state_log.owner(COORDINATOR), self._decided)]
        return [*transactions, *decided, *moves, *self._queues.events]

    def _also(self) -> Also:
        # After a restart open transactions are aborted in any case, but prepared ones could still be committed.
        was_prepared = any(one.state is State.PREPARED for one in self._live.values())
        return Also(appends=self._markers(), durable=was_prepared, written=self._applied)

    def _applied(self) -> None:
        self._moves.applied()
        self._queues.applied()

    def _markers(self) -> list[StagedAppend]:
        markers: dict[Partition, list[Marker]] = {}
        for end in self._ends:
            one = self._live[end.number]
            for partition in _partitions(self._broker, one.partitions):
                marker = Marker(one.number, one.producer_id, one.epoch, end.committed)
                markers.setdefault(partition, []).append(marker)
        return [partition.stage_markers(some) for partition, some in markers.items()]


def _live(coordinator: Coordinator, number: int) -> Transaction:
    found = coordinator.get(number)
    assert found is not None, "the caller has checked that it is live"
    return found


def _partitions(broker: Broker, parts: Iterable[PartitionPart]) -> list[Partition]:
    """The partitions that still exist: topics may have been deleted meanwhile."""
    found = []
    for part in parts:
        with suppress(UnknownTopic, UnknownPartition):
            found.append(broker.partition(TopicName(part.topic), part.partition))
    return found
