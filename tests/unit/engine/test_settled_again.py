"""What is said twice is confirmed no sooner than what was said first: a power cut would take back both."""

import asyncio
import threading

import pytest

from goqueue.engine.queue import settle
from goqueue.errors import UnknownReceipt
from tests.unit.engine.queue_scene import GROUP, LOG, lease, made_topic, steps, take


@pytest.fixture
async def scene(open_broker):
    """A broker with dead letters, and what was taken of two records, the second of which has failed twice."""
    async with open_broker() as broker:
        await made_topic(broker, b"one", b"two", max_attempts=3)
        for _ in range(2):
            (part,) = await take(broker)
            await settle.nack(broker, lease(part, 1), pause_ms=0)
            await settle.give_back(broker, lease(part, 0))
        (part,) = await take(broker)
        state = broker.queues.get(GROUP, LOG)
        await settle.DeadLetters(broker, state).target()
        yield broker, state, part


@pytest.fixture
def held_back(scene, monkeypatch):
    """Nothing becomes durable before this is set. The loop has to go on meanwhile."""
    may_sync, sync = threading.Event(), scene[0].storage.sync
    monkeypatch.setattr("goqueue.engine.group_commit.SYNC_HERE_BYTES", -1)
    monkeypatch.setattr(scene[0].storage, "sync", lambda: may_sync.wait(10) and sync())
    yield may_sync
    may_sync.set()


async def until(condition):
    async with asyncio.timeout(5):
        while not condition():
            await asyncio.sleep(0)


async def test_a_repeated_reject_waits_until_the_first_is_durable(scene, held_back):
    broker, state, part = scene
    first = asyncio.ensure_future(settle.reject(broker, lease(part, 0)))
    await until(lambda: state.delivery.is_settled(0))
    again = asyncio.ensure_future(settle.reject(broker, lease(part, 0)))
    # Whatever is answered without waiting for the sync is answered within some passes of the loop.
    await steps(40)
    assert not first.done()
    assert not again.done()
    held_back.set()
    assert await first == await again == "orders.dlq"


async def test_a_repeated_reject_of_more_than_before_waits_for_all_of_it(scene, held_back):
    broker, state, part = scene
    first = asyncio.ensure_future(settle.reject(broker, lease(part, 0)))
    await until(lambda: state.delivery.is_settled(0))
    again = asyncio.ensure_future(settle.reject(broker, lease(part)))
    await steps(40)
    assert not again.done()
    held_back.set()
    assert await first == await again == "orders.dlq"
    assert state.delivery.floor == 2


async def test_a_repeated_last_nack_is_refused_while_the_letter_is_not_durable(scene, held_back):
    broker, state, part = scene
    first = asyncio.ensure_future(settle.nack(broker, lease(part, 1)))
    await until(lambda: state.delivery.is_settled(1))
    with pytest.raises(UnknownReceipt):
        await settle.nack(broker, lease(part, 1))
    assert not first.done()
    held_back.set()
    assert (await first).dead == [1]


@pytest.mark.parametrize("say", [settle.nack, settle.give_back])
async def test_what_was_returned_cannot_be_returned_again(scene, held_back, say):
    """Returns are not waited for, neither the first nor those after it, which find nothing to return."""
    broker, _, part = scene
    await say(broker, lease(part, 0))
    with pytest.raises(UnknownReceipt):
        await say(broker, lease(part, 0))


async def test_a_reject_of_what_was_acknowledged_is_refused_and_the_other_way_round(scene, held_back):
    broker, state, part = scene
    acked = asyncio.ensure_future(settle.acknowledge(broker, lease(part, 1)))
    rejected = asyncio.ensure_future(settle.reject(broker, lease(part, 0)))
    await until(lambda: state.delivery.is_settled(0) and state.delivery.is_settled(1))
    with pytest.raises(UnknownReceipt):
        await settle.reject(broker, lease(part, 1))
    with pytest.raises(UnknownReceipt):
        await settle.acknowledge(broker, lease(part, 0))
    held_back.set()
    await asyncio.gather(acked, rejected)
