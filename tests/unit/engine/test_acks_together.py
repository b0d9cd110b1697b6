"""Acknowledgements that come while their queue is busy: one entry for all of them, an answer for each."""

import asyncio
import threading
from contextlib import suppress

import pytest

from goqueue.engine.queue import settle
from goqueue.errors import GoQueueError, StorageBusy, UnknownReceipt
from tests.unit.engine.queue_scene import GROUP, LOG, lease, made_topic, take, values
from tests.unit.engine.support import too_much_is_waiting

COUNT = 6


@pytest.fixture
async def scene(open_broker):
    """A broker, and as many grants of one record each."""
    async with open_broker() as broker:
        await made_topic(broker, *(b"%d" % number for number in range(COUNT)))
        yield broker, [lease((await take(broker, 1))[0]) for _ in range(COUNT)]


def written_events(broker, monkeypatch):
    """Entries that are written from now on."""
    entries = []
    write = broker.storage.write

    def counted(given):
        entries.extend(given)
        return write(given)

    monkeypatch.setattr(broker.storage, "write", counted)
    return entries


async def while_busy(broker, *acks):
    """Ask while another one has the turn."""
    state = broker.queues.get(GROUP, LOG)
    await state.lock.acquire()
    tasks = [asyncio.ensure_future(settle.acknowledge(broker, one)) for one in acks]
    await asyncio.sleep(0)
    return state, tasks


async def test_acknowledgements_that_had_to_wait_are_written_as_one_entry(scene, monkeypatch):
    broker, leases = scene
    state, tasks = await while_busy(broker, *leases)
    entries = written_events(broker, monkeypatch)
    state.lock.release()
    await asyncio.gather(*tasks)
    assert len(entries) == 1
    assert (state.delivery.floor, state.delivery.leased_count, state.tally.acked) == (COUNT, 0, COUNT)
    assert not state.acks
    assert not state.lock.locked()


async def test_one_that_is_refused_does_not_take_the_others_with_it(scene):
    broker, leases = scene
    returned = leases[2]
    await settle.give_back(broker, returned)
    state, tasks = await while_busy(broker, *leases)
    state.lock.release()
    outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert [number for number, one in enumerate(outcomes) if isinstance(one, UnknownReceipt)] == [2]
    assert state.delivery.unsettled(COUNT) == 1
    assert values(await take(broker)) == [b"2"]


async def test_what_is_said_twice_at_the_same_time_is_done_once(scene):
    broker, leases = scene
    state, tasks = await while_busy(broker, leases[0], leases[0], leases[1], leases[0])
    state.lock.release()
    await asyncio.gather(*tasks)
    assert (state.delivery.floor, state.tally.acked) == (2, 2)
    assert not state.acks
    assert not state.lock.locked()


async def test_parts_of_one_grant_are_each_settled(open_broker):
    async with open_broker() as broker:
        await made_topic(broker, *(b"%d" % number for number in range(COUNT)))
        (part,) = await take(broker)
        state, tasks = await while_busy(broker, *(lease(part, offset) for offset in range(COUNT)))
        state.lock.release()
        await asyncio.gather(*tasks)
        assert (state.delivery.floor, state.delivery.leased_count, state.tally.acked) == (COUNT, 0, COUNT)


async def test_whoever_gives_up_waiting_does_not_hold_up_the_others(scene):
    broker, leases = scene
    state, tasks = await while_busy(broker, *leases)
    tasks[0].cancel()
    with suppress(asyncio.CancelledError):
        await tasks[0]
    state.lock.release()
    await asyncio.gather(*tasks[1:])
    assert all(state.delivery.is_settled(offset) for offset in range(1, COUNT))
    assert not state.lock.locked()


async def test_all_of_them_hear_that_nothing_could_be_written(scene, monkeypatch):
    broker, leases = scene
    state, tasks = await while_busy(broker, *leases)

    async with too_much_is_waiting(broker, monkeypatch):
        state.lock.release()
        outcomes = await asyncio.gather(*tasks, return_exceptions=True)
    assert [type(one) for one in outcomes] == [StorageBusy] * COUNT
    assert isinstance(outcomes[0], GoQueueError)
    assert state.delivery.leased_count == COUNT
    await asyncio.gather(*(settle.acknowledge(broker, one) for one in leases))
    assert state.delivery.leased_count == 0


async def test_what_is_said_again_is_confirmed_no_sooner_than_the_first_time(scene, monkeypatch):
    """A power cut would take back what is applied and not durable yet."""
    broker, leases = scene
    may_sync, sync = threading.Event(), broker.storage.sync
    # The loop has to go on while the sync is held back.
    monkeypatch.setattr("goqueue.engine.group_commit.SYNC_HERE_BYTES", -1)
    monkeypatch.setattr(broker.storage, "sync", lambda: may_sync.wait(10) and sync())
    state = broker.queues.get(GROUP, LOG)
    first = asyncio.ensure_future(settle.acknowledge(broker, leases[0]))
    while not state.delivery.is_settled(0):
        await asyncio.sleep(0)
    again = asyncio.ensure_future(settle.acknowledge(broker, leases[0]))
    # Whatever is answered without waiting for the sync is answered within some passes of the loop.
    for _ in range(20):
        await asyncio.sleep(0)
    assert not first.done()
    assert not again.done()
    may_sync.set()
    await asyncio.gather(first, again)
