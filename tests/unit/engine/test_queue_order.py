"""Which records a poll gives: within its limits, in the order of keys, of all lanes, and none twice."""

import asyncio

import pytest

from goqueue import codec
from goqueue.core.groups.decisions.committing import OffsetAndMetadata
from goqueue.engine.groups import commit_offsets
from goqueue.engine.poll import reach
from goqueue.engine.queue import settle
from goqueue.errors import InvalidRequest
from goqueue.model.record import Record
from tests.unit.engine.queue_scene import (
    GROUP,
    LOG,
    TOPIC,
    lease,
    made_topic,
    published,
    still_waiting,
    take,
    values,
)


def keyed(*pairs):
    return [Record(value=value, key=key) for key, value in pairs]


async def test_polls_at_the_same_time_give_every_record_once(open_broker):
    async with open_broker() as broker:
        await made_topic(broker, partitions=3)
        for partition in range(3):
            await published(
                broker, *[Record(value=b"%d-%d" % (partition, number)) for number in range(200)], partition=partition
            )
        found = []
        while True:
            polls = [take(broker, 7, consumer=f"{number}") for number in range(20)]
            some = [value for taken in await asyncio.gather(*polls) for value in values(taken)]
            if not some:
                break
            found += some
        assert len(found) == len(set(found)) == 600


async def test_polls_of_one_consumer_at_the_same_time_keep_its_limit_in_flight(open_broker):
    async with open_broker() as broker:
        await made_topic(broker, partitions=2)
        for partition in range(2):
            await published(broker, *[Record(value=b"x")] * 900, partition=partition)
        polls = [take(broker, 700) for _ in range(5)]
        taken = [part for some in await asyncio.gather(*polls) for part in some]
        assert sum(codec.scan(part.records).count for part in taken) == 1000
        (other, *_) = await take(broker, consumer="other")
        assert values([other]) == [b"x"] * 100
        await settle.acknowledge(broker, lease(taken[0]))
        assert 0 < len(values(await take(broker, 1000))) <= 700


async def test_the_bytes_of_a_poll_are_bounded_but_one_record_always_comes(open_broker):
    async with open_broker() as broker:
        await made_topic(broker, *[bytes(1000)] * 10)
        assert len(values(await take(broker, max_bytes=3500))) in (3, 4)
        assert len(values(await take(broker, max_bytes=1))) == 1
        assert len(values(await take(broker))) in (5, 6)


async def test_mixed_priorities_lose_nothing_however_small_the_polls(open_broker):
    async with open_broker() as broker:
        await made_topic(broker)
        records = [Record(value=b"%d" % number, priority=number * 7 % 5) for number in range(100)]
        await published(broker, *records)
        found = []
        while taken := await take(broker, 3, max_bytes=100):
            found += values(taken)
            await settle.acknowledge(broker, lease(*taken))
        assert sorted(found, key=int) == [record.value for record in records]
        assert broker.queues.get(GROUP, LOG).delivery.floor == 100


# The order of keys.


async def test_of_a_key_one_is_under_way_and_others_flow_past_it(open_broker):
    async with open_broker() as broker:
        await made_topic(broker)
        await published(broker, *keyed(*[(b"a", b"a%d" % number) for number in range(50)], (b"b", b"b0"), (None, b"-")))
        first = await take(broker, in_key_order=True, limit=1)
        second = await take(broker, in_key_order=True, limit=1)
        third = await take(broker, in_key_order=True, limit=1)
        assert values(first) + values(second) + values(third) == [b"a0", b"b0", b"-"]
        assert await take(broker, in_key_order=True) == []


async def test_a_poll_that_waits_is_woken_by_the_ack_of_the_record_before(open_broker):
    async with open_broker() as broker:
        await made_topic(broker)
        await published(broker, *keyed((b"a", b"a0"), (b"a", b"a1"), (b"a", b"a2")))
        (part,) = await take(broker, in_key_order=True)
        waiting = asyncio.create_task(take(broker, in_key_order=True, wait_ms=30_000))
        assert await still_waiting(waiting)
        await settle.acknowledge(broker, lease(part))
        async with asyncio.timeout(5):
            (part,) = await waiting
        assert values([part]) == [b"a1"]
        waiting = asyncio.create_task(take(broker, in_key_order=True, wait_ms=30_000))
        assert await still_waiting(waiting)
        await settle.reject(broker, lease(part))
        async with asyncio.timeout(5):
            assert values(await waiting) == [b"a2"]


