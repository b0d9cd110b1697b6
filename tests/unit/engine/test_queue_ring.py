"""Topics with many partitions: a take looks where something may be, and nothing that comes is overlooked."""

import asyncio
from contextlib import suppress

import pytest

from goqueue import codec
from goqueue.core.delivery.delivery import Delivery
from goqueue.engine.firing import fire_due
from goqueue.engine.groups import delete_group
from goqueue.engine.poll import Poll, poll
from goqueue.engine.queue import settle
from goqueue.engine.queue.positions import go_to
from goqueue.engine.queue.take import _Taking
from goqueue.engine.topics import create_topic, delete_topic
from goqueue.errors import UnknownTopic
from goqueue.model.log import LogId
from goqueue.model.record import Record
from goqueue.model.topic import TopicConfig
from tests.unit.engine.queue_scene import GROUP, TOPIC, lease, published, steps, still_waiting, take, values

MANY = 40


@pytest.fixture(params=[3, MANY], ids=["few", "many"])
async def broker(request, open_broker):
    """With a topic that has nothing for the group, which has looked at all of it."""
    async with open_broker() as broker:
        await create_topic(broker, TOPIC, request.param, TopicConfig())
        assert await take(broker) == []
        assert await take(broker) == []
        yield broker


def looks(monkeypatch):
    """The partitions that are asked whether something is ready, from now on."""
    asked = []
    has_ready = Delivery.has_ready

    def noted(self, *arguments, **options):
        asked.append(self)
        return has_ready(self, *arguments, **options)

    monkeypatch.setattr(Delivery, "has_ready", noted)
    return asked


async def test_only_partitions_that_may_have_something_are_looked_at(open_broker, monkeypatch):
    async with open_broker() as broker:
        await create_topic(broker, TOPIC, MANY, TopicConfig())
        assert await take(broker) == []
        assert await take(broker) == []
        await published(broker, Record(value=b"one"), partition=7)
        asked = looks(monkeypatch)
        (part,) = await take(broker)
        assert (part.log.partition, len(asked)) == (7, 1)
        await settle.acknowledge(broker, lease(part))
        assert await take(broker) == []
        asked.clear()
        assert await take(broker) == []
        assert asked == []


async def test_all_partitions_have_their_turn(broker):
    count = len(broker.partitions(TOPIC))
    for number in range(count):
        await published(broker, *[Record(value=b"%d" % number)] * 3, partition=number)
    first = [(await take(broker, 1))[0].log.partition for _ in range(count)]
    assert sorted(first) == list(range(count))
    second = [(await take(broker, 1))[0].log.partition for _ in range(count)]
    assert sorted(second) == list(range(count))


async def test_a_take_goes_on_to_other_partitions_until_it_has_enough(broker):
    for number in range(3):
        await published(broker, *[Record(value=b"x")] * 2, partition=number)
    assert sum(part.number for part in await take(broker, 5)) == 5
    assert sum(part.number for part in await take(broker, 5)) == 1


async def taken_once(broker):
    await published(broker, Record(value=b"one"), partition=2)
    (part,) = await take(broker)
    assert await take(broker) == []
    return part


async def test_what_is_given_back_is_found(broker):
    await settle.give_back(broker, lease(await taken_once(broker)))
    assert values(await take(broker)) == [b"one"]


async def test_what_is_given_back_is_found_though_nobody_waited_to_hear_of_it(broker):
    part = await taken_once(broker)
    state = broker.queues.get(GROUP, LogId(TOPIC, 2))
    giving = asyncio.ensure_future(settle.give_back(broker, lease(part)))
    while state.delivery.leased_count:
        if state.lock.locked():
            giving.cancel()
        await asyncio.sleep(0)
    with suppress(asyncio.CancelledError):
        await giving
    assert values(await take(broker)) == [b"one"]


async def test_what_failed_is_found_when_its_pause_is_over(broker, clock):
    await settle.nack(broker, lease(await taken_once(broker)), pause_ms=1000)
    assert await take(broker) == []
    clock.advance_ms(999)
    assert await take(broker) == []
    clock.advance_ms(1)
    assert values(await take(broker)) == [b"one"]


async def test_what_is_overdue_is_found(broker, clock):
    await taken_once(broker)
    clock.advance_ms(30_000)
    assert await settle.return_overdue(broker) == 1
    assert values(await take(broker)) == [b"one"]


async def test_what_a_group_goes_back_to_is_found(broker):
    await settle.acknowledge(broker, lease(await taken_once(broker)))
    assert await take(broker) == []
    await go_to(broker, GROUP, LogId(TOPIC, 2), 0)
    assert values(await take(broker)) == [b"one"]


async def test_the_next_one_of_a_key_is_found(broker):
    await published(broker, Record(value=b"1", key=b"k"), Record(value=b"2", key=b"k"), partition=2)
    keyed = {"group": "keyed", "in_key_order": True}
    (part,) = await take(broker, **keyed)
    assert await take(broker, **keyed) == []
    assert await take(broker, **keyed) == []
    await settle.acknowledge(broker, lease(part, group="keyed"))
    assert values(await take(broker, **keyed)) == [b"2"]


async def delayed(broker, clock, value, delay_ms):
    partition = broker.partition(TOPIC, 2)
    reply = asyncio.get_running_loop().create_future()
    batch = bytearray(codec.encode([Record(value=value)]))
    due = clock.now_ns() + delay_ms * 1_000_000
    partition.append(batch, reply.set_result, durable=True, dues=[due])
    assert await reply is None


