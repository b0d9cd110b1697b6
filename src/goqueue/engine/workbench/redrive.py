"""Redrive and purge of dead letters: page by page, at a limited rate.

The append of a record and the settlement of its dead letter share one journal entry: a record is never lost and never
redriven twice, even if several callers redrive at once.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

import msgspec

from goqueue import codec
from goqueue.core.delivery.events import DeliveryEvent
from goqueue.engine.browse import Place
from goqueue.engine.partition import Partition
from goqueue.engine.queue.gather import gather
from goqueue.engine.staged_append import StagedAppend
from goqueue.engine.state_log import Also
from goqueue.engine.tracing.dead_letters import note_redriven
from goqueue.engine.workbench.desk import Desk, Letter, origin_of
from goqueue.engine.workbench.mending import Edit, EditedLetter, Mending
from goqueue.engine.workbench.search import Wanted, find
from goqueue.errors import DiskFull, GoQueueError
from goqueue.model.log import LogId
from goqueue.model.record import Record
from goqueue.model.topic import TopicName

__all__ = ["Move", "NotMoved", "Orders", "Report", "purge", "redrive"]

PAGE = 500
MOST_BYTES = 8 * 1024 * 1024
MOST_TOLD = 1000
"""Moves and failures that are listed; all are counted."""
STEPS_PER_S = 10
"""Steps per second in which a rate is kept."""
NS_PER_S = 1_000_000_000
NS_PER_MS = 1_000_000

Handle = Callable[[list[Letter]], Awaitable[None]]


class Orders(msgspec.Struct, frozen=True):
    """The selection, the number and the rate. A dry run reports and changes nothing."""

    wanted: Wanted
    edit: Edit = Edit()
    dry_run: bool = False
    limit: int | None = None
    per_second: float | None = None
    after: Place | None = None
    ends: tuple[int, ...] | None = None
    """Only letters before these offsets of their partitions; None for the letters that exist now."""


class Move(NamedTuple):
    """A letter and the record it became; the offset is None if it is not known."""

    partition: int
    offset: int
    target: LogId
    target_offset: int | None


class NotMoved(NamedTuple):
    partition: int
    offset: int
    error: GoQueueError


class Report(msgspec.Struct):
    """The outcome for the selected letters."""

    matched: int = 0
    done: int = 0
    """Redriven or purged; in a dry run, what would be."""
    failed: int = 0
    missing: int = 0
    """Places that were named and have no letter, or none that is left."""
    moves: list[Move] = []
    failures: list[NotMoved] = []
    last: Place | None = None
    """Where to continue, if the limit was reached before the end."""
    ends: tuple[int, ...] = ()
    stopped: GoQueueError | None = None
    """The error after which the rest of the selection was not looked at."""

    def moved(self, moves: Sequence[Move]) -> None:
        self.done += len(moves)
        self.moves += moves[: MOST_TOLD - len(self.moves)]

    def not_moved(self, partition: int, offset: int, error: GoQueueError) -> None:
        self.failed += 1
        if len(self.failures) < MOST_TOLD:
            self.failures.append(NotMoved(partition, offset, error))


async def redrive(desk: Desk, orders: Orders) -> Report:
    """Append the selected letters to their original topics, where all groups receive them."""
    mending = Mending(desk, orders.edit)
    report = Report()

    async def handle(letters: list[Letter]) -> None:
        for number, offsets in _by_partition(letters):
            while offsets:
                offsets = await _redrive_some(desk, mending, desk.broker.partition(desk.name, number), offsets, report)

    async def tell(letters: list[Letter]) -> None:
        for letter in letters:
            await _foretell(mending, LogId(desk.name, letter.partition), letter, report)

    return await _each_page(desk, orders, report, tell if orders.dry_run else handle)


async def purge(desk: Desk, orders: Orders) -> Report:
    """Settle the selected letters for good."""
    report = Report()

    async def handle(letters: list[Letter]) -> None:
        for number, offsets in _by_partition(letters):
            report.done += await _purge_some(desk, desk.broker.partition(desk.name, number), offsets)

    async def tell(letters: list[Letter]) -> None:
        report.done += len(letters)

    return await _each_page(desk, orders, report, tell if orders.dry_run else handle)


async def _each_page(desk: Desk, orders: Orders, report: Report, handle: Handle) -> Report:
    """Letters that arrive meanwhile are left alone, so that the loop ends even if redriven records fail again at
    once."""
    report.ends = desk.ends() if orders.ends is None else orders.ends
    report.last = orders.after
    pace = _Pace(desk, None if orders.dry_run else orders.per_second)
    while orders.limit is None or report.matched < orders.limit:
        most = pace.page if orders.limit is None else min(pace.page, orders.limit - report.matched)
        page = await find(desk, orders.wanted, most, report.last, report.ends)
        report.matched += len(page.letters)
        report.missing += page.missing
        try:
            await handle(page.letters)
        except GoQueueError as error:
            if not report.done:
                raise
            # Some letters are done and must be reported.
            report.stopped = error
            return report
        report.last = page.last
        await pace.rest(len(page.letters))
        if page.last is None:
            break
    return report


def _by_partition(letters: Sequence[Letter]) -> list[tuple[int, list[int]]]:
    found: dict[int, list[int]] = {}
    for letter in letters:
        found.setdefault(letter.partition, []).append(letter.record.offset)
    return sorted(found.items())


async def _foretell(mending: Mending, source: LogId, letter: Letter, report: Report) -> None:
    try:
        mended = await mending.mend(source, letter.record, letter.origin)
    except GoQueueError as error:
        report.not_moved(letter.partition, letter.record.offset, error)
    else:
        report.moved([Move(letter.partition, letter.record.offset, mended.target, None)])


class _Batch:
    """Records for one partition, and the letters they come from."""

    def __init__(self) -> None:
        self.target: LogId | None = None
        self.offsets: list[int] = []
        self.parts: list[bytes] = []
        self.letters: list[Record] = []

    def add(self, letter: Record, mended: EditedLetter) -> bool:
        """Add the record; returns False if it belongs to another partition."""
        if self.target not in (None, mended.target):
            return False
        self.target = mended.target
        self.letters.append(letter)
        self.offsets.append(letter.offset)
        self.parts.append(mended.record)
        return True


async def _redrive_some(
    desk: Desk, mending: Mending, source: Partition, offsets: list[int], report: Report
) -> list[int]:
    """Redrive the letters that go to one partition; returns the others."""
    broker = desk.broker
    if broker.guard.is_full:
        raise DiskFull(f"the disk is {broker.guard.used_share:.0%} full")
    state = await desk.state(source)
    await state.lock.acquire()
    try:
        here = [offset for offset in offsets if desk.is_open(source, offset)]
        found = await gather(broker, source, here, MOST_BYTES)
        others = [offset for offset in here if offset >= found.reached]
        batch = _Batch()
        for record in codec.decode(found.records):
            try:
                mended = await mending.mend(source.id, record, origin_of(record))
            except GoQueueError as error:
                report.not_moved(source.id.partition, record.offset, error)
                continue
            if not batch.add(record, mended):
                others.append(record.offset)
    except BaseException:
        state.lock.release()
        raise
    target, start_ns = batch.target, broker.clock.now_ns()
    staged: list[StagedAppend] = []

    def decide() -> DeliveryEvent | None:
        return desk.settle(state, batch.offsets)

    def append() -> Also:
        assert target is not None
        into = broker.partition(TopicName(target.topic), target.partition)
        staged.append(into.stage(bytearray(b"".join(batch.parts))))
        return Also(appends=staged, durable=True)

    await broker.queues.change_locked(state, decide, append)
    base = staged[0].batch.base_offset if staged else 0
    if target is not None:
        broker.tally.of(target.topic).redriven += len(batch.offsets)
        if broker.tracing.is_on:
            records = codec.decode(b"".join(batch.parts))
            note_redriven(broker, source.id, batch.letters, records, target, base, start_ns)
        number = source.id.partition
        report.moved([Move(number, offset, target, base + step) for step, offset in enumerate(batch.offsets)])
    return sorted(others)


async def _purge_some(desk: Desk, source: Partition, offsets: Sequence[int]) -> int:
    state = await desk.state(source)
    count = 0

    def decide() -> DeliveryEvent | None:
        nonlocal count
        here = [offset for offset in offsets if desk.is_open(source, offset)]
        count = len(here)
        return desk.settle(state, here)

    await desk.broker.queues.change(state, decide)
    return count


class _Pace:
    """A rate limit. The last page is waited for, too, so that consecutive calls keep to the rate."""

    def __init__(self, desk: Desk, per_second: float | None) -> None:
        self._clock = desk.broker.clock
        self._per_second = per_second
        self._next_ns = int(self._clock.now_ns())
        self.page = PAGE if per_second is None else min(PAGE, max(1, int(per_second / STEPS_PER_S)))

    async def rest(self, count: int) -> None:
        if self._per_second is None or not count:
            return
        now = self._clock.now_ns()
        self._next_ns = max(self._next_ns, now - NS_PER_S // STEPS_PER_S) + int(count / self._per_second * NS_PER_S)
        wait_ms = (self._next_ns - now) // NS_PER_MS
        if wait_ms > 0:
            await self._clock.sleep_ms(wait_ms)
