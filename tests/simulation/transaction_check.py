"""Opens a broker on what a crash left of a life with transactions, and compares it with what its clients were told."""

from contextlib import suppress

import pytest

from goqueue import codec
from goqueue.adapters.disk.store import StoreSettings
from goqueue.engine.broker import Broker
from goqueue.engine.poll import Poll, poll
from goqueue.engine.publish import PublishBatch, publish_and_wait
from goqueue.engine.queue.positions import committed_offsets
from goqueue.engine.queue.settle import return_overdue
from goqueue.engine.transactions.beginning import begin, enlist
from goqueue.engine.transactions.ending import abort_overdue, commit, decide
from goqueue.engine.transactions.joining import InTransaction
from goqueue.errors import AlreadyDecided, GoQueueError, ProducerFenced, UnknownTopic
from goqueue.model.log import LogId
from goqueue.model.topic import TopicName
from goqueue.testing import RecordingObserver, SimulatedFileSystem
from goqueue.testing.clock import FakeClock
from tests.simulation.transaction_life import (
    DEAD,
    LOGS,
    ORDERS,
    READERS,
    WORKERS,
    Life,
    Span,
    Told,
    encoded,
    opened,
)
from tests.unit.engine.transaction_scene import seen

DAY_MS = 86_400_000
LETTERS = (LogId(DEAD, 0), LogId(DEAD, 1))
Fate = bool | None
"""Committed for sure, for sure not, or either way."""


def was(span: Span | None, changes: int) -> Fate:
    """Whether it had happened when the disk had seen so many changes."""
    if span is not None and span.confirmed <= changes:
        return True
    return False if span is None or span.asked >= changes else None


