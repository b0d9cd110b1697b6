"""Publishing records with ids: which are written, and what the answer says about the others."""

import asyncio

import pytest

from goqueue import codec
from goqueue.engine.publish import PublishBatch, publish_and_wait
from goqueue.engine.topics import amend_topic, create_topic
from goqueue.errors import CorruptBatch, DiskFull, InvalidRequest, StorageBusy
from goqueue.model.topic import Durability, TopicConfig, topic_name
from tests.unit.engine.support import too_much_is_waiting
from tests.unit.ids.scene import MINUTE_MS, ORDERS, Scene, batch_of, ids_in, places, request, send, start


@pytest.fixture
def scene() -> Scene:
    return Scene()


# --- what is written


async def test_records_with_new_ids_are_written(scene):
    async with scene.with_topic() as broker:
        published = await send(broker, "a", "b")
        assert places(published) == [(0, 0, False), (0, 1, False)]
        assert not published.duplicate
        assert ids_in(broker, 0) == ["a", "b"]


async def test_a_record_whose_id_is_known_is_not_written_again(scene):
    async with scene.with_topic() as broker:
        first = await send(broker, "a", "b")
        scene.clock.advance_ms(1000)
        again = await send(broker, "b")
        assert places(again) == [(0, 1, True)]
        assert again.duplicate
        assert again.places()[0].timestamp_ns == first.timestamp_ns
        assert ids_in(broker, 0) == ["a", "b"]


async def test_an_id_is_known_in_every_partition_of_its_topic(scene):
    async with scene.with_topic() as broker:
        await send(broker, "x", partition=1)
        await send(broker, "a", partition=1)
        assert places(await send(broker, "a", partition=0)) == [(1, 1, True)]
        assert ids_in(broker, 0) == []


async def test_an_id_is_not_known_in_other_topics(scene):
    async with scene.with_topic() as broker:
        payments = topic_name("payments")
        await create_topic(broker, payments, 1, TopicConfig())
        await send(broker, "a")
        assert places(await send(broker, "a", topic=payments)) == [(0, 0, False)]
        assert places(await send(broker, "a", topic=payments)) == [(0, 0, True)]


async def test_of_a_batch_only_the_new_records_are_written(scene):
    async with scene.with_topic() as broker:
        await send(broker, "a", partition=1)
        await send(broker, "b")
        published = await send(broker, "c", "a", "d", "b", None)
        assert places(published) == [(0, 1, False), (1, 0, True), (0, 2, False), (0, 0, True), (0, 3, False)]
        assert not published.duplicate
        assert published.count == 5
        assert ids_in(broker, 0) == ["b", "c", "d", None]
        assert places(await send(broker, "d", "c")) == [(0, 2, True), (0, 1, True)]


async def test_the_records_left_are_written_as_they_were(scene):
    async with scene.with_topic() as broker:
        await send(broker, "a")
        await send(broker, "a", "b", values=[b"one", b"two"])
        partition = broker.partition(ORDERS, 0)
        records = codec.decode(partition.read(0, 10_000, partition.stable_offset).records)
        assert [record.value for record in records] == [b"v", b"two"]


async def test_an_id_that_comes_twice_in_a_batch_is_written_once(scene):
    async with scene.with_topic() as broker:
        await send(broker, "x")
        assert places(await send(broker, "a", "b", "a")) == [(0, 1, False), (0, 2, False), (0, 1, True)]
        assert ids_in(broker, 0) == ["x", "a", "b"]


async def test_records_without_ids_are_always_written(scene):
    async with scene.with_topic() as broker:
        await send(broker, None, "a", None)
        await send(broker, None, "a", None)
        assert ids_in(broker, 0) == [None, "a", None, None, None]


async def test_a_batch_whose_ids_are_all_missing_is_an_ordinary_one(scene):
    async with scene.with_topic() as broker:
        assert places(await send(broker, None, None)) == [(0, 0, False), (0, 1, False)]
        assert len(broker.ids.recent) == 0


# --- for how long


async def test_an_id_is_forgotten_when_the_window_is_over(scene):
    async with scene.with_topic(dedup_window_ms=10 * MINUTE_MS) as broker:
        await send(broker, "a")
        scene.clock.advance_ms(10 * MINUTE_MS - 1)
        assert places(await send(broker, "a")) == [(0, 0, True)]
        scene.clock.advance_ms(1)
        assert places(await send(broker, "a")) == [(0, 1, False)]
        assert places(await send(broker, "a")) == [(0, 1, True)]


async def test_the_window_counts_from_the_original_not_from_the_last_attempt(scene):
    async with scene.with_topic(dedup_window_ms=10 * MINUTE_MS) as broker:
        await send(broker, "a")
        for _ in range(3):
            scene.clock.advance_ms(3 * MINUTE_MS)
            assert places(await send(broker, "a")) == [(0, 0, True)]
        scene.clock.advance_ms(3 * MINUTE_MS)
        assert places(await send(broker, "a")) == [(0, 1, False)]


async def test_with_a_window_of_nothing_ids_mean_nothing(scene):
    async with scene.with_topic(dedup_window_ms=0) as broker:
        await send(broker, "a")
        assert places(await send(broker, "a")) == [(0, 1, False)]


