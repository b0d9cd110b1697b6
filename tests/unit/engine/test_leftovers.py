"""Objects that requests leave behind in the broker: none, however many there were."""

import asyncio
import gc

import pytest

from goqueue import codec
from goqueue.engine.partition import ProducerBatch
from goqueue.engine.producers import init_producer
from goqueue.engine.publish import PublishBatch, publish_and_wait
from goqueue.model.record import Record
from tests.unit.engine.queue_scene import TOPIC, made_topic, take

ROUNDS = 300


@pytest.fixture
async def broker(open_broker):
    async with open_broker() as opened:
        await made_topic(opened, b"first")
        yield opened


def batch(**options):
    return PublishBatch(TOPIC, 0, bytearray(codec.encode([Record(value=b"x")])), **options)


async def publish_once(broker):
    await publish_and_wait(broker, batch())


async def run_between_writes(broker):
    await broker.commit.between_writes(lambda: None)


async def publish_and_repeat(broker):
    """The repeat comes while the first one is on its way."""
    producer_id, epoch = await init_producer(broker, None, 0)
    both = [batch(producer=ProducerBatch(producer_id, epoch, 0)) for _ in range(2)]
    await asyncio.gather(*(publish_and_wait(broker, one) for one in both))


async def poll_for_nothing(broker):
    await take(broker, group="reader")
    await take(broker, group="reader", wait_ms=1)


@pytest.mark.parametrize("request_once", [publish_once, run_between_writes, poll_for_nothing])
async def test_requests_leave_no_object_behind(broker, request_once):
    for _ in range(20):
        await request_once(broker)
    gc.collect()
    before = len(gc.get_objects())
    for _ in range(ROUNDS):
        await request_once(broker)
    gc.collect()
    assert len(gc.get_objects()) - before < ROUNDS / 3


async def test_a_repeated_batch_that_waits_for_the_first_one_leaves_no_function_behind(broker):
    for _ in range(20):
        await publish_and_repeat(broker)
    gc.collect()
    before = _scopes()
    for _ in range(100):
        await publish_and_repeat(broker)
    gc.collect()
    assert _scopes() - before < 20


def _scopes() -> int:
    """What compiled functions hold for those within them."""
    return sum("scope_struct" in type(one).__name__ for one in gc.get_objects())