async def test_a_nack_does_not_reorder_its_key_and_nor_does_a_restart(open_broker, clock):
    async with open_broker() as broker:
        await made_topic(broker, max_attempts=5)
        await published(broker, *keyed((b"a", b"a0"), (b"a", b"a1"), (b"b", b"b0"), (b"b", b"b1")))
        (part,) = await take(broker, in_key_order=True)
        assert values([part]) == [b"a0", b"b0"]
        await settle.nack(broker, lease(part, 0))
        assert await take(broker, in_key_order=True) == []
    async with open_broker() as broker:
        assert await take(broker, in_key_order=True) == []
        await settle.acknowledge(broker, lease(part, 2))
        assert values(await take(broker, in_key_order=True)) == [b"b1"]
        clock.advance_ms(1000)
        (part,) = await take(broker, in_key_order=True)
        assert values([part]) == [b"a0"]
        await settle.acknowledge(broker, lease(part))
        assert values(await take(broker, in_key_order=True)) == [b"a1"]


async def test_many_records_of_a_stuck_key_do_not_fill_the_memory(open_broker, monkeypatch):
    monkeypatch.setattr("goqueue.engine.queue.search.MOST_DEFERRED", 10)
    async with open_broker() as broker:
        await made_topic(broker)
        await published(broker, *keyed(*[(b"a", b"a%d" % number) for number in range(30)], (b"b", b"b0")))
        (part,) = await take(broker, in_key_order=True)
        assert values([part]) == [b"a0"]
        assert await take(broker, in_key_order=True) == []
        delivery = broker.queues.get(GROUP, LOG).delivery
        assert delivery.deferred_count == 10
        found = []
        for _ in range(31):
            found += values([part])
            await settle.acknowledge(broker, lease(part))
            assert delivery.deferred_count <= 10
            part = next(iter(await take(broker, 1, in_key_order=True)), None)
        assert part is None
        assert [value for value in found if value != b"b0"] == [b"a%d" % number for number in range(30)]
        assert b"b0" in found


async def test_a_group_has_one_kind_of_order_and_asking_for_another_leases_nothing(open_broker):
    async with open_broker() as broker:
        await made_topic(broker, b"one", partitions=2)
        await published(broker, Record(value=b"two"), partition=1)
        await take(broker, 1)
        with pytest.raises(InvalidRequest):
            await take(broker, in_key_order=True)
        assert sum(state.delivery.leased_count for state in broker.queues.of_group(GROUP)) == 1


# Offsets.


async def test_what_may_be_committed_never_passes_a_record_that_is_not_delivered(open_broker):
    async with open_broker() as broker:
        await made_topic(broker)
        await published(broker, *[Record(value=b"%d" % number, priority=4 - number // 2) for number in range(10)])
        seen = set()
        for _ in range(4):
            seen |= {int(value) for value in values(await take(broker, 2))}
            (at,) = reach(broker, GROUP, "worker", [LOG]).values()
            assert set(range(at)) <= seen
        await commit_offsets(broker, GROUP, {LOG: OffsetAndMetadata(at)}, None, None)
        rest = values(await take(broker))
        assert seen | {int(value) for value in rest} == set(range(10))


async def test_a_commit_behind_what_is_done_delivers_that_again_and_forgets_the_leases(open_broker):
    async with open_broker() as broker:
        await made_topic(broker, b"one", b"two", b"three")
        (part,) = await take(broker)
        await settle.acknowledge(broker, lease(part, 0, 1))
        await commit_offsets(broker, GROUP, {LOG: OffsetAndMetadata(0)}, None, None)
        assert values(await take(broker)) == [b"one", b"two", b"three"]
        assert broker.partition(TOPIC, 0).high_watermark == 3
