"""What is counted where time decides, and what is not counted."""

import asyncio

import pytest

from goqueue.engine.firing import fire_due
from goqueue.engine.group_load import group_loads
from goqueue.engine.groups import delete_group
from goqueue.engine.publish import PublishBatch, publish_and_wait
from goqueue.engine.queue.settle import acknowledge, return_overdue
from goqueue.engine.topics import delete_topic
from goqueue.errors import DiskFull, UnknownTopic
from goqueue.model.expiry import with_expiry
from goqueue.model.record import Record
from goqueue.model.topic import Expired, topic_name
from tests.unit.engine.queue_scene import GROUP, TOPIC, lease, made_topic, published, take
from tests.unit.engine.support import encoded


@pytest.fixture
async def broker(open_broker):
    async with open_broker() as opened:
        yield opened


@pytest.mark.parametrize("expired", list(Expired))
async def test_records_that_came_too_late_count_as_expired_and_not_as_delivered(broker, clock, expired):
    await made_topic(broker, b"good", expired=expired)
    await published(broker, with_expiry(Record(value=b"old"), clock.now_ns() + 1_000_000))
    clock.advance_ms(2)
    await take(broker)
    tally = broker.tally.of(TOPIC)
    assert (tally.expired, tally.delivered, tally.acked) == (1, 1, 0)
    assert tally.dead_lettered == (1 if expired is Expired.DEAD_LETTER else 0)


async def test_a_lease_that_runs_out_counts_as_timed_out_and_the_next_delivery_as_another(broker, clock):
    await made_topic(broker, b"slow")
    await take(broker, visibility_ms=100)
    clock.advance_ms(101)
    await return_overdue(broker)
    (again,) = await take(broker)
    await acknowledge(broker, lease(again))
    tally = broker.tally.of(TOPIC)
    assert (tally.delivered, tally.timed_out, tally.nacked, tally.acked) == (2, 1, 0, 1)


async def test_delayed_records_count_when_they_fall_due(broker, clock):
    await made_topic(broker)
    due = clock.now_ns() + 1_000_000
    await publish_and_wait(broker, PublishBatch(TOPIC, 0, encoded(b"a", b"b"), dues=[due, due]))
    clock.advance_ms(2)
    await fire_due(broker)
    assert broker.tally.of(TOPIC).fired == 2


async def test_a_batch_that_is_refused_counts_with_all_its_records(broker):
    await made_topic(broker)
    broker.guard.update(0.99)
    with pytest.raises(DiskFull):
        await publish_and_wait(broker, PublishBatch(TOPIC, 0, encoded(b"a", b"b", b"c")))
    assert broker.tally.of(TOPIC).refused == {"disk_full": 3}
    assert broker.tally.of(TOPIC).published_records == 0


async def test_names_that_somebody_made_up_are_not_kept(broker):
    with pytest.raises(UnknownTopic):
        await publish_and_wait(broker, PublishBatch(topic_name("nowhere"), 0, encoded(b"a")))
    assert list(broker.tally) == []


async def test_counts_outlive_a_group_and_go_with_their_topic(broker):
    await made_topic(broker, b"a")
    (part,) = await take(broker)
    await acknowledge(broker, lease(part))
    await delete_group(broker, GROUP)
    assert broker.tally.of(TOPIC).acked == 1
    await delete_topic(broker, TOPIC)
    await made_topic(broker, b"b")
    assert broker.tally.of(TOPIC).acked == 0
    assert broker.tally.of(TOPIC).published_records == 1


async def test_the_load_of_a_group_is_what_it_has_before_it(broker):
    await made_topic(broker, *(b"%d" % number for number in range(5)))
    await published(broker, Record(value=b"first", priority=0))
    (part,) = await take(broker, limit=2)
    (load,) = [one async for one in group_loads(broker)]
    assert (load.group, load.topic, load.lag, load.in_flight) == (GROUP, TOPIC, 6, 2)
    assert sum(load.ready) == 4
    load.find_heads(broker.clock.now_ns())
    assert [offset for _, offset in load.heads] == [1]
    await acknowledge(broker, lease(part))
    (load,) = [one async for one in group_loads(broker)]
    assert (load.in_flight, load.settled) == (0, 2)


async def test_others_have_their_turn_while_the_load_of_many_groups_is_looked_up(broker):
    await made_topic(broker, b"a", partitions=100)
    for number in range(50):
        await take(broker, group=f"group-{number}")
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.ensure_future(other())
    assert len([one async for one in group_loads(broker)]) == 50
    task.cancel()
    assert turns >= 4
