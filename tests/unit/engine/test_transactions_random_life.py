"""Random lives of producers with transactions, workers and readers, compared with a model after every step.

More of them: `python -m tests.unit.engine.test_transactions_random_life FIRST COUNT [STEPS]`.
"""

import asyncio
import random
import sys
import tempfile
from pathlib import Path

import pytest
from msgspec.structs import replace

from goqueue import codec
from goqueue.adapters.disk.files import OsFileSystem
from goqueue.adapters.disk.store import DiskStore
from goqueue.adapters.memory.ids import MemoryIdIndex
from goqueue.core.groups.decisions.committing import OffsetAndMetadata
from goqueue.engine.broker import Broker
from goqueue.engine.fetch import FetchFrom, fetch
from goqueue.engine.firing import fire_due
from goqueue.engine.poll import Poll, poll
from goqueue.engine.publish import PublishBatch, publish_and_wait
from goqueue.engine.queue import settle
from goqueue.engine.queue.positions import committed_offsets
from goqueue.engine.topics import create_topic
from goqueue.engine.transactions.beginning import add_offsets, begin, begin_part, enlist, prepare
from goqueue.engine.transactions.ending import abort, abort_overdue, commit, decide
from goqueue.engine.transactions.joining import InTransaction
from goqueue.engine.transactions.pledging import pledge
from goqueue.errors import (
    AlreadyDecided,
    ProducerFenced,
    RecordTooLarge,
    TransactionConflict,
    TransactionEnded,
    UnknownReceipt,
)
from goqueue.model.log import LogId
from goqueue.model.record import Record
from goqueue.model.topic import Cleanup, TopicConfig, TopicName, topic_name
from goqueue.testing.clock import FakeClock
from goqueue.testing.entropy import SeededEntropy
from goqueue.testing.observer import RecordingObserver
from tests.unit.engine.conftest import SMALL
from tests.unit.engine.queue_scene import steps
from tests.unit.engine.test_maintenance import maintenance_of
from tests.unit.engine.transaction_model import Entry, GroupModel, LogModel, Place, Pledged, TransactionModel
from tests.unit.engine.transaction_scene import seen

ORDERS, TABLE, SHORT = topic_name("orders"), topic_name("table"), topic_name("short")
DEAD = topic_name("orders.dlq")
QUEUED = (LogId(ORDERS, 0), LogId(ORDERS, 1))
TABLED, SHORTENED = LogId(TABLE, 0), LogId(SHORT, 0)
LOGS = (*QUEUED, TABLED, SHORTENED)
GROUPS = ("one", "two")
READERS = "readers"
PRODUCERS = ("a", "b", "c")
MAX_ATTEMPTS = 4
MAX_VALUE_BYTES = 1000
MS = 1_000_000
DAY_MS = 86_400_000
TIMEOUTS_MS = (300, 5_000, 60_000)


class Held:
    """A record that a worker has, and how it says so."""

    def __init__(self, group: str, lease: settle.Lease, value: bytes) -> None:
        self.group = group
        self.lease = lease
        self.value = value
        self.place: Place = (lease.log, lease.offsets[0])