class Survivor:
    """What is left of a life after so many changes, on a disk of its own."""

    def __init__(self, life: Life, changes: int, disk: SimulatedFileSystem, *, after: "Survivor | None" = None) -> None:
        """`after` is one that may have come as far as to write on before it crashed as well."""
        self.life = life
        self.changes = changes
        self.disk = disk
        self.clock = FakeClock(life.clock.now_ns())
        self.settings: StoreSettings = life.settings
        self.resolved: dict[str, bool] = {}
        """What became of each transaction, once that is known: it stays so."""
        self.written_on: list[bytes] = []
        self._earlier = {b"on", b"plain"} if after is not None else set()
        self._decided_earlier = {name for name, kept in after.resolved.items() if kept} if after is not None else set()
        self._on, self._plain = (b"on", b"plain") if after is None else (b"on again", b"plain again")

    async def is_right(self) -> None:
        """As after a start: abort what is left over, decide what can be decided, compare, and go on writing."""
        observer = RecordingObserver()
        async with opened(self.disk, self.clock, self.settings, observer) as broker:
            await self._shows_nothing_it_must_not(broker)
            await abort_overdue(broker)
            await self._shows_nothing_it_must_not(broker)
            await self._decide(broker)
            await self._compare(broker)
            await self._commits_again(broker)
            await self._writes_on(broker)
            await self._compare(broker)
        assert observer.damage == []
        assert observer.journal_damage == []

    async def is_still_the_same(self, disk: SimulatedFileSystem) -> None:
        """After another crash that came when all was confirmed."""
        self.disk = disk
        async with opened(disk, self.clock, self.settings) as broker:
            await abort_overdue(broker)
            await self._decide(broker)
            await self._compare(broker)

    # What may be seen.

    def _fate(self, one: Told) -> Fate:
        if one.name in self.resolved:
            return self.resolved[one.name]
        fate = was(one.committed, self.changes)
        return None if fate is False and one.name in self._decided_earlier else fate

    async def _shows_nothing_it_must_not(self, broker: Broker) -> None:
        for log in (*LOGS, *LETTERS):
            visible = await shown(broker, log)
            for one in self.life.told.values():
                if self._fate(one) is False:
                    values = {*one.values.get(log, ()), *(value for there, value in one.letters if there == log)}
                    assert not values & set(visible), f"{one.name} is not committed"

    # Parts.

    async def _decide(self, broker: Broker) -> None:
        for key, numbers in self.life.chosen.items():
            named = [one for one in self.life.told.values() if one.ref.number in numbers]
            remembered = broker.transactions.remembered(key)
            await self._choose_what_was_given_up(broker, key)
            try:
                decided = await decide(broker, key, numbers)
            except GoQueueError as refusal:
                ready = all(was(one.prepared, self.changes) is True for one in named)
                given_up = any(was(one.aborted, self.changes) is not False for one in named)
                assert given_up or not ready, f"{key} was prepared and cannot be decided: {refusal}"
                assert was(self.life.decided.get(key), self.changes) is not True
                # Nobody shall wait for the others.
                with suppress(AlreadyDecided):
                    await decide(broker, key, [])
                resolved = dict.fromkeys((one.name for one in named), False)
            else:
                assert remembered in (None, decided)
                assert set(decided.committed) == set(numbers)
                resolved = dict.fromkeys((one.name for one in named), True)
            for name, committed in resolved.items():
                assert self.resolved.get(name, committed) == committed
                self.resolved[name] = committed

    async def _choose_what_was_given_up(self, broker: Broker, key: str) -> None:
        for one in self.life.told.values():
            if one.key == key and was(one.aborted, self.changes):
                with pytest.raises(GoQueueError):
                    await decide(broker, key, [one.ref.number])

    # Wholly or not at all.

    async def _compare(self, broker: Broker) -> None:
        visible = {log: await shown(broker, log) for log in (*LOGS, *LETTERS)}
        moved = committed_offsets(broker, READERS) if READERS in broker.groups else {}
        failures = self._failures(broker)
        delivered = await self._delivered(broker)
        for one in self.life.told.values():
            signs = self._signs(one, visible, moved, failures, delivered)
            assert len(set(signs.values())) <= 1, f"{one.name} is there in part: {signs}"
            if not signs:
                continue
            (committed,) = set(signs.values())
            fate = self._fate(one)
            assert fate in (None, committed), f"{one.name}: {fate} was promised, found {signs}"
            self.resolved[one.name] = committed
        self._compare_all(visible, delivered)

    def _failures(self, broker: Broker) -> dict[tuple[LogId, int], int]:
        failures = {}
        for one in self.life.told.values():
            for log, offset in one.failed:
                state = broker.queues.get(WORKERS, log)
                failures[log, offset] = 0 if state is None else state.delivery.attempts_of(offset).failures
        return failures

    async def _delivered(self, broker: Broker) -> dict[LogId, set[int]]:
        """What workers get when all leases and pauses have run out."""
        found: dict[LogId, set[int]] = {log: set() for log in LOGS}
        if ORDERS not in [topic.name for topic in broker.catalog]:
            return found
        # The one before may have let days pass, and have leased records far into the future.
        self.clock.advance_ms(10 * DAY_MS if self._earlier else DAY_MS)
        await return_overdue(broker)
        while parts := await poll(broker, Poll(WORKERS, "after", topics=(ORDERS,), limit=1000, wait_ms=0)):
            for part in parts:
                offsets = {record.offset for record in codec.decode(part.records)}
                assert not offsets & found[part.log], "delivered twice"
                found[part.log] |= offsets
        return found

    def _signs(
        self,
        one: Told,
        visible: dict[LogId, list[bytes]],
        moved: dict[LogId, int],
        failures: dict[tuple[LogId, int], int],
        delivered: dict[LogId, set[int]],
    ) -> dict[str, bool]:
        signs = {}
        for log, values in one.values.items():
            for value in values:
                signs[f"{value!r} in {log}"] = value in visible[log]
        for log, value in one.letters:
            signs[f"dead letter {value!r}"] = value in visible[log]
        for log, offset in one.done_with:
            others = [two for two in self.life.told.values() if two is not one and (log, offset) in two.done_with]
            if not any(self.resolved.get(two.name, self._fate(two)) is not False for two in others):
                exists = any(there == log and was(span, self.changes) for there, _, span in self.life.plain)
                if exists:
                    signs[f"{log}/{offset} done with"] = offset not in delivered[log]
        if not self.written_on and not self._earlier:
            for log, offset in one.failed:
                signs[f"{log}/{offset} failed"] = failures[log, offset] > 0
        for log, offset in one.moves.items():
            elsewhere = [two.moves[log] for two in self.life.told.values() if two is not one and log in two.moves]
            assert offset not in elsewhere
            signs[f"{READERS} at {offset} of {log}"] = moved.get(log) == offset
        return signs

    def _compare_all(self, visible: dict[LogId, list[bytes]], delivered: dict[LogId, set[int]]) -> None:
        """There is nothing else, nothing is there twice, and the order is that in which it was published."""
        committed = [one for one in self.life.told.values() if self.resolved.get(one.name)]
        for log in LOGS:
            certain = [value for there, value, span in self.life.plain if there == log and was(span, self.changes)]
            perhaps = [
                value for there, value, span in self.life.plain if there == log and was(span, self.changes) is None
            ]
            wanted = {*certain, *(value for one in committed for value in one.values.get(log, ())), *self.written_on}
            assert wanted <= set(visible[log]) <= wanted | set(perhaps) | self._earlier
            assert len(set(visible[log])) == len(visible[log])
            assert [value for value in visible[log] if value in certain] == certain
        assert len({b"on" in visible[log] for log in LOGS}) == 1
        for log in LETTERS:
            assert set(visible[log]) == {value for one in committed for there, value in one.letters if there == log}
        for log in LOGS[:2]:
            settled = {offset for one in committed for there, offset in one.done_with if there == log}
            assert not settled & delivered[log]
            assert len(delivered[log]) == len(visible[log]) - len(settled)

    # Afterwards.

    async def _commits_again(self, broker: Broker) -> None:
        """Whoever did not hear how it ended asks again, and is told what is the case."""
        for one in self.life.told.values():
            if one.key or one.committed is None or one.committed.asked >= self.changes:
                continue
            try:
                await commit(broker, *one.ref)
            except ProducerFenced:
                # Somebody else has its id since.
                continue
            except GoQueueError:
                assert was(one.committed, self.changes) is not True
                assert not self.resolved.get(one.name, False)
            else:
                assert self.resolved.get(one.name, True)

    async def _writes_on(self, broker: Broker) -> None:
        """Readers are held up by nothing, and there can be transactions."""
        there = [log for log in LOGS if log.topic in [topic.name for topic in broker.catalog]]
        if len(there) < len(LOGS):
            return
        enlisted = await enlist(broker, "a", 60_000)
        began = await begin(broker, enlisted.producer_id, enlisted.epoch)
        ref = InTransaction(began.number, enlisted.producer_id, enlisted.epoch)
        for log in LOGS:
            name = TopicName(log.topic)
            await publish_and_wait(broker, PublishBatch(name, log.partition, encoded([self._on]), transaction=ref))
            await publish_and_wait(broker, PublishBatch(name, log.partition, encoded([self._plain])))
        await commit(broker, *ref)
        self.written_on = [self._on, self._plain]


async def shown(broker: Broker, log: LogId) -> list[bytes]:
    try:
        found: list[bytes] = await seen(broker, topic=TopicName(log.topic), partition=log.partition)
        return found
    except UnknownTopic:
        return []
