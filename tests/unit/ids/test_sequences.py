"""Ids and the numbers of idempotent producers together: numbers count the records as they were sent."""

import pytest

from goqueue.engine.partition import ProducerBatch
from goqueue.engine.producers import init_producer
from goqueue.engine.topics import create_topic, delete_topic
from goqueue.errors import DiskFull, OutOfOrderSequence, StorageBusy
from goqueue.model.topic import TopicConfig
from tests.unit.ids.scene import ORDERS, Scene, checkpoint, ids_in, places, send, start


@pytest.fixture
def scene() -> Scene:
    return Scene()


async def producer_of(broker) -> tuple[int, int]:
    return await init_producer(broker, None, 0)


async def test_a_batch_sent_again_is_answered_as_the_first_time(scene):
    async with scene.with_topic() as broker:
        await send(broker, "b", partition=1)
        producer = ProducerBatch(*await producer_of(broker), 0)
        first = await send(broker, "a", "b", "c", "a", producer=producer)
        again = await send(broker, "a", "b", "c", "a", producer=producer)
        assert places(first) == [(0, 0, False), (1, 0, True), (0, 1, False), (0, 0, True)]
        assert [one[:2] for one in places(again)] == [one[:2] for one in places(first)]
        assert [one.timestamp_ns for one in again.places()] == [one.timestamp_ns for one in first.places()]
        assert again.duplicate and again.count == 4
        assert ids_in(broker, 0) == ["a", "c"]


async def test_a_batch_sent_again_is_known_by_its_number_also_when_the_window_is_over(scene):
    async with scene.with_topic(dedup_window_ms=1000) as broker:
        producer = ProducerBatch(*await producer_of(broker), 0)
        first = await send(broker, "a", "b", producer=producer)
        scene.clock.advance_ms(5000)
        again = await send(broker, "a", "b", producer=producer)
        assert (again.base_offset, again.duplicate) == (first.base_offset, True)
        assert ids_in(broker, 0) == ["a", "b"]


async def test_numbers_go_on_behind_the_records_as_they_were_sent(scene):
    async with scene.with_topic() as broker:
        identity = await producer_of(broker)
        await send(broker, "a", "b", producer=ProducerBatch(*identity, 0))
        await send(broker, "b", "c", "d", producer=ProducerBatch(*identity, 2))
        with pytest.raises(OutOfOrderSequence):
            await send(broker, "e", producer=ProducerBatch(*identity, 4))
        assert places(await send(broker, "e", producer=ProducerBatch(*identity, 5))) == [(0, 4, False)]


async def test_numbers_go_on_also_when_nothing_was_written(scene):
    async with scene.with_topic() as broker:
        identity = await producer_of(broker)
        await send(broker, "a", "b")
        published = await send(broker, "a", "b", producer=ProducerBatch(*identity, 0))
        assert places(published) == [(0, 0, True), (0, 1, True)]
        assert places(await send(broker, "a", "b", producer=ProducerBatch(*identity, 0))) == places(published)
        assert places(await send(broker, "c", producer=ProducerBatch(*identity, 2))) == [(0, 2, False)]


@pytest.mark.parametrize("with_checkpoint", [False, True])
async def test_the_numbers_and_answers_survive_a_restart(scene, with_checkpoint):
    async with scene.with_topic() as broker:
        identity = await producer_of(broker)
        await send(broker, "x", partition=1)
        first = await send(broker, "a", "x", producer=ProducerBatch(*identity, 0))
        second = await send(broker, "a", "x", producer=ProducerBatch(*identity, 2))
        if with_checkpoint:
            await checkpoint(broker)
    async with scene.open() as broker:
        again = [await send(broker, "a", "x", producer=ProducerBatch(*identity, number)) for number in (0, 2)]
        assert [one[:2] for one in places(again[0])] == [one[:2] for one in places(first)]
        assert places(again[1]) == places(second)
        assert places(await send(broker, "b", producer=ProducerBatch(*identity, 4))) == [(0, 1, False)]


async def test_a_refused_batch_leaves_neither_its_number_nor_its_ids(scene):
    async with scene.with_topic() as broker:
        producer = ProducerBatch(*await producer_of(broker), 0)
        scene.store.refusing.add(broker.partition(ORDERS, 0).id)
        with pytest.raises(DiskFull):
            await send(broker, "a", "b", producer=producer)
        scene.store.refusing.clear()
        assert places(await send(broker, "a", "b", producer=producer)) == [(0, 0, False), (0, 1, False)]


async def test_what_comes_behind_a_refused_batch_is_refused_also_when_it_writes_nothing(scene):
    async with scene.with_topic() as broker:
        identity = await producer_of(broker)
        await send(broker, "x", partition=1)
        scene.store.refusing.add(broker.partition(ORDERS, 0).id)
        first = start(broker, "a", producer=ProducerBatch(*identity, 0))
        second = start(broker, "x", producer=ProducerBatch(*identity, 1))
        assert isinstance(await first, DiskFull)
        assert isinstance(await second, StorageBusy)
        scene.store.refusing.clear()
        assert places(await send(broker, "a", producer=ProducerBatch(*identity, 0))) == [(0, 0, False)]
        assert places(await send(broker, "x", producer=ProducerBatch(*identity, 1))) == [(1, 0, True)]
        await send(broker, "b", producer=ProducerBatch(*identity, 2))
    async with scene.open() as broker:
        assert places(await send(broker, "c", producer=ProducerBatch(*identity, 3))) == [(0, 2, False)]


async def test_batches_of_a_producer_keep_their_order_behind_one_that_waits(scene):
    async with scene.with_topic() as broker:
        identity = await producer_of(broker)
        start(broker, "a", partition=1)
        waiting = [
            start(broker, name, producer=ProducerBatch(*identity, number)) for number, name in enumerate("abcde")
        ]
        answers = [places(await one)[0] for one in waiting]
        assert answers == [(1, 0, True), (0, 0, False), (0, 1, False), (0, 2, False), (0, 3, False)]


async def test_a_topic_made_again_knows_neither_ids_nor_numbers_of_the_deleted_one_after_a_crash(scene):
    async with scene.with_topic() as broker:
        identity = await producer_of(broker)
        await send(broker, "a", "b", producer=ProducerBatch(*identity, 0))
        await delete_topic(broker, ORDERS)
        await create_topic(broker, ORDERS, 2, TopicConfig())
    async with scene.open() as broker:
        assert places(await send(broker, "a", producer=ProducerBatch(*identity, 0))) == [(0, 0, False)]
        assert places(await send(broker, "b", producer=ProducerBatch(*identity, 1))) == [(0, 1, False)]
