"""A broker whose storage refuses writes and holds back syncs when it is told to, and which is opened again as after
a crash: nothing is checkpointed at the end."""

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from goqueue import codec
from goqueue.adapters.memory.ids import MemoryIdIndex
from goqueue.adapters.memory.store import MemoryDisk, MemoryStore
from goqueue.engine.broker import Broker
from goqueue.engine.id_upkeep import IdUpkeep
from goqueue.engine.maintenance import Maintenance, MaintenanceSettings
from goqueue.engine.partition import ProducerBatch
from goqueue.engine.ports import AppendRecords, Entry
from goqueue.engine.publish import PublishBatch, Published, publish, publish_and_wait
from goqueue.engine.topics import create_topic
from goqueue.errors import DiskFull, GoQueueError
from goqueue.model.ids import Lsn
from goqueue.model.log import LogId
from goqueue.model.record import Record
from goqueue.model.record_id import id_of, with_id
from goqueue.model.topic import Durability, TopicConfig, topic_name
from goqueue.testing.clock import FakeClock
from goqueue.testing.entropy import SeededEntropy

ORDERS = topic_name("orders")
MINUTE_MS = 60_000


class Store(MemoryStore):
    """Memory that can fail."""

    def __init__(self, disk: MemoryDisk) -> None:
        super().__init__(disk)
        self.refusing: set[LogId] = set()
        self.may_sync = threading.Event()
        self.may_sync.set()
        self.synced_lsn = Lsn(0)

    def write(self, entries: Sequence[Entry]) -> list[GoQueueError | None]:
        return [
            DiskFull("no room") if self._is_refused(entry) else super(Store, self).write([entry])[0]
            for entry in entries
        ]

    def _is_refused(self, entry: Entry) -> bool:
        return any(isinstance(one, AppendRecords) and one.log in self.refusing for one in entry)

    def sync(self) -> Lsn:
        lsn = self.written_lsn
        assert self.may_sync.wait(10)
        self.synced_lsn = lsn
        return lsn


class Reports:
    """A maintenance observer that keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple] = []

    def __getattr__(self, name):
        return lambda *arguments: self.told.append((name, *arguments))


class Scene:
    def __init__(self, index=None) -> None:
        self.clock = FakeClock()
        self.disk = MemoryDisk()
        self.index = index or MemoryIdIndex()
        self.store: Store

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Broker]:
        self.store = Store(self.disk)
        async with Broker(self.store, self.clock, SeededEntropy(), self.index) as broker:
            try:
                yield broker
            finally:
                self.store.may_sync.set()

    @asynccontextmanager
    async def with_topic(self, partitions: int = 2, **config) -> AsyncIterator[Broker]:
        async with self.open() as broker:
            await create_topic(broker, ORDERS, partitions, TopicConfig(**config))
            yield broker


def batch_of(ids: Sequence[str | None], values: Sequence[bytes] | None = None) -> bytearray:
    records = [Record(value) for value in values or [b"v"] * len(ids)]
    return bytearray(
        codec.encode([one if name is None else with_id(one, name) for one, name in zip(records, ids, strict=True)])
    )


def request(
    ids: Sequence[str | None],
    *,
    partition: int = 0,
    topic=ORDERS,
    producer: ProducerBatch | None = None,
    values: Sequence[bytes] | None = None,
    durability: Durability | None = None,
) -> PublishBatch:
    return PublishBatch(topic, partition, batch_of(ids, values), durability, producer, ids)


async def send(broker: Broker, *ids: str | None, **given) -> Published:
    return await publish_and_wait(broker, request(ids, **given))


def start(broker: Broker, *ids: str | None, **given) -> "asyncio.Future[Published | GoQueueError]":
    """Publish without waiting; the answer is there when it is done."""
    answer: asyncio.Future[Published | GoQueueError] = asyncio.get_running_loop().create_future()
    publish(broker, request(ids, **given), answer.set_result)
    return answer


def places(published: Published) -> list[tuple[int, int, bool]]:
    return [(one.partition, one.offset, one.duplicate) for one in published.places()]


def ids_in(broker: Broker, partition: int, topic=ORDERS) -> list[str | None]:
    """The ids of the records that are really there."""
    found = broker.partition(topic, partition)
    chunk = found.log.read(0, 1 << 24, found.high_watermark)
    ids = [id_of(record.headers) for record in codec.decode(chunk.records)]
    return [None if one is None else one.decode() for one in ids]


def maintenance_of(broker: Broker, reports: Reports | None = None) -> Maintenance:
    return Maintenance(broker, reports or Reports(), MaintenanceSettings())


async def hand_over(broker: Broker) -> None:
    await IdUpkeep(broker).hand_over(at_least=1)


async def checkpoint(broker: Broker) -> None:
    await maintenance_of(broker).checkpoint()