async def test_a_waiting_take_is_woken_by_each_of_these(broker, clock):
    part = await taken_once(broker)
    waiting = asyncio.create_task(take(broker, consumer="other", wait_ms=30_000))
    assert await still_waiting(waiting)
    await settle.give_back(broker, lease(part))
    async with asyncio.timeout(5):
        (again,) = await waiting
    waiting = asyncio.create_task(take(broker, consumer="other", wait_ms=30_000))
    assert await still_waiting(waiting)
    await published(broker, Record(value=b"two"), partition=1)
    async with asyncio.timeout(5):
        assert values(await waiting) == [b"two"]
    await settle.acknowledge(broker, lease(again))


def rounds(monkeypatch):
    """Who looks from now on."""
    seen = []
    run = _Taking.run

    async def noted(self, source):
        seen.append(self._request.consumer)
        return await run(self, source)

    monkeypatch.setattr(_Taking, "run", noted)
    return seen


async def waiters(broker, count, limit=100):
    """Consumers who wait, the first for longest."""
    tasks = []
    for number in range(count):
        tasks.append(asyncio.create_task(take(broker, limit, consumer=f"{number}", wait_ms=30_000)))
        await steps(5)
    assert await still_waiting(tasks[-1])
    return tasks


async def test_of_those_who_wait_for_a_record_one_looks(broker, monkeypatch):
    waiting = await waiters(broker, 5)
    seen = rounds(monkeypatch)
    await published(broker, Record(value=b"one"), partition=1)
    async with asyncio.timeout(5):
        assert values(await waiting[0]) == [b"one"]
    await steps(10)
    assert seen == ["0"]
    await published(broker, Record(value=b"two"), partition=2)
    async with asyncio.timeout(5):
        assert values(await waiting[1]) == [b"two"]
    for task in waiting:
        task.cancel()
    await asyncio.wait(waiting)


async def test_what_is_more_than_one_may_have_goes_to_the_others_who_wait(broker):
    waiting = await waiters(broker, 5, limit=10)
    await published(broker, *[Record(value=b"%d" % number) for number in range(45)], partition=1)
    async with asyncio.timeout(5):
        found = [values(await task) for task in waiting]
    assert sorted(map(len, found)) == [5, 10, 10, 10, 10]


async def test_one_who_is_called_and_goes_away_calls_the_next(broker):
    waiting = await waiters(broker, 2)
    await published(broker, Record(value=b"one"), partition=1)
    waiting[0].cancel()
    async with asyncio.timeout(5):
        with suppress(asyncio.CancelledError):
            taken = values(await waiting[0])
            assert taken == [b"one"]
            waiting[1].cancel()
            return
        assert values(await waiting[1]) == [b"one"]


async def test_one_who_has_all_it_may_have_leaves_it_to_the_next(broker):
    await published(broker, *[Record(value=b"x")] * 1000, partition=0)
    assert sum(part.number for part in await take(broker, 1000, consumer="0")) == 1000
    waiting = await waiters(broker, 2)
    await published(broker, Record(value=b"one"), partition=1)
    async with asyncio.timeout(5):
        assert values(await waiting[1]) == [b"one"]
    waiting[0].cancel()
    await asyncio.wait(waiting)


async def test_those_who_wait_rest_though_one_of_them_has_all_it_may_have(broker, monkeypatch):
    await published(broker, *[Record(value=b"x")] * 1000, partition=0)
    await take(broker, 1000, consumer="0")
    waiting = await waiters(broker, 3)
    seen = rounds(monkeypatch)
    assert await still_waiting(waiting[0])
    assert seen == []
    for task in waiting:
        task.cancel()
    await asyncio.wait(waiting)


async def test_nothing_is_left_behind_when_a_group_is_deleted(broker):
    await taken_once(broker)
    waiting = (await waiters(broker, 1))[0]
    waiting.cancel()
    await asyncio.wait([waiting])
    await delete_group(broker, GROUP)
    assert all(partition._watchers == set() for partition in broker.partitions(TOPIC))
    assert not broker.rings._rings
    assert not broker.queues._in_flight
    assert values(await take(broker)) == [b"one"]


async def test_one_who_waits_hears_that_the_topic_was_deleted_and_is_not_given_the_next_of_its_name(broker):
    waiting = (await waiters(broker, 1))[0]
    await delete_topic(broker, TOPIC)
    await create_topic(broker, TOPIC, MANY, TopicConfig())
    async with asyncio.timeout(5):
        with pytest.raises(UnknownTopic):
            await waiting


async def test_topics_that_are_taken_from_together_have_their_turns(broker):
    await create_topic(broker, "other", 2, TopicConfig())
    for number in range(2):
        await published(broker, *[Record(value=b"orders")] * 4, partition=number)
        reply = asyncio.get_running_loop().create_future()
        batch = bytearray(codec.encode([Record(value=b"other")] * 4))
        broker.partition("other", number).append(batch, reply.set_result, durable=True)
        await reply
    found = []
    for _ in range(16):
        found += values(await poll(broker, Poll(GROUP, "worker", None, (TOPIC, "other"), 1, wait_ms=0)))
    assert sorted(found) == [b"orders"] * 8 + [b"other"] * 8
    assert {b"orders", b"other"} == set(found[:4])


async def test_what_falls_due_is_found(broker, clock):
    await delayed(broker, clock, b"later", 1000)
    assert await take(broker) == []
    assert await take(broker) == []
    clock.advance_ms(1000)
    await fire_due(broker)
    assert values(await take(broker)) == [b"later"]
