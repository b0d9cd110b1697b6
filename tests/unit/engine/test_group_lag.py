"""How far groups are behind: every partition counts of what they read, and in the queue only what is left to do."""

import asyncio

import pytest

from goqueue.core.groups.decisions.committing import OffsetAndMetadata
from goqueue.engine.delays import cancel_delay
from goqueue.engine.firing import fire_due
from goqueue.engine.group_load import group_loads
from goqueue.engine.group_views import group_summaries
from goqueue.engine.groups import JoinRequest, commit_offsets, join_group, lag_of, leave_group
from goqueue.engine.publish import PublishBatch, publish_and_wait
from goqueue.engine.queue.settle import acknowledge, nack
from goqueue.engine.topics import create_topic
from goqueue.model.log import LogId
from goqueue.model.record import Record
from goqueue.model.topic import TopicConfig, topic_name
from tests.unit.engine.queue_scene import GROUP, TOPIC, lease, made_topic, published, take
from tests.unit.engine.support import encoded

HOUR_NS = 3_600_000_000_000


@pytest.fixture
async def broker(open_broker):
    async with open_broker() as opened:
        yield opened


async def figures(broker, group=GROUP):
    """Lag and delayed records, which the description, the list and the metrics have to tell alike."""
    lags = lag_of(broker, broker.groups.group(group))
    described = (sum(one.lag for one in lags), sum(one.delayed for one in lags))
    (listed,) = [(one.lag, one.delayed) async for one in group_summaries(broker) if one.name == group]
    loads = [one async for one in group_loads(broker) if one.group == group]
    watched = (sum(one.lag for one in loads), sum(one.delayed for one in loads))
    assert described == listed == watched
    return described


async def commit(broker, offsets, group=GROUP):
    wanted = {LogId(TOPIC, number): OffsetAndMetadata(offset) for number, offset in offsets.items()}
    await commit_offsets(broker, group, wanted, None, None)


async def delayed(broker, *values, partition=0, for_ns=HOUR_NS):
    due = broker.clock.now_ns() + for_ns
    batch = PublishBatch(TOPIC, partition, encoded(*values), dues=[due] * len(values))
    return await publish_and_wait(broker, batch)


async def ready_count(broker):
    (load,) = [one async for one in group_loads(broker)]
    return sum(load.ready)


async def test_the_partitions_that_a_queue_has_not_touched_count_in_its_lag(broker):
    await made_topic(broker, partitions=6)
    for number, count in enumerate([134, 134, 133, 133, 133, 133]):
        await published(broker, *[Record(value=b"x")] * count, partition=number)
    (part,) = await take(broker, limit=60)
    await acknowledge(broker, lease(part))
    assert await figures(broker) == (740, 0)
    assert await ready_count(broker) == 740


async def test_the_partitions_that_a_queue_has_not_touched_count_after_a_restart(open_broker):
    async with open_broker() as broker:
        await made_topic(broker, *[b"x"] * 10, partitions=2)
        await published(broker, *[Record(value=b"x")] * 10, partition=1)
        (part,) = await take(broker, limit=4)
        await acknowledge(broker, lease(part))
    async with open_broker() as broker:
        assert await figures(broker) == (16, 0)


async def test_the_partitions_in_which_a_group_never_committed_count_from_their_beginning(broker):
    await made_topic(broker, *[b"x"] * 10, partitions=3)
    await published(broker, *[Record(value=b"x")] * 5, partition=2)
    await commit(broker, {0: 7})
    assert await figures(broker) == (8, 0)
    found = {one.partition.partition: (one.committed, one.lag) for one in lag_of(broker, broker.groups.group(GROUP))}
    assert found == {0: (7, 3), 1: (None, 0), 2: (None, 5)}


