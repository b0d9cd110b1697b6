"""Ids and the failing of power: what was confirmed is known, and nothing is known that is not in the log."""

import copy
from typing import NamedTuple

import pytest

from goqueue.adapters.disk.store import DiskStore, StoreSettings
from goqueue.adapters.memory.ids import MemoryIdIndex
from goqueue.engine.broker import Broker
from goqueue.engine.partition import ProducerBatch
from goqueue.engine.producers import init_producer
from goqueue.engine.topics import create_topic, delete_topic
from goqueue.model.topic import Durability, TopicConfig
from goqueue.testing import (
    FakeClock,
    Image,
    Platter,
    RecordingObserver,
    SeededEntropy,
    SimulatedFileSystem,
    crash_states,
)
from tests.unit.ids.scene import ORDERS, checkpoint, hand_over, ids_in, places, send

SMALL = StoreSettings(segment_bytes=4096, journal_file_bytes=256 * 1024)
NAMES = [f"order-{number}" for number in range(12)]


class Moment(NamedTuple):
    """When the power may fail: how much was done to the disk, what the index had, and what was confirmed."""

    changes: int
    index: MemoryIdIndex
    confirmed: frozenset[str]


def broker_on(files: SimulatedFileSystem, index: MemoryIdIndex) -> Broker:
    store = DiskStore("data", files, SeededEntropy(), RecordingObserver(), SMALL)
    return Broker(store, FakeClock(), SeededEntropy(), index)


class Watched(MemoryIdIndex):
    """Notes the moment at which it has taken something over, before memory lets go of it."""

    def __init__(self) -> None:
        super().__init__()
        self.noted = lambda: None

    def add(self, ids, number):
        super().add(ids, number)
        self.noted()

    def copied(self) -> MemoryIdIndex:
        twin = MemoryIdIndex()
        twin._number, twin._places = self._number, copy.copy(self._places)
        return twin


async def lived(durability: Durability) -> tuple[SimulatedFileSystem, list[Moment]]:
    files, index = SimulatedFileSystem(), Watched()
    moments: list[Moment] = []
    confirmed: set[str] = set()

    def note() -> None:
        moments.append(Moment(len(files.changes), index.copied(), frozenset(confirmed)))

    async with broker_on(files, index) as broker:
        await create_topic(broker, ORDERS, 2, TopicConfig(durability=durability))
        index.noted = note
        for number in range(0, len(NAMES), 2):
            await send(broker, *NAMES[number : number + 2], partition=number // 2 % 2)
            if durability is Durability.FSYNC:
                confirmed.update(NAMES[number : number + 2])
            note()
            if number in (4, 8):
                await hand_over(broker)
                note()
            if number == 6:
                await checkpoint(broker)
                note()
    return files, moments


async def check(image: Image, moment: Moment) -> None:
    async with broker_on(SimulatedFileSystem(image), moment.index) as broker:
        assert broker.ids.fault is None
        there = {
            name: (partition, offset) for partition in range(2) for offset, name in enumerate(ids_in(broker, partition))
        }
        assert moment.confirmed <= set(there)
        for name, (partition, offset, duplicate) in zip(NAMES, places(await send(broker, *NAMES)), strict=True):
            assert duplicate == (name in there), name
            assert not duplicate or there[name] == (partition, offset), name


@pytest.mark.parametrize("durability", list(Durability))
async def test_after_a_power_cut_exactly_the_ids_of_the_records_that_are_there_are_known(durability):
    files, moments = await lived(durability)
    platter, applied, states = Platter(), 0, 0
    for number, moment in enumerate(moments):
        for change in files.changes[applied : moment.changes]:
            platter.apply(change)
        applied = moment.changes
        for image in crash_states(platter, SeededEntropy(number), exhaustive=2, singles=False, samples=2, cuts=1):
            await check(image, moment._replace(index=copy.deepcopy(moment.index)))
            states += 1
    assert states > 20


async def test_a_topic_made_again_on_disk_knows_nothing_of_the_deleted_one():
    files, index = SimulatedFileSystem(), MemoryIdIndex()
    async with broker_on(files, index) as broker:
        await create_topic(broker, ORDERS, 2, TopicConfig())
        producer = ProducerBatch(*await init_producer(broker, None, 0), 0)
        await send(broker, "a", "b", producer=producer)
        await delete_topic(broker, ORDERS)
        await create_topic(broker, ORDERS, 2, TopicConfig())
    async with broker_on(files, index) as broker:
        assert places(await send(broker, "b", "a", producer=producer)) == [(0, 0, False), (0, 1, False)]
        assert ids_in(broker, 0) == ["b", "a"]