class Life:
    def __init__(self, seed: int, clock: FakeClock) -> None:
        self.chance = random.Random(seed)
        self.clock = clock
        self.logs = {log: LogModel() for log in LOGS}
        self.groups = {group: GroupModel(MAX_ATTEMPTS) for group in GROUPS}
        self.transactions: dict[int, TransactionModel] = {}
        self.refs: dict[int, InTransaction] = {}
        self.producers: dict[str, tuple[int, int, int]] = {}
        """Producer id, epoch and timeout."""
        self.decided: dict[str, set[int]] = {}
        self.keys = 0
        self.moved: dict[LogId, int] = {}
        self.held: list[Held] = []
        self._pledged: list[tuple[int, Held]] = []
        self.read_to = dict.fromkeys(LOGS, 0)
        self.streamed: dict[LogId, list[int]] = {log: [] for log in LOGS}
        self.gone: set[int] = set()
        """Offsets that compaction took."""
        self.values = 0
        self.broker: Broker

    @property
    def now(self) -> int:
        return self.clock.now_ns()

    async def start(self) -> None:
        plain = TopicConfig(max_attempts=MAX_ATTEMPTS, retry_backoff_ms=0, max_value_bytes=MAX_VALUE_BYTES)
        table = replace(plain, cleanup=Cleanup.COMPACT, delete_retention_ms=0)
        await create_topic(self.broker, ORDERS, len(QUEUED), plain)
        await create_topic(self.broker, TABLE, 1, table)
        await create_topic(self.broker, SHORT, 1, replace(plain, retention_ms=None, retention_bytes=8192))
        for name in PRODUCERS:
            await self.enlist(name)

    async def step(self) -> None:
        often = [self.write, self.write, self.publish, self.take, self.settle_in_transaction, self.commit, self.begin]
        some = [self.abort, self.settle_plainly, self.pass_time, self.move, self.read, self.part, self.decide]
        rare = [self.enlist_again, self.checkpoint, self.compact, self.retain, self.be_impatient, self.be_late]
        await self.chance.choice(often * 4 + some * 2 + rare)()

    # Producers.

    async def enlist(self, name: str) -> None:
        timeout_ms = self.chance.choice(TIMEOUTS_MS)
        before = self.producers.get(name)
        enlisted = await enlist(self.broker, name, timeout_ms)
        if before is not None:
            left = self.open_of(before[0])
            if left is not None:
                self.ended(left, "aborted")
        self.producers[name] = (enlisted.producer_id, enlisted.epoch, timeout_ms)

    async def enlist_again(self) -> None:
        """The one before is fenced, whatever it has open."""
        name = self.chance.choice(PRODUCERS)
        producer_id, epoch, _ = self.producers[name]
        left = self.open_of(producer_id)
        await self.enlist(name)
        with pytest.raises(ProducerFenced):
            await begin(self.broker, producer_id, epoch)
        if left is not None:
            ref = self.refs[left.number]
            log = self.chance.choice(LOGS)
            for attempt in (commit(self.broker, *ref), abort(self.broker, *ref), self.sent(log, [], ref)):
                with pytest.raises(ProducerFenced):
                    await attempt

    def open_of(self, producer_id: int) -> TransactionModel | None:
        own = [one for one in self.live() if not one.key and self.refs[one.number].producer_id == producer_id]
        return own[0] if own else None

    def live(self, state: str | None = None) -> list[TransactionModel]:
        return [one for one in self.transactions.values() if one.is_live and state in (None, one.state)]

    def some_open(self) -> TransactionModel | None:
        found = self.live("open")
        return self.chance.choice(found) if found else None

    async def begin(self) -> None:
        producer_id, epoch, timeout_ms = self.producers[self.chance.choice(PRODUCERS)]
        if self.open_of(producer_id) is not None:
            with pytest.raises(TransactionConflict):
                await begin(self.broker, producer_id, epoch)
            return
        began = await begin(self.broker, producer_id, epoch)
        self.began(
            TransactionModel(began.number, self.now + timeout_ms * MS), InTransaction(began.number, producer_id, epoch)
        )

    def began(self, one: TransactionModel, ref: InTransaction) -> None:
        assert one.number not in self.transactions
        self.transactions[one.number] = one
        self.refs[one.number] = ref

    async def part(self) -> None:
        """Begin one, write, and perhaps prepare it."""
        if not self.keys or self.chance.random() < 0.4:
            self.keys += 1
        key = f"query/{self.keys}"
        timeout_ms = self.chance.choice(TIMEOUTS_MS)
        if key in self.decided:
            with pytest.raises(AlreadyDecided):
                await begin_part(self.broker, key, timeout_ms)
            return
        began = await begin_part(self.broker, key, timeout_ms)
        one = TransactionModel(began.number, self.now + timeout_ms * MS, key, is_touched=True)
        self.began(one, InTransaction(began.number, began.producer_id, began.epoch))
        for _ in range(self.chance.randint(0, 3)):
            await self.write(one)
        if self.chance.random() < 0.7:
            await prepare(self.broker, self.refs[one.number])
            one.state = "prepared"

    async def decide(self) -> None:
        if not self.keys:
            return
        key = f"query/{self.chance.randint(max(1, self.keys - 1), self.keys)}"
        parts = [one for one in self.live() if one.key == key]
        ready = [one for one in parts if one.state == "prepared"]
        named = {one.number for one in ready if self.chance.random() < 0.8}
        if key in self.decided:
            assert set((await decide(self.broker, key, list(self.decided[key]))).committed) == self.decided[key]
            if named != self.decided[key]:
                with pytest.raises(AlreadyDecided):
                    await decide(self.broker, key, list(named))
            return
        result = await decide(self.broker, key, list(named))
        assert set(result.committed) == named
        assert set(result.aborted) == {one.number for one in parts} - named
        self.decided[key] = named
        for one in parts:
            self.ended(one, "committed" if one.number in named else "aborted")

    # Writing.

    def record(self, *, may_be_late: bool) -> tuple[Record, Entry]:
        self.values += 1
        value = b"%d-" % self.values + bytes(self.chance.choice((0, 20, 300)))
        key = self.chance.choice((b"k1", b"k2", b"k3", b"k4"))
        is_late = may_be_late and self.chance.random() < 0.15
        due = self.now + self.chance.choice((1, 40, 4000)) * MS if is_late else 0
        return Record(value, key, priority=self.chance.randrange(5)), Entry(value, key, due)

    def records(self, log: LogId, of: TransactionModel | None = None) -> list[tuple[Record, Entry]]:
        """Without delays in a table, where a record that is not due yet takes the place of the one before."""
        made = [self.record(may_be_late=log != TABLED) for _ in range(self.chance.randint(1, 5))]
        return [(record, Entry(entry.value, entry.key, entry.due, of)) for record, entry in made]

    async def sent(self, log: LogId, made: list[tuple[Record, Entry]], ref: InTransaction | None = None) -> None:
        batch = bytearray(codec.encode([record for record, _ in made]))
        dues = [entry.due for _, entry in made] if any(entry.due for _, entry in made) else None
        request = PublishBatch(TopicName(log.topic), log.partition, batch, dues=dues, transaction=ref)
        placed = await publish_and_wait(self.broker, request)
        self.logs[log].add(placed.base_offset, [entry for _, entry in made])

    async def write(self, one: TransactionModel | None = None) -> None:
        """Some of it at the same time."""
        one = one or self.some_open()
        if one is None:
            return
        logs = self.chance.sample(LOGS, self.chance.randint(1, 3))
        ref = self.refs[one.number]
        if self.chance.random() < 0.1:
            with pytest.raises(RecordTooLarge):
                await self.sent(logs[0], [(Record(bytes(MAX_VALUE_BYTES + 1)), Entry(b""))], ref)
        one.is_touched = True
        await asyncio.gather(*(self.sent(log, self.records(log, one), ref) for log in logs))

    async def publish(self) -> None:
        log = self.chance.choice(LOGS)
        await self.sent(log, self.records(log))

    async def move(self) -> None:
        one = self.some_open()
        if one is None:
            return
        log = self.chance.choice(QUEUED)
        offset = self.chance.randint(0, self.broker.partition(TopicName(log.topic), log.partition).high_watermark)
        await add_offsets(self.broker, self.refs[one.number], READERS, {log: OffsetAndMetadata(offset)})
        one.offsets[log] = offset
        one.is_touched = True

    # Ending.

    async def commit(self) -> None:
        one = self.some_open()
        if one is None or one.key:
            return
        await commit(self.broker, *self.refs[one.number])
        self.ended(one, "committed")
        if self.chance.random() < 0.3:
            await commit(self.broker, *self.refs[one.number])
            with pytest.raises(TransactionEnded):
                await abort(self.broker, *self.refs[one.number])

    async def abort(self) -> None:
        live = self.live()
        if not live:
            return
        one = self.chance.choice(live)
        await abort(self.broker, *self.refs[one.number])
        self.ended(one, "aborted")

    async def be_impatient(self) -> None:
        """Go away while it is being committed, and ask again."""
        one = self.some_open()
        if one is None or one.key:
            return
        committing = asyncio.ensure_future(commit(self.broker, *self.refs[one.number]))
        log = self.chance.choice(LOGS)
        publishing = asyncio.ensure_future(self.sent(log, self.records(log)))
        await steps(self.chance.randrange(10))
        committing.cancel()
        await asyncio.wait([committing])
        await commit(self.broker, *self.refs[one.number])
        await publishing
        self.ended(one, "committed")

    async def be_late(self) -> None:
        """What ended takes nothing more, and does not end the other way."""
        over = [one for one in self.transactions.values() if not one.is_live and not one.key]
        if not over:
            return
        one = self.chance.choice(over)
        ref = self.refs[one.number]
        for attempt in (
            self.sent(TABLED, self.records(TABLED), ref),
            (abort if one.state == "committed" else commit)(self.broker, *ref),
        ):
            with pytest.raises((TransactionEnded, ProducerFenced)):
                await attempt

    def ended(self, one: TransactionModel, state: str) -> None:
        assert one.is_live
        one.state = state
        self.groups["one"].ended(one, self.now)
        if state == "committed":
            self.moved |= one.offsets
        self.held += [held for held in self.pledged(one) if held.place in self.groups["one"].leased]

    def pledged(self, one: TransactionModel) -> list[Held]:
        return [held for number, held in self._pledged if number == one.number]

    # Workers.

    def visible(self) -> dict[Place, Entry]:
        return {(log, offset): entry for log in QUEUED for offset, entry in self.logs[log].visible(self.now).items()}

    async def take(self, group: str | None = None, limit: int | None = None) -> int:
        group = group or self.chance.choice(GROUPS)
        limit = limit or self.chance.choice((1, 3, 1000))
        model = self.groups[group]
        ready = model.ready(self.visible(), self.now)
        visibility_ms = self.chance.choice((500, 5_000, 100_000))
        request = Poll(group, "worker", topics=(ORDERS,), limit=limit, wait_ms=0, visibility_ms=visibility_ms)
        taken = set()
        for part in await poll(self.broker, request):
            for record in codec.decode(part.records):
                place = (part.log, record.offset)
                assert place in ready, f"{place} is not to be delivered to {group}"
                assert record.value == self.logs[part.log].entries[record.offset].value
                taken.add(place)
                model.leased[place] = part.deadline
                lease = settle.Lease(group, part.log, part.grant, part.token, [record.offset])
                self.held.append(Held(group, lease, record.value))
        if limit == 1000:
            assert taken == ready, f"{group} has not got all it could have"
        return len(taken)

    def some_held(self, group: str | None = None) -> list[Held]:
        known = [one for one in self.held if group in (None, one.group)]
        chosen = self.chance.sample(known, min(len(known), self.chance.randint(1, 4)))
        self.held = [one for one in self.held if one not in chosen]
        return chosen

    async def settle_in_transaction(self) -> None:
        one = self.some_open()
        if one is None:
            return
        model = self.groups["one"]
        for held in self.some_held("one"):
            action = self.chance.choice(("ack", "ack", "nack", "reject"))
            pause_ms = self.chance.choice((0, 100)) if action == "nack" else 0
            restore = model.leased[held.place]
            dead = await pledge(self.broker, self.refs[one.number], held.lease, action, pause_ms=pause_ms)
            is_dead = action == "reject" or (action == "nack" and model.is_last_try(held.place))
            assert dead == is_dead
            letter = held.value if is_dead else None
            one.is_touched = True
            model.pledge(one, Pledged(held.place, action, pause_ms, restore, letter))
            self._pledged.append((one.number, held))
            if self.chance.random() < 0.2:
                with pytest.raises((TransactionConflict, UnknownReceipt)):
                    await pledge(self.broker, self.refs[one.number], held.lease, "ack")

    async def settle_plainly(self) -> None:
        for held in self.some_held():
            model = self.groups[held.group]
            action = self.chance.choice(("ack", "ack", "nack", "reject"))
            if action == "ack":
                await settle.acknowledge(self.broker, held.lease)
                model.ack(held.place)
            elif action == "reject" or model.is_last_try(held.place):
                await settle.reject(self.broker, held.lease)
                model.bury(held.place, held.value)
            else:
                await settle.nack(self.broker, held.lease, pause_ms=100)
                model.fail(held.place, self.now + 100 * MS)

    # Readers.

    async def read(self) -> None:
        """Go on where the reader stopped."""
        log = self.chance.choice(LOGS)
        start = self.broker.partition(TopicName(log.topic), log.partition).log.start_offset
        offset = max(self.read_to[log], start)
        size = self.chance.choice((1, 500, 100_000))
        where = FetchFrom(TopicName(log.topic), log.partition, offset)
        (part,) = await fetch(self.broker, [where], max_bytes=size, wait_ms=0)
        assert part.refusal is None
        skipped = {number for first, count in part.skip for number in range(first, first + count)}
        visible = self.logs[log].visible(self.now)
        for chunk in part.chunks:
            for record in codec.decode(chunk.records):
                if record.offset not in skipped and record.offset >= offset:
                    assert record.value == visible[record.offset].value
                    assert record.offset not in self.streamed[log]
                    self.streamed[log].append(record.offset)
        self.read_to[log] = part.next_offset

    # Time and upkeep.

    async def pass_time(self, ms: int | None = None) -> None:
        self.clock.advance_ms(ms or self.chance.choice((1, 50, 200, 400, 3_000, 20_000)))
        late = [one for one in self.live() if one.deadline <= self.now]
        if late and self.chance.random() < 0.3:
            await self.commit_too_late(late)
        assert await abort_overdue(self.broker) == len([one for one in late if one.is_live])
        for one in late:
            if one.is_live:
                self.ended(one, "aborted")
        await self.return_overdue()
        while await fire_due(self.broker):
            pass

    async def commit_too_late(self, late: list[TransactionModel]) -> None:
        for one in late:
            if not one.key:
                with pytest.raises(TransactionEnded):
                    await commit(self.broker, *self.refs[one.number])
                self.ended(one, "aborted")

    async def return_overdue(self) -> None:
        await settle.return_overdue(self.broker)
        for group in GROUPS:
            model = self.groups[group]
            for place in [place for place, until in model.leased.items() if until <= self.now]:
                if model.is_last_try(place):
                    model.bury(place, self.logs[place[0]].entries[place[1]].value)
                else:
                    model.fail(place, self.now)
        self.held = [one for one in self.held if one.place in self.groups[one.group].leased]

    async def checkpoint(self) -> None:
        await maintenance_of(self.broker).checkpoint()

    async def compact(self) -> None:
        maintenance = maintenance_of(self.broker)
        await maintenance.checkpoint()
        await maintenance.compact_all()

    async def retain(self) -> None:
        await maintenance_of(self.broker).apply_retention()

    async def restarted(self) -> None:
        """What was open is aborted; if nothing belonged to it, it may be forgotten."""
        aborted = await abort_overdue(self.broker)
        for one in [one for one in self.live("open") if not one.is_touched]:
            if self.broker.transactions.ending(one.number) is None:
                del self.transactions[one.number]
        assert aborted == len(self.live("open"))
        for one in self.live("open"):
            self.ended(one, "aborted")
        await self.return_overdue()
        while await fire_due(self.broker):
            pass

    # What always holds.

    async def check(self) -> None:
        for log in LOGS:
            start = self.broker.partition(TopicName(log.topic), log.partition).log.start_offset
            visible = self.logs[log].visible(self.now, start)
            found = await seen(self.broker, topic=TopicName(log.topic), partition=log.partition)
            if log == TABLED:
                self.check_table(visible, found)
            else:
                assert found == [entry.value for entry in visible.values()]
        moved = committed_offsets(self.broker, READERS) if READERS in self.broker.groups else {}
        assert {log: moved.get(log) for log in self.moved} == self.moved
        await self.check_letters()

    def check_table(self, visible: dict[int, Entry], found: list[bytes]) -> None:
        """In order, only what is committed, for each key the newest, and nothing that was gone before."""
        shown = {offset for offset, entry in visible.items() if entry.value in set(found)}
        assert [visible[offset].value for offset in sorted(shown)] == found
        newest = {entry.key: offset for offset, entry in sorted(visible.items())}
        assert set(newest.values()) <= shown
        assert not shown & self.gone
        self.gone |= visible.keys() - shown

    async def check_letters(self) -> None:
        if DEAD not in [topic.name for topic in self.broker.catalog]:
            return
        for number in range(len(QUEUED)):
            found = await seen(self.broker, topic=DEAD, partition=number)
            wanted = [
                value
                for model in self.groups.values()
                for place, value in model.dead.items()
                if place[0].partition == number
            ]
            held_up = any(one.letter and one.place[0].partition == number for of in self.live() for one in of.pledges)
            assert len(found) <= len(wanted) if held_up else sorted(found) == sorted(wanted)
            assert set(found) <= set(wanted)

    async def end(self) -> None:
        """Everything ends, everything is taken, and nothing was lost, doubled or shown that should not be."""
        for one in self.live():
            if one.key or self.chance.random() < 0.5:
                await abort(self.broker, *self.refs[one.number])
                self.ended(one, "aborted")
            else:
                await commit(self.broker, *self.refs[one.number])
                self.ended(one, "committed")
        for _ in range(MAX_ATTEMPTS + 1):
            await self.pass_time(DAY_MS)
            for group in GROUPS:
                await self.take(group, 1000)
            while self.held:
                await self.settle_plainly()
        await self.check()
        committed = {(log, offset) for log in QUEUED for offset in self.logs[log].committed()}
        for model in self.groups.values():
            assert model.settled == committed
            assert len(model.acked) == len(set(model.acked))
            assert set(model.acked).isdisjoint(model.dead)
        await self.end_of_readers()

    async def end_of_readers(self) -> None:
        for log in LOGS:
            end = self.broker.partition(TopicName(log.topic), log.partition).high_watermark
            while self.read_to[log] < end:
                await self.read()
            assert self.streamed[log] == sorted(set(self.streamed[log]))
            committed = self.logs[log].committed()
            assert set(self.streamed[log]) <= committed.keys()
            if log in QUEUED:
                at_once = {offset for offset, entry in committed.items() if not entry.due}
                assert at_once <= set(self.streamed[log])


