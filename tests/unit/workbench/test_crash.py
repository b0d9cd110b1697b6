"""Whatever a power cut leaves of a redrive, a letter is a dead letter or a record again: never both, never neither."""

import asyncio

import pytest

from goqueue.adapters.disk.store import DiskStore, StoreSettings
from goqueue.adapters.memory.ids import MemoryIdIndex
from goqueue.engine.broker import Broker
from goqueue.engine.workbench.desk import desk_of
from goqueue.engine.workbench.redrive import Orders, purge, redrive
from goqueue.engine.workbench.search import Wanted
from goqueue.testing import Platter, SeededEntropy, SimulatedFileSystem, crash_states
from goqueue.testing.clock import FakeClock
from goqueue.testing.observer import RecordingObserver
from tests.unit.workbench.scene import ORDERS, dead, made, values, values_of

SMALL = StoreSettings(segment_bytes=4096, journal_file_bytes=64 * 1024)
SENT = [b"%d" % number for number in range(6)]


def broker_on(files: SimulatedFileSystem) -> Broker:
    store = DiskStore("data", files, SeededEntropy(), RecordingObserver(), SMALL)
    return Broker(store, FakeClock(), SeededEntropy(), MemoryIdIndex())


async def life(files: SimulatedFileSystem) -> tuple[int, list[int]]:
    """Six letters, sent back two at a time; after which changes to the disk that began, and was confirmed."""
    async with broker_on(files) as broker:
        await made(broker)
        await dead(broker, *SENT)
        began, confirmed = len(files.changes), []
        for first in (0, 2, 4):
            wanted = Wanted(places=((0, first), (0, first + 1)))
            await redrive(desk_of(broker, ORDERS), Orders(wanted))
            confirmed.append(len(files.changes))
        return began, confirmed


async def test_no_power_cut_during_a_redrive_loses_or_doubles_a_letter():
    files = SimulatedFileSystem()
    began, confirmed = await life(files)
    platter, entropy, seen, states = Platter(), SeededEntropy(), set(), 0
    for number, change in enumerate(files.changes, 1):
        platter.apply(change)
        if not began <= number <= confirmed[-1]:
            continue
        certain = 2 * sum(number >= one for one in confirmed)
        for image in crash_states(platter, entropy, exhaustive=3, samples=2, cuts=2, sector=64):
            key = (certain, tuple(sorted((path, bytes(data)) for path, data in image.contents().items())))
            if hash(key) in seen:
                continue
            seen.add(hash(key))
            states += 1
            async with broker_on(SimulatedFileSystem(image)) as broker:
                left, back = await values(broker), values_of(broker)[len(SENT) :]
                assert sorted(left + back) == SENT
                assert len(back) >= certain
                # And it can be brought to an end.
                await redrive(desk_of(broker, ORDERS), Orders(Wanted()))
                assert sorted(values_of(broker)) == sorted(SENT * 2)
    assert states >= 10


@pytest.mark.parametrize("action", [redrive, purge])
async def test_a_caller_who_goes_away_leaves_no_half_done_work(action):
    files = SimulatedFileSystem()
    async with broker_on(files) as broker:
        await made(broker)
        await dead(broker, *SENT)
        for turns in range(40):
            work = asyncio.create_task(action(desk_of(broker, ORDERS), Orders(Wanted(places=((0, turns % 6),)))))
            for _ in range(turns):
                await asyncio.sleep(0)
            work.cancel()
            await asyncio.gather(work, return_exceptions=True)
        await broker.commit.drain()
        left, back = await values(broker), values_of(broker)[len(SENT) :]
        assert len(set(back)) == len(back)
        assert not set(left) & set(back)
        assert action is purge or sorted(left + back) == SENT
        # Nobody holds a turn for ever.
        async with asyncio.timeout(5):
            await purge(desk_of(broker, ORDERS), Orders(Wanted()))
        assert await values(broker) == []
