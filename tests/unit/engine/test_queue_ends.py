"""Queues whose consumers, groups, topics or records go away while something is under way."""

import asyncio

import pytest

from goqueue.engine.groups import delete_group
from goqueue.engine.queue import settle
from goqueue.engine.topics import delete_topic
from goqueue.errors import InvalidRequest, UnknownReceipt, UnknownTopic
from goqueue.model.record import Record
from goqueue.model.topic import Cleanup, topic_name
from tests.unit.engine.queue_scene import (
    GROUP,
    LOG,
    TOPIC,
    lease,
    made_topic,
    published,
    steps,
    still_waiting,
    take,
    values,
)
from tests.unit.engine.test_maintenance import maintenance_of

# A caller that goes away.


@pytest.mark.parametrize("after", range(0, 40, 2))
async def test_what_was_leased_to_a_caller_that_went_away_is_there_for_others_at_once(open_broker, after):
    async with open_broker() as broker:
        await made_topic(broker, b"one", b"two", partitions=2)
        await published(broker, Record(value=b"three"), partition=1)
        taking = asyncio.create_task(take(broker, consumer="gone"))
        await steps(after)
        taking.cancel()
        await asyncio.wait([taking])
        got = [] if taking.cancelled() else values(taking.result())
        await broker.queues.drain()
        found = await take(broker, consumer="other")
        assert sorted(got + values(found)) == [b"one", b"three", b"two"]
        assert all(one.failures == 0 for part in found for one in part.attempts.values())


async def test_a_caller_that_goes_away_while_its_lease_is_synced_gives_it_back(open_broker):
    async with open_broker() as broker:
        await made_topic(broker, b"one")
        taking = asyncio.create_task(take(broker, consumer="gone"))
        while not (state := broker.queues.get(GROUP, LOG)) or not state.delivery.leased_count:
            await asyncio.sleep(0)
        taking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await taking
        async with asyncio.timeout(5):
            (part,) = await take(broker, consumer="other", wait_ms=5000)
        assert part.attempts[0][:2] == (2, 0)


async def test_a_broker_that_stops_waits_until_all_is_given_back(open_broker):
    async with open_broker() as broker:
        await made_topic(broker, b"one")
        taking = asyncio.create_task(take(broker, consumer="gone"))
        while not (state := broker.queues.get(GROUP, LOG)) or not state.delivery.leased_count:
            await asyncio.sleep(0)
        taking.cancel()
        await asyncio.wait([taking])
    async with open_broker() as broker:
        assert values(await take(broker)) == [b"one"]


async def test_waiters_leave_nothing_behind(open_broker):
    async with open_broker() as broker:
        await made_topic(broker)
        waiting = [asyncio.create_task(take(broker, consumer=f"{number}", wait_ms=30_000)) for number in range(5)]
        await asyncio.wait(waiting, timeout=0.05)
        for task in waiting:
            task.cancel()
        await asyncio.wait(waiting)
        assert broker.queues._watchers == {}
        assert broker.partition(TOPIC, 0)._watchers == set()
        assert not broker.queues._taking
        assert not broker.queues._crowded


# A topic that goes away.


async def test_a_poll_of_a_topic_that_is_deleted_ends_with_that_news(open_broker):
    async with open_broker() as broker:
        await made_topic(broker)
        waiting = asyncio.create_task(take(broker, wait_ms=30_000))
        assert await still_waiting(waiting)
        await delete_topic(broker, TOPIC)
        async with asyncio.timeout(5):
            with pytest.raises(UnknownTopic):
                await waiting
        assert list(broker.queues) == []


