"""Groups at work: consumers share topics, go on where they were, and can be looked at and told where to go."""

import asyncio
import time

from goqueue.model.log import LogId
from tests.behaviour.path import Ability, Out
from tests.behaviour.paths import between_paths, over, refused

over_consuming = over(Ability.TOPICS, Ability.RECORDS, Ability.GROUPS, Ability.CONSUMING)
over_groups = over(Ability.TOPICS, Ability.RECORDS, Ability.GROUPS)


async def fill(path, topic, count, partitions=3):
    records = [Out(b"%d" % number, partition=number % partitions) for number in range(count)]
    await path.publish(topic, records)


async def take(consumer, count, *, within_s=10):
    """Poll until there are so many."""
    found = []
    async with asyncio.timeout(within_s):
        while len(found) < count:
            found += await consumer.poll(wait_ms=500)
    assert len(found) == count
    return found


async def until(holds, within_s=10):
    async with asyncio.timeout(within_s):
        while not await holds():
            await asyncio.sleep(0.02)


@over_consuming
async def test_a_group_reads_everything_once_and_in_order(path, topic):
    await fill(path, topic, 60)
    async with path.consumer(topic, topic) as consumer:
        found = await take(consumer, 60)
        assert await consumer.poll(wait_ms=0) == []
    for partition in range(3):
        values = [one.value for one in found if one.partition == partition]
        assert values == [b"%d" % number for number in range(partition, 60, 3)]


@over_consuming
async def test_a_group_reads_all_its_topics_and_the_limit_is_for_all_together(path, name):
    topics = [f"{name}-{number}" for number in range(3)]
    for topic in topics:
        await path.create_topic(topic, 2)
        await fill(path, topic, 20, 2)
    async with path.consumer(name, *topics) as consumer:
        found = []
        async with asyncio.timeout(10):
            while len(found) < 60:
                some = await consumer.poll(wait_ms=500, limit=7)
                assert len(some) <= 7
                found += some
    assert {one.topic for one in found} == set(topics)
    assert len({(one.topic, one.partition, one.offset) for one in found}) == 60


@over_consuming
async def test_every_partition_gets_its_turn_however_much_is_in_the_first(path, topic):
    for partition in range(3):
        await path.publish(topic, [Out(bytes(1000), partition=partition)] * 1500)
    async with path.consumer(topic, topic) as consumer:
        reached = set()
        for _ in range(28):
            reached |= {one.partition for one in await consumer.poll(wait_ms=500, limit=100)}
    assert reached == {0, 1, 2}


@over_consuming
async def test_a_group_goes_on_where_it_committed_and_another_group_begins_at_the_start(path, topic):
    await fill(path, topic, 30)
    async with path.consumer(topic, topic) as consumer:
        first = await consumer.poll(wait_ms=5000, limit=10)
        await consumer.commit()
        assert await consumer.poll(wait_ms=5000, limit=5) != []
    async with path.consumer(topic, topic) as consumer:
        rest = await take(consumer, 30 - len(first))
    assert {one.value for one in first} | {one.value for one in rest} == {b"%d" % number for number in range(30)}
    async with path.consumer(f"{topic}-other", topic) as consumer:
        await take(consumer, 30)


@over_consuming
async def test_two_consumers_share_the_partitions_and_no_record_goes_to_both(path, topic):
    async with path.consumer(topic, topic) as first, path.consumer(topic, topic) as second:

        async def shared():
            shares = [await first.assigned(), await second.assigned()]
            await asyncio.gather(first.poll(wait_ms=0), second.poll(wait_ms=0))
            return all(shares) and len(frozenset.union(*shares)) == 3 and not frozenset.intersection(*shares)

        await until(shared)
        await fill(path, topic, 90)
        found = []
        async with asyncio.timeout(10):
            while len(found) < 90:
                found += [one for some in await asyncio.gather(first.poll(), second.poll()) for one in some]
    assert sorted(int(one.value) for one in found) == list(range(90))


@over_consuming
async def test_a_long_poll_ends_at_once_when_a_record_arrives(path, topic):
    async with path.consumer(topic, topic) as consumer:
        assert await consumer.poll(wait_ms=0) == []
        waiting = asyncio.create_task(consumer.poll(wait_ms=30_000))
        done, _ = await asyncio.wait([waiting], timeout=0.3)
        assert not done
        began = time.monotonic()
        await path.publish(topic, [Out(b"news", partition=1)])
        (found,) = await waiting
    assert found.value == b"news"
    assert time.monotonic() - began < 3


@over_consuming
async def test_a_poll_without_news_ends_when_its_time_is_up(path, topic):
    async with path.consumer(topic, topic) as consumer:
        await consumer.poll(wait_ms=0)
        began = time.monotonic()
        assert await consumer.poll(wait_ms=400) == []
    assert 0.35 <= time.monotonic() - began < 5