async def test_a_group_with_members_is_behind_in_what_they_subscribe_to_also_by_pattern(broker):
    await made_topic(broker, *[b"x"] * 3, partitions=2)
    await create_topic(broker, topic_name("orders-eu"), 2, TopicConfig())
    await create_topic(broker, topic_name("returns"), 1, TopicConfig())
    await publish_and_wait(broker, PublishBatch(topic_name("orders-eu"), 1, encoded(b"a", b"b")))
    await publish_and_wait(broker, PublishBatch(topic_name("returns"), 0, encoded(b"a")))
    member = await join_group(broker, GROUP, JoinRequest("one", pattern="orders.*"))
    assert await figures(broker) == (5, 0)
    offsets = {LogId(TOPIC, 0): OffsetAndMetadata(2)}
    await commit_offsets(broker, GROUP, offsets, member.member_id, member.generation)
    assert await figures(broker) == (3, 0)
    await leave_group(broker, GROUP, member.member_id)
    assert await figures(broker) == (1, 0)


async def test_a_topic_to_which_no_member_subscribes_any_more_is_no_part_of_the_lag(broker):
    await made_topic(broker, *[b"x"] * 3)
    await create_topic(broker, topic_name("returns"), 1, TopicConfig())
    await commit(broker, {0: 1})
    assert await figures(broker) == (2, 0)
    await join_group(broker, GROUP, JoinRequest("one", topics=["returns"]))
    assert await figures(broker) == (0, 0)


async def test_settled_records_behind_a_delayed_one_are_no_lag(broker, clock):
    await made_topic(broker)
    await delayed(broker, b"later")
    await published(broker, *[Record(value=b"x")] * 500)
    (part,) = await take(broker, limit=500)
    assert await figures(broker) == (500, 1)
    await acknowledge(broker, lease(part))
    assert await figures(broker) == (0, 1)
    assert await ready_count(broker) == 0
    clock.advance_ms(3_600_001)
    await fire_due(broker)
    assert await figures(broker) == (1, 0)
    assert await ready_count(broker) == 1


async def test_delayed_records_that_no_worker_has_looked_at_are_not_ready(broker):
    await made_topic(broker, b"a")
    (part,) = await take(broker)
    await acknowledge(broker, lease(part))
    await delayed(broker, b"later", b"later still")
    await published(broker, Record(value=b"b"))
    assert await figures(broker) == (1, 2)
    (load,) = [one async for one in group_loads(broker)]
    load.find_heads(broker.clock.now_ns())
    assert (sum(load.ready), [offset for _, offset in load.heads]) == (1, [3])


async def test_retrying_and_leased_records_are_lag_until_they_are_settled(broker):
    await made_topic(broker, b"a", b"b", b"c", b"d")
    (part,) = await take(broker, limit=3)
    await nack(broker, lease(part, 0), pause_ms=60_000)
    await acknowledge(broker, lease(part, 1))
    assert await figures(broker) == (3, 0)


async def test_cancelled_records_are_neither_lag_nor_delayed(broker):
    await made_topic(broker)
    reply = await delayed(broker, b"later", b"later still")
    await published(broker, Record(value=b"now"))
    (part,) = await take(broker)
    assert await figures(broker) == (1, 2)
    await cancel_delay(broker, TOPIC, 0, reply.base_offset)
    assert await figures(broker) == (1, 1)
    await acknowledge(broker, lease(part))
    assert await figures(broker) == (0, 1)


async def test_a_group_that_begins_at_a_committed_offset_counts_from_there_before_its_first_take(broker):
    await made_topic(broker, *[b"x"] * 10, partitions=2)
    await published(broker, *[Record(value=b"x")] * 10, partition=1)
    await commit(broker, {1: 8})
    (part,) = await take(broker, limit=1)
    await acknowledge(broker, lease(part))
    assert (await figures(broker))[0] == 11


async def test_the_list_of_groups_lets_others_have_their_turn(broker):
    await made_topic(broker, b"a", partitions=2000)
    await asyncio.gather(*[commit(broker, {number: 0}, f"group-{number}") for number in range(20)])
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.ensure_future(other())
    found = [one async for one in group_summaries(broker)]
    task.cancel()
    assert {(one.lag, one.delayed) for one in found} == {(1, 0)}
    assert turns >= 4