async def test_a_topic_made_anew_starts_fresh_and_knows_no_receipt_of_the_old_one(open_broker, clock):
    async with open_broker() as broker:
        await made_topic(broker, b"old 1", b"old 2")
        (old,) = await take(broker, 1)
        (nacked,) = await take(broker, 1)
        await settle.nack(broker, lease(nacked), pause_ms=0)
        await delete_topic(broker, TOPIC)
        clock.advance_ms(1)
        await made_topic(broker, b"new 1", b"new 2")
        (new,) = await take(broker)
        assert (values([new]), new.attempts) == ([b"new 1", b"new 2"], {})
        for verb in (settle.acknowledge, settle.nack, settle.reject, settle.give_back):
            with pytest.raises(UnknownReceipt):
                await verb(broker, lease(old))
        assert broker.queues.get(GROUP, LOG).delivery.leased_count == 2
        await settle.acknowledge(broker, lease(new))
    async with open_broker() as broker:
        assert await take(broker) == []


@pytest.mark.parametrize("pause", range(0, 8))
async def test_whatever_is_said_while_a_topic_is_deleted_the_broker_starts_again(open_broker, clock, pause):
    async with open_broker() as broker:
        await made_topic(broker, *[b"%d" % number for number in range(8)])
        parts = [(await take(broker, 1))[0] for _ in range(5)]
        deleting = asyncio.create_task(delete_topic(broker, TOPIC))
        await steps(pause)
        said = [
            settle.acknowledge(broker, lease(parts[0])),
            settle.nack(broker, lease(parts[1])),
            settle.give_back(broker, lease(parts[2])),
            settle.extend(broker, lease(parts[3]), 1000),
            settle.reject(broker, lease(parts[4])),
            take(broker, group=GROUP),
            take(broker, group="other"),
        ]
        await asyncio.gather(*said, deleting, return_exceptions=True)
        assert deleting.exception() is None
        assert [state for state in broker.queues if state.log == LOG] == []
    async with open_broker() as broker:
        assert [state for state in broker.queues if state.log == LOG] == []
        await made_topic(broker, b"new")
        assert values(await take(broker)) == [b"new"]
        assert values(await take(broker, group="other")) == [b"new"]


# A group that goes away.


async def test_a_group_made_anew_starts_fresh_and_knows_no_receipt_of_the_old_one(open_broker, clock):
    async with open_broker() as broker:
        await made_topic(broker, b"one", b"two", b"three")
        (acked,) = await take(broker, 1)
        await settle.acknowledge(broker, lease(acked))
        (old,) = await take(broker, 1)
        await delete_group(broker, GROUP)
        with pytest.raises(UnknownReceipt):
            await settle.acknowledge(broker, lease(old))
        clock.advance_ms(1)
        (new,) = await take(broker)
        assert (values([new]), new.attempts) == ([b"one", b"two", b"three"], {})
        with pytest.raises(UnknownReceipt):
            await settle.acknowledge(broker, lease(old))
    async with open_broker() as broker:
        await settle.acknowledge(broker, lease(new))
        assert broker.queues.get(GROUP, LOG).delivery.floor == 3


# Records that go away.


async def test_nothing_is_lost_behind_what_retention_takes(open_broker, clock):
    async with open_broker() as broker:
        await made_topic(broker, retention_ms=1000)
        for number in range(12):
            await published(broker, Record(value=b"%d" % number + bytes(1000), priority=number % 5))
            clock.advance_ms(200)
        (part,) = await take(broker, 2)
        await settle.nack(broker, lease(part), pause_ms=0)
        clock.advance_ms(200)
        await maintenance_of(broker).apply_retention()
        start = broker.partition(TOPIC, 0).log.start_offset
        assert 2 < start < 12
        found = await take(broker)
        assert sorted(int(value.rstrip(b"\0")) for value in values(found)) == list(range(start, 12))
        await settle.acknowledge(broker, lease(*found))
        assert broker.queues.get(GROUP, LOG).delivery.floor == 12