@over_consuming
async def test_a_paused_group_gets_nothing_and_goes_on_when_it_is_resumed(path, topic):
    async with path.consumer(topic, topic, session_ms=900) as consumer:
        await path.pause_group(topic, paused=True)
        assert (await path.group(topic)).paused

        async def is_quiet():
            await fill(path, topic, 1)
            return await consumer.poll(wait_ms=200) == []

        await until(is_quiet)
        await path.pause_group(topic, paused=False)
        assert await consumer.poll(wait_ms=10_000) != []


@between_paths(Ability.TOPICS, Ability.RECORDS, Ability.GROUPS, Ability.CONSUMING)
async def test_consumers_on_different_paths_are_members_of_one_group(path, other, topic):
    await fill(path, topic, 30)
    async with path.consumer(topic, topic) as consumer:
        found = await consumer.poll(wait_ms=5000, limit=12)
        await consumer.commit()
    async with other.consumer(topic, topic) as consumer:
        found += await take(consumer, 30 - len(found))
        await consumer.commit()
    assert sorted(int(one.value) for one in found) == list(range(30))
    assert await path.committed(topic) == await other.committed(topic) == {LogId(topic, n): 10 for n in range(3)}


@over_consuming
async def test_a_group_shows_its_members_and_how_far_each_partition_is_behind(path, topic):
    await fill(path, topic, 30)
    async with path.consumer(topic, topic) as consumer:
        facts = await path.group(topic)
        assert facts.state == "Stable"
        assert list(facts.members.values()) == [frozenset(LogId(topic, number) for number in range(3))]
        assert facts.lag == {LogId(topic, number): 10 for number in range(3)}
        await take(consumer, 30)
        await consumer.commit()
        assert (await path.group(topic)).lag == {LogId(topic, number): 0 for number in range(3)}
    assert topic in await path.groups()
    facts = await path.group(topic)
    assert (facts.state, facts.members) == ("Empty", {})


@over_groups
async def test_a_group_can_be_told_where_to_go_on(path, topic):
    await fill(path, topic, 30)
    middle = (await path.read(topic, 0, 5, 1))[0].timestamp_ns
    await path.publish(topic, [Out(b"late", partition=0)])
    late = (await path.read(topic, 0, 10, 1))[0].timestamp_ns
    first = {LogId(topic, number): 0 for number in range(3)}
    last = {LogId(topic, 0): 11, LogId(topic, 1): 10, LogId(topic, 2): 10}
    for to, value, expected in (
        ("latest", None, last),
        ("earliest", None, first),
        ("offset", 4, dict.fromkeys(first, 4)),
        ("offset", 10_000, last),
        ("timestamp", late, last | {LogId(topic, 0): 10}),
        ("timestamp", middle - 10**18, first),
    ):
        before = await path.committed(topic)
        assert await path.reset(topic, to, value, topics=[topic], dry_run=True) == expected
        assert await path.committed(topic) == before
        assert await path.reset(topic, to, value, topics=[topic]) == expected
        assert await path.committed(topic) == expected


@over_groups
async def test_what_cannot_be_reset_is_refused(path, topic):
    with refused("unknown_topic"):
        await path.reset(topic, "earliest", topics=[f"{topic}-more"])
    with refused("invalid_request"):
        await path.reset(topic, "offset", topics=[topic])
    with refused("invalid_request"):
        await path.reset("not a name", "earliest", topics=[topic])


@over_consuming
async def test_a_group_with_members_is_neither_reset_nor_deleted(path, topic):
    async with path.consumer(topic, topic):
        with refused("group_not_empty"):
            await path.reset(topic, "earliest", topics=[topic])
        with refused("group_not_empty"):
            await path.reset(topic, "earliest", topics=[topic], dry_run=True)
        with refused("group_not_empty"):
            await path.delete_group(topic)
    await path.reset(topic, "latest", topics=[topic])
    await path.delete_group(topic)
    assert topic not in await path.groups()
    assert await path.committed(topic) == {}


@over_groups
async def test_an_unknown_group_is_called_so(path, name):
    with refused("unknown_group"):
        await path.group(name)
    with refused("unknown_group"):
        await path.delete_group(name)
    with refused("unknown_group"):
        await path.pause_group(name, paused=True)
    assert await path.committed(name) == {}


@over_consuming
async def test_offsets_of_a_deleted_topic_are_forgotten(path, topic):
    await fill(path, topic, 3)
    async with path.consumer(topic, topic) as consumer:
        await take(consumer, 3)
        await consumer.commit()
    await path.delete_topic(topic)
    assert await path.committed(topic) == {}
    await path.create_topic(topic)
    await fill(path, topic, 3)
    async with path.consumer(topic, topic) as consumer:
        await take(consumer, 3)