async def test_a_window_that_is_made_shorter_counts_at_once(scene):
    async with scene.with_topic() as broker:
        await send(broker, "a")
        scene.clock.advance_ms(2 * MINUTE_MS)
        await amend_topic(broker, ORDERS, lambda _: TopicConfig(dedup_window_ms=MINUTE_MS))
        assert places(await send(broker, "a")) == [(0, 1, False)]


# --- what is refused


@pytest.mark.parametrize("ids", [("",), ("x" * 257,), ("a", "b"), (), (None,)])
async def test_ids_that_cannot_be_right_are_refused(scene, ids):
    async with scene.with_topic() as broker:
        records = batch_of(["a"]) if ids != (None,) else bytearray(b"GQ")
        with pytest.raises((InvalidRequest, CorruptBatch)):
            await publish_and_wait(broker, PublishBatch(ORDERS, 0, records, ids=ids))
        assert broker.partition(ORDERS, 0).next_offset == 0


async def test_an_empty_batch_is_refused_also_with_ids(scene):
    async with scene.with_topic() as broker:
        with pytest.raises(CorruptBatch):
            await publish_and_wait(broker, PublishBatch(ORDERS, 0, bytearray(), ids=()))


async def test_a_refused_record_does_not_stand_in_the_way_of_the_next_attempt(scene):
    async with scene.with_topic() as broker:
        scene.store.refusing.add(broker.partition(ORDERS, 0).id)
        with pytest.raises(DiskFull):
            await send(broker, "a", "b")
        scene.store.refusing.clear()
        assert places(await send(broker, "a", "c", partition=1)) == [(1, 0, False), (1, 1, False)]
        assert places(await send(broker, "b")) == [(0, 0, False)]


async def test_a_record_refused_by_a_busy_broker_does_not_stand_in_the_way(scene, monkeypatch):
    async with scene.with_topic() as broker:
        async with too_much_is_waiting(broker, monkeypatch):
            with pytest.raises(StorageBusy):
                await send(broker, "a")
        assert places(await send(broker, "a")) == [(0, 0, False)]


# --- while the original is on its way


async def test_a_repeat_of_a_record_on_its_way_is_answered_when_the_original_is_written(scene):
    async with scene.with_topic() as broker:
        first, second = start(broker, "a"), start(broker, "a", partition=1)
        third = start(broker, "a", "b", partition=1)
        assert places(await first) == [(0, 0, False)]
        assert places(await second) == [(0, 0, True)]
        assert places(await third) == [(0, 0, True), (1, 0, False)]


async def test_a_repeat_is_not_confirmed_before_the_original_is_durable(scene):
    async with scene.with_topic() as broker:
        scene.store.may_sync.clear()
        first = start(broker, "a")
        while not scene.store.log(broker.partition(ORDERS, 0).id).next_offset:
            await asyncio.sleep(0)
        alone, mixed = start(broker, "a", partition=1), start(broker, "a", "b", partition=1)
        in_memory = start(broker, "a", "c", durability=Durability.MEMORY)
        await asyncio.sleep(0.05)
        assert not any(one.done() for one in (first, alone, mixed, in_memory))
        scene.store.may_sync.set()
        assert places(await alone) == [(0, 0, True)]
        assert places(await mixed) == [(0, 0, True), (1, 0, False)]
        assert places(await in_memory) == [(0, 0, True), (0, 1, False)]
        assert first.done()


async def test_a_repeat_is_confirmed_only_durably_when_the_original_was_written_to_memory(scene):
    async with scene.with_topic(durability=Durability.MEMORY) as broker:
        await send(broker, "a")
        assert scene.store.synced_lsn < scene.store.written_lsn
        await send(broker, "a")
        assert scene.store.synced_lsn == scene.store.written_lsn


async def test_when_the_original_is_refused_its_repeat_is_written(scene):
    async with scene.with_topic() as broker:
        scene.store.refusing.add(broker.partition(ORDERS, 0).id)
        first, second, third = start(broker, "a"), start(broker, "a", partition=1), start(broker, "b", "a", partition=1)
        assert isinstance(await first, DiskFull)
        assert places(await second) == [(1, 0, False)]
        assert places(await third) == [(1, 1, False), (1, 0, True)]


async def test_what_comes_behind_a_batch_that_waits_keeps_its_place(scene):
    async with scene.with_topic() as broker:
        start(broker, "a")
        waiting = [start(broker, name, partition=1) for name in ("x", "a", "b", "c")]
        waiting.append(start(broker, "d", partition=1))
        answers = [places(await one) for one in waiting]
        assert answers == [[(1, 0, False)], [(0, 0, True)], [(1, 1, False)], [(1, 2, False)], [(1, 3, False)]]


async def test_too_much_behind_a_batch_that_waits_is_refused(scene, monkeypatch):
    monkeypatch.setattr("goqueue.engine.partition.HELD_BYTES", 300)
    async with scene.with_topic() as broker:
        start(broker, "a")
        waiting = [start(broker, "a", partition=1)] + [start(broker, str(n), partition=1) for n in range(20)]
        answers = [await one for one in waiting]
        assert places(answers[0]) == [(0, 0, True)]
        assert isinstance(answers[-1], StorageBusy)
        assert places(await send(broker, "19", partition=1)) == [(1, len(ids_in(broker, 1)) - 1, False)]


async def test_the_caller_who_goes_away_leaves_an_id_that_is_known(scene):
    async with scene.with_topic() as broker:
        task = asyncio.create_task(publish_and_wait(broker, request(["a"])))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert places(await send(broker, "a")) == [(0, 0, True)]