async def test_a_record_that_compaction_took_while_it_rested_is_passed_over(open_broker, clock):
    async with open_broker() as broker:
        await made_topic(broker, cleanup=Cleanup.COMPACT)
        await published(broker, Record(value=b"old", key=b"k"))
        (part,) = await take(broker)
        await settle.nack(broker, lease(part), pause_ms=0)
        for number in range(12):
            await published(broker, Record(value=b"%d" % number + bytes(1000), key=b"k"))
        await maintenance_of(broker).checkpoint()
        await maintenance_of(broker).compact_all()
        async with asyncio.timeout(5):
            found = await take(broker, wait_ms=1000)
        assert b"old" not in values(found)
        await settle.acknowledge(broker, lease(*found))
        async with asyncio.timeout(5):
            assert await take(broker) == []
        assert broker.queues.get(GROUP, LOG).delivery.floor == 13
        assert broker.queues.get(GROUP, LOG).delivery.resting_count(now=clock.now_ns()) == 0


# Receipts that were never given.


@pytest.mark.parametrize("offset", [-1, -(2**63), 1, 2**62, 2**63, 2**64, 2**80])
@pytest.mark.parametrize("verb", [settle.acknowledge, settle.nack, settle.reject, settle.give_back])
async def test_a_record_that_is_not_in_the_grant_is_refused_and_nothing_changes(open_broker, verb, offset):
    async with open_broker() as broker:
        await made_topic(broker, b"one")
        (part,) = await take(broker)
        before = broker.queues.get(GROUP, LOG).delivery.snapshot()
        for offsets in ((offset,), (0, offset)):
            with pytest.raises(UnknownReceipt):
                await verb(broker, lease(part, *offsets))
        assert broker.queues.get(GROUP, LOG).delivery.snapshot() == before
        assert [topic.name for topic in broker.catalog] == [TOPIC]


async def test_a_record_named_twice_fails_once(open_broker, clock):
    async with open_broker() as broker:
        await made_topic(broker, b"one")
        (part,) = await take(broker)
        await settle.nack(broker, lease(part, 0, 0, 0), pause_ms=0)
        (again,) = await take(broker)
        assert again.attempts[0][:2] == (2, 1)
        with pytest.raises(InvalidRequest):
            await settle.nack(broker, settle.Lease(GROUP, LOG, again.grant, again.token, ()))


# Said too late, or said again.


async def test_an_ack_of_a_record_that_became_a_dead_letter_is_refused(open_broker, clock):
    async with open_broker() as broker:
        await made_topic(broker, b"one", max_attempts=1)
        (part,) = await take(broker)
        clock.advance_ms(30_000)
        assert await settle.return_overdue(broker) == 1
        for _ in range(2):
            with pytest.raises(UnknownReceipt):
                await settle.acknowledge(broker, lease(part))
    async with open_broker() as broker:
        with pytest.raises(UnknownReceipt):
            await settle.acknowledge(broker, lease(part))


async def test_an_ack_of_a_record_that_somebody_else_has_done_meanwhile_is_refused(open_broker, clock):
    async with open_broker() as broker:
        await made_topic(broker, b"one")
        (late,) = await take(broker)
        clock.advance_ms(30_000)
        await settle.return_overdue(broker)
        (part,) = await take(broker)
        for _ in range(2):
            await settle.acknowledge(broker, lease(part))
        with pytest.raises(UnknownReceipt):
            await settle.acknowledge(broker, lease(late))


async def test_a_reject_whose_answer_was_lost_may_be_repeated_and_makes_one_dead_letter(open_broker):
    async with open_broker() as broker:
        await made_topic(broker, b"one", b"two")
        (part,) = await take(broker)
        await settle.reject(broker, lease(part, 0))
        await settle.reject(broker, lease(part, 0, 1))
        await settle.reject(broker, lease(part, 1))
        assert broker.partition(topic_name(f"{TOPIC}.dlq"), 0).high_watermark == 2
        with pytest.raises(UnknownReceipt):
            await settle.acknowledge(broker, lease(part, 1))
