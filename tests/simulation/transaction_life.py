"""A broker with transactions on a simulated disk, and what its clients were told at which change to that disk."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Literal

from goqueue import codec
from goqueue.adapters.disk.store import DiskStore, StoreSettings
from goqueue.adapters.memory.ids import MemoryIdIndex
from goqueue.core.groups.decisions.committing import OffsetAndMetadata
from goqueue.core.transactions.events import Enlisted
from goqueue.engine.broker import Broker
from goqueue.engine.poll import Poll, poll
from goqueue.engine.publish import PublishBatch, publish_and_wait
from goqueue.engine.queue.settle import Lease
from goqueue.engine.topics import create_topic
from goqueue.engine.transactions.beginning import add_offsets, begin, begin_part, enlist, prepare
from goqueue.engine.transactions.ending import abort, commit, decide
from goqueue.engine.transactions.joining import InTransaction
from goqueue.engine.transactions.pledging import Action, pledge
from goqueue.errors import GoQueueError
from goqueue.model.log import LogId
from goqueue.model.record import Record
from goqueue.model.topic import TopicConfig, TopicName, topic_name
from goqueue.testing import Platter, RecordingObserver, SeededEntropy, SimulatedFileSystem
from goqueue.testing.clock import FakeClock
from tests.unit.engine.test_maintenance import maintenance_of

FOLDER = "data"
ORDERS, AUDIT, DEAD = topic_name("orders"), topic_name("audit"), topic_name("orders.dlq")
LOGS = (LogId(ORDERS, 0), LogId(ORDERS, 1), LogId(AUDIT, 0))
WORKERS, READERS = "workers", "readers"
PAUSE_MS = 3_600_000
NEVER = 1 << 60
SMALL = StoreSettings(segment_bytes=1500, journal_file_bytes=4000, open_sealed_segments=2)


@asynccontextmanager
async def opened(
    disk: SimulatedFileSystem, clock: FakeClock, settings: StoreSettings, observer: RecordingObserver | None = None
) -> AsyncIterator[Broker]:
    store = DiskStore(FOLDER, disk, SeededEntropy("store"), observer or RecordingObserver(), settings)
    async with Broker(store, clock, SeededEntropy("broker"), MemoryIdIndex()) as broker:
        yield broker


@dataclass(frozen=True)
class Span:
    """The number of changes to the disk when something was asked for, and when it was confirmed."""

    asked: int
    confirmed: int = NEVER


@dataclass
class Told:
    """One transaction as its producer knows it."""

    name: str
    ref: InTransaction
    key: str = ""
    values: dict[LogId, list[bytes]] = field(default_factory=dict)
    done_with: list[tuple[LogId, int]] = field(default_factory=list)
    """Records that the workers get no more once it is committed."""
    letters: list[tuple[LogId, bytes]] = field(default_factory=list)
    failed: list[tuple[LogId, int]] = field(default_factory=list)
    moves: dict[LogId, int] = field(default_factory=dict)
    prepared: Span | None = None
    committed: Span | None = None
    aborted: Span | None = None


class Life:
    """Everything is awaited before the next thing is asked for, so each change belongs to one request."""

    def __init__(self, settings: StoreSettings = SMALL) -> None:
        self.settings = settings
        self.disk = SimulatedFileSystem()
        self.clock = FakeClock()
        self.told: dict[str, Told] = {}
        self.plain: list[tuple[LogId, bytes, Span]] = []
        self.chosen: dict[str, list[int]] = {}
        self.decided: dict[str, Span] = {}
        self.leases: dict[bytes, Lease] = {}
        self.places: dict[bytes, tuple[LogId, int]] = {}
        self.enlisted: dict[str, Enlisted] = {}
        self.dead_topic: Span | None = None
        self.broker: Broker

    def crash_points(self) -> Iterable[tuple[int, Platter]]:
        platter = Platter()
        yield 0, platter
        for number, change in enumerate(self.disk.changes, 1):
            platter.apply(change)
            yield number, platter

    @property
    def now(self) -> int:
        return len(self.disk.changes)

    # What clients do.

    async def create(self) -> None:
        # Tried often enough that nothing becomes a dead letter because the test lets time pass.
        config = TopicConfig(max_attempts=100, retry_backoff_ms=0)
        await create_topic(self.broker, ORDERS, 2, config)
        await create_topic(self.broker, AUDIT, 1, config)

    async def publish(self, log: LogId, *values: bytes) -> None:
        asked = self.now
        await publish_and_wait(self.broker, PublishBatch(TopicName(log.topic), log.partition, encoded(values)))
        self.plain += [(log, value, Span(asked, self.now)) for value in values]

    async def take(self) -> None:
        """All that workers can have."""
        request = Poll(WORKERS, "worker", topics=(ORDERS,), limit=1000, wait_ms=0)
        for part in await poll(self.broker, request):
            for record in codec.decode(part.records):
                assert record.value is not None
                self.leases[record.value] = Lease(WORKERS, part.log, part.grant, part.token, [record.offset])
                self.places[record.value] = (part.log, record.offset)

    async def enlist(self, producer: str) -> None:
        """What it had open is aborted."""
        asked = self.now
        known = self.enlisted.get(producer)
        self.enlisted[producer] = await enlist(self.broker, producer, 60_000)
        for one in self.told.values():
            is_open = one.committed is None and one.aborted is None
            if known is not None and one.ref.producer_id == known.producer_id and is_open:
                one.aborted = Span(asked, self.now)

    async def begin(self, name: str, producer: str) -> None:
        who = self.enlisted[producer]
        began = await begin(self.broker, who.producer_id, who.epoch)
        self.told[name] = Told(name, InTransaction(began.number, who.producer_id, who.epoch))

    async def begin_part(self, name: str, key: str) -> None:
        began = await begin_part(self.broker, key, 60_000)
        self.told[name] = Told(name, InTransaction(began.number, began.producer_id, began.epoch), key)

    async def write(self, name: str, log: LogId, *values: bytes) -> None:
        one = self.told[name]
        batch = PublishBatch(TopicName(log.topic), log.partition, encoded(values), transaction=one.ref)
        await publish_and_wait(self.broker, batch)
        one.values.setdefault(log, []).extend(values)

    async def settle(self, name: str, value: bytes, action: Action) -> None:
        one = self.told[name]
        await pledge(self.broker, one.ref, self.leases[value], action, pause_ms=PAUSE_MS if action == "nack" else None)
        log, offset = self.places[value]
        if action == "nack":
            one.failed.append((log, offset))
            return
        one.done_with.append((log, offset))
        if action == "reject":
            one.letters.append((LogId(DEAD, log.partition), value))

    async def move(self, name: str, log: LogId, offset: int) -> None:
        one = self.told[name]
        await add_offsets(self.broker, one.ref, READERS, {log: OffsetAndMetadata(offset)})
        one.moves[log] = offset

    async def commit(self, name: str) -> None:
        one = self.told[name]
        one.committed = Span(self.now)
        await commit(self.broker, *one.ref)
        one.committed = Span(one.committed.asked, self.now)

    async def abort(self, name: str) -> None:
        one = self.told[name]
        one.aborted = Span(self.now)
        await abort(self.broker, *one.ref)
        one.aborted = Span(one.aborted.asked, self.now)

    async def tries(self, name: str, what: Literal["commit", "abort"]) -> bool:
        """Whether it was confirmed. Refused, it may have happened all the same."""
        one = self.told[name]
        try:
            await (self.commit(name) if what == "commit" else self.abort(name))
        except GoQueueError:
            if what == "abort":
                one.aborted = None
            return False
        if what == "abort":
            one.committed = None
        return True

    async def tries_to_prepare(self, name: str) -> bool:
        try:
            await self.prepare(name)
        except GoQueueError:
            self.told[name].prepared = None
            return False
        return True

    async def tries_to_decide(self, key: str, *names: str) -> bool:
        """Refused, it may have happened all the same."""
        asked = self.now
        try:
            await self.decide(key, *names)
        except GoQueueError:
            for name in names:
                self.told[name].committed = self.told[name].committed or Span(asked)
            return False
        return True

    async def prepare(self, name: str) -> None:
        one = self.told[name]
        one.prepared = Span(self.now)
        await prepare(self.broker, one.ref)
        one.prepared = Span(one.prepared.asked, self.now)

    async def decide(self, key: str, *names: str) -> None:
        numbers = [self.told[name].ref.number for name in names]
        asked = self.now
        self.chosen[key] = numbers
        await decide(self.broker, key, numbers)
        self.decided[key] = Span(asked, self.now)
        for one in self.told.values():
            if one.key == key and one.aborted is None:
                ended = Span(asked, self.now)
                if one.name in names:
                    one.committed = ended
                else:
                    one.aborted = ended

    def intend(self, key: str, *names: str) -> None:
        """What would be decided next, had the life gone on."""
        self.chosen[key] = [self.told[name].ref.number for name in names]

    async def checkpoint(self) -> None:
        await maintenance_of(self.broker).checkpoint()


def encoded(values: Iterable[bytes]) -> bytearray:
    return bytearray(codec.encode([Record(value=value) for value in values]))


async def lived(settings: StoreSettings = SMALL) -> Life:
    """Everything that transactions can do, one beside another, with checkpoints in between."""
    life = Life(settings)
    async with opened(life.disk, life.clock, settings) as life.broker:
        await life.create()
        await life.publish(LOGS[0], b"p1", b"p2", b"p3", b"p4")
        await life.publish(LOGS[1], b"q1", b"q2")
        await life.enlist("a")
        await life.enlist("b")
        await life.take()
        await many_partitions(life)
        await beside_each_other(life)
        await parts(life)
        await life.publish(LOGS[0], b"p6")
        await life.begin("open", "a")
        await life.write("open", LOGS[1], b"open")
        await life.settle("open", b"q2", "ack")
        end = life.now
    # A crash leaves no time for an orderly end.
    del life.disk.changes[end:]
    return life


async def many_partitions(life: Life) -> None:
    await life.begin("one", "a")
    await life.write("one", LOGS[0], b"one-1", b"one-2")
    await life.write("one", LOGS[1], b"one-3")
    await life.write("one", LOGS[2], b"one-4")
    await life.write("one", LOGS[0], b"one-5")
    await life.settle("one", b"p1", "ack")
    await life.move("one", LOGS[2], 1)
    await life.commit("one")


async def beside_each_other(life: Life) -> None:
    await life.begin("rejects", "b")
    await life.write("rejects", LOGS[0], b"rejects-1")
    await life.write("rejects", LOGS[2], b"rejects-2")
    await life.settle("rejects", b"p2", "reject")
    await life.begin("dropped", "a")
    await life.write("dropped", LOGS[0], b"dropped-1")
    await life.write("dropped", LOGS[1], b"dropped-2")
    await life.settle("dropped", b"p4", "reject")
    await life.checkpoint()
    await life.publish(LOGS[0], b"p5")
    await life.abort("dropped")
    await life.commit("rejects")
    await life.begin("fails", "a")
    await life.write("fails", LOGS[1], b"fails-1")
    await life.settle("fails", b"p3", "nack")
    await life.begin("fenced", "b")
    await life.write("fenced", LOGS[0], b"fenced-1")
    await life.write("fenced", LOGS[2], b"fenced-2")
    await life.settle("fenced", b"q1", "ack")
    await life.move("fenced", LOGS[2], 2)
    await life.commit("fails")
    await life.enlist("b")
    await life.begin("empty", "b")
    await life.commit("empty")


async def parts(life: Life) -> None:
    for name in ("part-1", "part-2", "left-out"):
        await life.begin_part(name, "query/1")
        await life.write(name, LOGS[0], name.encode())
        await life.write(name, LOGS[2], name.encode() + b"-audit")
    await life.settle("part-2", b"q1", "ack")
    await life.prepare("part-1")
    await life.prepare("part-2")
    await life.checkpoint()
    await life.prepare("left-out")
    await life.decide("query/1", "part-1", "part-2")
    for name in ("given-up", "part-3"):
        await life.begin_part(name, "query/2")
        await life.write(name, LOGS[1], name.encode())
        await life.prepare(name)
    await life.abort("given-up")
    await life.decide("query/2", "part-3")
    await life.begin_part("undecided", "query/3")
    await life.write("undecided", LOGS[1], b"undecided-1")
    await life.write("undecided", LOGS[2], b"undecided-2")
    await life.prepare("undecided")
    life.intend("query/3", "undecided")
