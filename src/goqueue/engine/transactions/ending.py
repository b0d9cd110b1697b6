"""End transactions: one entry of the journal says that they ended, and holds everything that follows from it.

A marker in each partition, the offsets of groups, the acknowledgements: after a crash all of that is there or none of
it. So there is nothing to finish later, whatever happens in between.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress

from goqueue.core.transactions.coordinator import Coordinator
from goqueue.core.transactions.endings import ABORTED_BY_PRODUCER, TIME_IS_UP
from goqueue.core.transactions.events import Decided, Ended
from goqueue.core.transactions.transaction import PartitionPart, State, Transaction
from goqueue.engine.broker import COORDINATOR, Broker
from goqueue.engine.group_commit import Done, resolve
from goqueue.engine.partition import Marker, Partition, Staged
from goqueue.engine.ports import Entry
from goqueue.engine.tracing.waiting import note_ended
from goqueue.engine.transactions.consequences import GroupMoves, QueueChanges
from goqueue.errors import GoQueueError, UnknownPartition, UnknownTopic
from goqueue.model.topic import TopicName

__all__ = ["abort", "abort_now", "abort_overdue", "commit", "decide"]

OPERATION_BYTES = 256
ENDED_AT_ONCE = 1000
LEFT_OVER = "the broker was stopped before it ended"


async def commit(broker: Broker, number: int, producer_id: int, epoch: int) -> None:
    """All of it counts from now on. May be said again, when the answer got lost."""
    await _end_own(broker, number, producer_id, epoch, committed=True, why="")


async def abort(broker: Broker, number: int, producer_id: int, epoch: int) -> None:
    """None of it ever happened."""
    await _end_own(broker, number, producer_id, epoch, committed=False, why=ABORTED_BY_PRODUCER)


async def _end_own(broker: Broker, number: int, producer_id: int, epoch: int, *, committed: bool, why: str) -> None:
    await broker.endings.settled((number,))
    broker.producer_ids.check(producer_id, epoch)
    broker.transactions.fence(number, producer_id, epoch)
    now = broker.clock.now_ns()
    ended = broker.transactions.end(number, committed=committed, why=why, now=now)
    if ended is None:
        # The answer was lost on its way, or this one is too early.
        await broker.commit.durable()
        return
    if committed:
        broker.endings.check_whole(number)
        if broker.transactions.deadline_of(number) <= now:
            await abort_now(broker, number, TIME_IS_UP)
            broker.transactions.end(number, committed=True, why="", now=now)
    await _end(broker, (ended,))


async def abort_now(broker: Broker, number: int, why: str) -> bool:
    """By an operator or the broker itself, whoever began it; False when it has ended already."""
    await broker.endings.settled((number,))
    if broker.transactions.get(number) is None:
        return False
    ended = broker.transactions.end(number, committed=False, why=why, now=broker.clock.now_ns())
    if ended is not None:
        await _end(broker, (ended,))
    return ended is not None


async def decide(broker: Broker, key: str, numbers: Sequence[int]) -> Decided:
    """These parts are the whole transaction, all others under the key are aborted. Said again, it changes nothing."""
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
    """What has run out of time, or was open when the broker stopped; how many that were."""
    count = 0
    for number in sorted(broker.endings.left_over):
        count += await abort_now(broker, number, LEFT_OVER)
        broker.endings.left_over.discard(number)
    count += await _abort_orphans(broker)
    for number in broker.transactions.overdue(broker.clock.now_ns(), ENDED_AT_ONCE):
        count += await abort_now(broker, number, TIME_IS_UP)
    return count


async def _abort_orphans(broker: Broker) -> int:
    """Records of transactions that nobody knows: the disk was full when they began."""
    orphans = broker.endings.orphans
    count = len(orphans)
    while orphans:
        number, partitions = next(iter(orphans.items()))
        there = [partition for partition in partitions if broker.is_open(partition)]
        staged = [partition.stage_markers([Marker(number, 0, 0, False)]) for partition in there]
        if staged:
            await _write(broker, (), staged, _nothing, _whatever, durable=False)
        orphans.pop(number, None)
    return count


def _nothing() -> None:
    """There is nothing to apply."""


def _whatever(refusal: GoQueueError | None) -> None:
    """Nobody else is to be told."""


async def _end(broker: Broker, ends: Sequence[Ended], decided: Decided | None = None) -> None:
    """Once it is handed to be written it happens, also when the caller goes away; until then nobody else may begin."""
    numbers = [one.number for one in ends]
    broker.endings.begin(numbers)
    try:
        outcome = await _Ending(broker, ends, decided).begin()
    except BaseException:
        broker.endings.finish(numbers, ended=False)
        raise
    await outcome


class _Ending:
    """Ends some transactions together."""

    def __init__(self, broker: Broker, ends: Sequence[Ended], decided: Decided | None) -> None:
        self._broker = broker
        self._ends = ends
        self._decided = decided

    async def begin(self) -> asyncio.Future[None]:
        """Have the end written; the future is done when it is as certain as it has to be."""
        broker = self._broker
        live = {one.number: _live(broker.transactions, one.number) for one in self._ends}
        queues = QueueChanges(broker, [(live[one.number], one.committed) for one in self._ends])
        await queues.take_turns()
        try:
            return self._submit(live, queues)
        except BaseException:
            queues.hand_on()
            raise

    def _submit(self, live: Mapping[int, Transaction], queues: QueueChanges) -> asyncio.Future[None]:
        broker, ends = self._broker, self._ends
        moves = GroupMoves(broker, [live[one.number] for one in ends if one.committed])
        queues.decide()
        events: list[Ended | Decided] = [*ends]
        if self._decided is not None:
            events.append(self._decided)
        operations = [operation for one in ends for operation in broker.endings.unwritten(one.number, broker.streams)]
        operations += [broker.streams.event(COORDINATOR, event) for event in events]
        staged = _stage_markers(broker, ends, live)

        def written() -> None:
            for event in events:
                broker.transactions.apply(event)
            moves.apply()
            queues.apply()

        def done(refusal: GoQueueError | None) -> None:
            queues.hand_on()
            broker.endings.finish([one.number for one in ends], ended=refusal is None)
            queues.tell()
            if refusal is None and broker.tracing.is_on:
                for one in ends:
                    note_ended(broker, live[one.number], one)

        # What was open is aborted after a restart in any case; what was prepared could still be chosen.
        was_prepared = any(one.state is State.PREPARED for one in live.values())
        is_certain = self._decided is not None or was_prepared or any(end.committed for end in ends)
        entry = (*operations, *queues.operations(), *moves.operations())
        return _write(broker, entry, staged, written, done, durable=is_certain)


def _stage_markers(broker: Broker, ends: Sequence[Ended], live: Mapping[int, Transaction]) -> list[Staged]:
    markers: dict[Partition, list[Marker]] = {}
    for end in ends:
        one = live[end.number]
        for partition in _partitions(broker, one.partitions):
            marker = Marker(one.number, one.producer_id, one.epoch, end.committed)
            markers.setdefault(partition, []).append(marker)
    return [partition.stage_markers(some) for partition, some in markers.items()]


def _write(
    broker: Broker, entry: Entry, staged: Sequence[Staged], written: Callable[[], None], done: Done, *, durable: bool
) -> asyncio.Future[None]:
    """From here on it happens, whether somebody waits for it or not."""
    outcome: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def applied() -> None:
        for one in staged:
            one.apply()
        written()

    def finished(refusal: GoQueueError | None) -> None:
        for one in staged:
            one.finish(refusal)
        done(refusal)
        resolve(outcome, refusal)

    whole = (*entry, *(operation for one in staged for operation in one.operations))
    try:
        broker.commit.submit(whole, OPERATION_BYTES * len(whole), finished, durable=durable, written=applied)
    except GoQueueError:
        for one in staged:
            one.take_back()
        raise
    for one in staged:
        one.begin()
    return outcome


def _live(coordinator: Coordinator, number: int) -> Transaction:
    found = coordinator.get(number)
    assert found is not None, "whoever ends it has looked"
    return found


def _partitions(broker: Broker, parts: Iterable[PartitionPart]) -> list[Partition]:
    """Those that are still there: topics may have been deleted meanwhile."""
    found = []
    for part in parts:
        with suppress(UnknownTopic, UnknownPartition):
            found.append(broker.partition(TopicName(part.topic), part.partition))
    return found
