"""Changes of delayed records that wait for each other."""

import asyncio

import pytest

from goqueue.engine.delays import cancel_delay
from goqueue.engine.partition import delays_stream
from goqueue.engine.publish import PublishBatch, publish_and_wait
from goqueue.engine.topics import create_topic, delete_topic
from goqueue.errors import UnknownTopic
from goqueue.model.topic import TopicConfig
from tests.unit.engine.queue_scene import LOG, TOPIC, steps
from tests.unit.engine.support import encoded


async def test_a_cancellation_that_waits_while_its_topic_is_made_again_does_not_touch_the_new_one(open_broker, clock):
    async with open_broker() as broker:
        later = clock.now_ns() + 1_000_000_000

        async def make():
            await create_topic(broker, TOPIC, 1, TopicConfig())
            await publish_and_wait(broker, PublishBatch(TOPIC, 0, encoded(b"later"), dues=[later]))

        await make()
        async with broker.state_log.owner(delays_stream(LOG)).lock:
            cancelling = asyncio.ensure_future(cancel_delay(broker, TOPIC, 0, 0))
            await steps(5)
            await delete_topic(broker, TOPIC)
            await make()
        with pytest.raises(UnknownTopic):
            await cancelling
    async with open_broker() as broker:
        assert len(broker.partition(TOPIC, 0).delays) == 1