async def live(seed: int, folder: Path, *, runs: int = 4, steps_each: int = 45) -> Life:
    clock = FakeClock()
    life = Life(seed, clock)
    for run in range(runs):
        store = DiskStore(str(folder / "data"), OsFileSystem(), SeededEntropy(), RecordingObserver(), SMALL)
        async with Broker(store, clock, SeededEntropy(), MemoryIdIndex()) as life.broker:
            if run == 0:
                await life.start()
            else:
                await life.restarted()
                await life.check()
            for number in range(steps_each):
                try:
                    await life.step()
                    await life.check()
                except BaseException as error:
                    error.add_note(f"seed {seed}, run {run}, step {number}")
                    raise
            if run == runs - 1:
                await life.end()
    return life


@pytest.mark.parametrize("seed", range(12))
async def test_what_is_committed_reaches_everyone_once_and_nothing_else_is_ever_seen(tmp_path, seed):
    life = await live(seed, tmp_path)
    states = [one.state for one in life.transactions.values()]
    assert {"committed", "aborted"} <= set(states)


def main(first: int, count: int, steps_each: int) -> None:
    failed = 0
    for seed in range(first, first + count):
        with tempfile.TemporaryDirectory() as folder:
            try:
                asyncio.run(asyncio.wait_for(live(seed, Path(folder), steps_each=steps_each), 120))
            except Exception as error:
                failed += 1
                print(f"seed {seed}: {type(error).__name__}: {error} {getattr(error, '__notes__', '')}", flush=True)
            if (seed - first) % 20 == 19:
                print(f"{seed - first + 1} lives", flush=True)
    print(f"{count} lives from seed {first} on, {failed} failed", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 45)
