"""The queue: records are lent to workers, and each ends acknowledged or with the dead letters, whatever happens."""

import asyncio
import json
import time
from contextlib import AsyncExitStack

from goqueue.model.log import LogId
from tests.behaviour.path import Ability, Out
from tests.behaviour.paths import between_paths, over, refused

NEEDS = (Ability.TOPICS, Ability.RECORDS, Ability.GROUPS, Ability.QUEUE)
over_queue = over(*NEEDS)
over_release = over(*NEEDS, Ability.RELEASE)
over_members = over(*NEEDS, Ability.MEMBERS)
SOON_MS = 5000
"""Longer than anything takes that is to happen at once."""


def values(lent):
    return [one.record.value for one in lent]


def numbered(count, **options):
    return [Out(b"%d" % number, **options) for number in range(count)]


async def letters(path, topic, partition=0):
    """The dead letters of a topic, and what is said of each."""
    found = await path.read(f"{topic}.dlq", partition)
    return [(one, json.loads(dict(one.headers)["goqueue-dead-letter"])) for one in found]


# Taking and acknowledging.


@over_queue
async def test_a_record_is_taken_once_and_never_again_after_its_ack(path, name):
    await path.create_topic(name, 1)
    await path.publish(name, numbered(10))
    async with path.worker(name, name) as one, path.worker(name, name) as two:
        first = await one.take(6)
        second = await two.take()
        assert sorted(values(first) + values(second), key=int) == [b"%d" % number for number in range(10)]
        assert {(lent.deliveries, lent.failures) for lent in first + second} == {(1, 0)}
        assert await one.take() == await two.take() == []
        await one.ack(*first)
        await two.ack(*second)
        assert await one.take(wait_ms=100) == []
    assert await path.committed(name) == {LogId(name, 0): 10}


@over_queue
async def test_many_workers_share_the_records_and_none_is_given_to_two(path, name):
    await path.create_topic(name, 3)
    await path.publish(name, [Out(b"%d" % number, partition=number % 3) for number in range(300)])
    found = []

    async def work(worker):
        while lent := await worker.take(7):
            found.extend(values(lent))
            await worker.ack(*lent)

    async with AsyncExitStack() as stack:
        workers = [await stack.enter_async_context(path.worker(name, name)) for _ in range(5)]
        await asyncio.gather(*map(work, workers))
    assert sorted(map(int, found)) == list(range(300))
    assert sum((await path.group(name)).lag.values()) == 0


@over_queue
async def test_a_waiting_worker_gets_a_record_as_soon_as_it_is_published(path, name):
    await path.create_topic(name, 2)
    async with path.worker(name, name) as worker:
        waiting = asyncio.create_task(worker.take(wait_ms=30_000))
        done, _ = await asyncio.wait([waiting], timeout=0.2)
        assert not done
        began = time.monotonic()
        await path.publish(name, [Out(b"news", partition=1)])
        assert values(await waiting) == [b"news"]
        assert time.monotonic() - began < 5


@over_queue
async def test_two_groups_never_affect_each_other(path, name):
    await path.create_topic(name, 1)
    await path.publish(name, numbered(3))
    async with path.worker(f"{name}-1", name) as one, path.worker(f"{name}-2", name) as two:
        first = await one.take()
        second = await two.take()
        assert values(first) == values(second) == [b"0", b"1", b"2"]
        await one.ack(first[0])
        await one.nack(first[1], delay_ms=0)
        await one.reject(first[2])
        assert (await path.committed(f"{name}-1"), await path.committed(f"{name}-2")) == (
            {LogId(name, 0): 1},
            {LogId(name, 0): 0},
        )
        (again,) = await one.take()
        assert (again.record.value, again.deliveries, again.failures) == (b"1", 2, 1)
        assert await two.take() == []
        await two.ack(*second)
        assert await path.committed(f"{name}-2") == {LogId(name, 0): 3}
        await one.ack(again)


@over_queue
async def test_an_ack_whose_answer_was_lost_may_be_repeated(path, name):
    await path.create_topic(name, 1)
    await path.publish(name, numbered(3))
    async with path.worker(name, name) as worker:
        lent = await worker.take()
        await worker.ack(lent[1])
        await worker.ack(lent[1])
        await worker.ack(*lent)
        await worker.ack(*lent)
    assert await path.committed(name) == {LogId(name, 0): 3}


@over_queue
async def test_the_acknowledged_beginning_moves_the_offset_and_each_ack_makes_the_lag_smaller(path, name):
    await path.create_topic(name, 1)
    await path.publish(name, numbered(5))
    log = LogId(name, 0)
    async with path.worker(name, name) as worker:
        lent = await worker.take()
        for acked, (number, committed) in enumerate(((1, 0), (3, 0), (0, 2), (2, 4), (4, 5)), 1):
            await worker.ack(lent[number])
            assert await path.committed(name) == {log: committed}
            assert (await path.group(name)).lag == {log: 5 - acked}


@over_queue
async def test_one_stuck_record_does_not_stall_those_behind_it(path, name):
    await path.create_topic(name, 1)
    await path.publish(name, numbered(2500))
    async with path.worker(name, name) as slow, path.worker(name, name) as quick:
        (stuck,) = await slow.take(1)
        found = []
        while lent := await quick.take(1000):
            found += values(lent)
            await quick.ack(*lent)
        assert sorted(found, key=int) == [b"%d" % number for number in range(1, 2500)]
        assert await path.committed(name) == {LogId(name, 0): 0}
        await slow.ack(stuck)
    assert await path.committed(name) == {LogId(name, 0): 2500}


# Failing.


@over_queue
async def test_a_nacked_record_comes_back_after_its_pause_with_one_failure_more(path, name):
    await path.create_topic(name, 1, retry_backoff_ms=150)
    await path.publish(name, [Out(b"v", b"k", (("h", b"x"),), 1)])
    async with path.worker(name, name) as worker, path.worker(name, name) as other:
        (lent,) = await worker.take()
        for failures in (1, 2):
            began = time.monotonic()
            await worker.nack(lent, reason="not today")
            assert await other.take() == []
            (lent,) = await other.take(wait_ms=SOON_MS)
            assert time.monotonic() - began > 0.14 * 2 ** (failures - 1)
            assert (lent.deliveries, lent.failures) == (failures + 1, failures)
            assert lent.record[4:] == (b"k", b"v", (("h", b"x"),), 1)
        await other.ack(lent)
    assert f"{name}.dlq" not in await path.topics()


@over_queue
async def test_a_nack_without_a_pause_wakes_the_waiting_poll_of_another_worker(path, name):
    await path.create_topic(name, 1)
    await path.publish(name, numbered(1))
    async with path.worker(name, name) as one, path.worker(name, name) as two:
        (lent,) = await one.take()
        waiting = asyncio.create_task(two.take(wait_ms=30_000))
        done, _ = await asyncio.wait([waiting], timeout=0.2)
        assert not done
        began = time.monotonic()
        await one.nack(lent, delay_ms=0)
        (again,) = await waiting
        assert time.monotonic() - began < 5
        assert (again.deliveries, again.failures) == (2, 1)
        with refused("unknown_receipt"):
            await one.ack(lent)
        await two.ack(again)


@over_queue
async def test_an_expired_lease_comes_back_counts_as_a_failure_and_its_receipt_is_refused(path, name):
    await path.create_topic(name, 1)
    await path.publish(name, numbered(1))
    async with path.worker(name, name, visibility_ms=200) as late, path.worker(name, name) as other:
        (lent,) = await late.take()
        (again,) = await other.take(wait_ms=SOON_MS)
        assert (again.deliveries, again.failures) == (2, 1)
        for say in (late.ack, late.nack, late.reject):
            with refused("unknown_receipt"):
                await say(lent)
        with refused("unknown_receipt"):
            await late.extend(lent, visibility_ms=1000)
        assert await path.committed(name) == {LogId(name, 0): 0}
        await other.ack(again)
    assert await path.committed(name) == {LogId(name, 0): 1}


@over_queue
async def test_an_extended_lease_stays(path, name):
    await path.create_topic(name, 1)
    await path.publish(name, numbered(2))
    async with path.worker(name, name, visibility_ms=400) as slow, path.worker(name, name) as other:
        kept, lost = await slow.take()
        await slow.extend(kept, visibility_ms=60_000)
        (again,) = await other.take(wait_ms=SOON_MS)
        assert again.record.value == lost.record.value
        assert await other.take() == []
        await slow.ack(kept)
        await other.ack(again)
    assert await path.committed(name) == {LogId(name, 0): 2}


@over_release
async def test_what_is_released_is_there_for_others_at_once_and_has_not_failed(path, name):
    await path.create_topic(name, 1)
    await path.publish(name, numbered(3))
    async with path.worker(name, name) as one, path.worker(name, name) as two:
        lent = await one.take()
        waiting = asyncio.create_task(two.take(wait_ms=30_000))
        await one.release(*lent)
        again = await asyncio.wait_for(waiting, 5)
        assert values(again) == values(lent)
        assert {(one.deliveries, one.failures) for one in again} == {(2, 0)}
        with refused("unknown_receipt"):
            await one.ack(*lent)


@over_queue
async def test_a_record_that_fails_too_often_is_with_the_dead_letters_and_not_in_the_queue(path, name):
    await path.create_topic(name, 2, max_attempts=3)
    record = Out(b"value", b"key", (("a", b"1"), ("b", b"2")), 0, 1)
    ((_, offset),) = await path.publish(name, [record])
    (source,) = await path.read(name, 1)
    async with path.worker(name, name) as worker:
        for failures in range(3):
            (lent,) = await worker.take(wait_ms=SOON_MS)
            assert (lent.deliveries, lent.failures) == (failures + 1, failures)
            await worker.nack(lent, reason=f"broken {failures}", delay_ms=0)
        assert await worker.take(wait_ms=100) == []
        with refused("unknown_receipt"):
            await worker.nack(lent)
    ((letter, said),) = await letters(path, name, 1)
    assert (letter.key, letter.value, letter.headers[:2], letter.priority) == (b"key", b"value", record.headers, 0)
    origin = (said["topic"], said["partition"], said["offset"], said["group"], said["timestamp_ns"])
    assert origin == (name, 1, offset, name, source.timestamp_ns)
    assert (said["reason"], said["deliveries"], said["failures"]) == ("broken 2", 3, 3)
    assert [reason for _, reason in said["history"]][:2] == ["broken 0", "broken 1"]
    assert (await path.committed(name))[LogId(name, 1)] == 1
    assert (await path.topic(f"{name}.dlq")).partitions == 2


@over_queue
async def test_expired_leases_lead_to_the_dead_letters_too(path, name):
    await path.create_topic(name, 1, max_attempts=2, visibility_timeout_ms=100)
    await path.publish(name, numbered(1))
    async with path.worker(name, name) as worker:
        for _ in range(2):
            assert len(await worker.take(wait_ms=SOON_MS)) == 1
        async with asyncio.timeout(10):
            # The move shows at both ends, though not in the same moment.
            while await path.committed(name) != {LogId(name, 0): 1} or not await path.read(f"{name}.dlq", 0):
                assert await worker.take(wait_ms=100) == []
    ((letter, said),) = await letters(path, name)
    assert (letter.value, said["deliveries"], said["failures"]) == (b"0", 2, 2)


@over_queue
async def test_a_rejected_record_goes_straight_to_the_dead_letters(path, name):
    await path.create_topic(name, 1)
    await path.publish(name, [Out(b"good"), Out(b"bad", b"k", (("h", b"x"),), 4), Out(b"fine")])
    async with path.worker(name, name) as worker:
        by_value = {lent.record.value: lent for lent in await worker.take()}
        await worker.reject(by_value[b"bad"], reason="no such customer")
        await worker.ack(by_value[b"good"], by_value[b"fine"])
        assert await worker.take(wait_ms=100) == []
    ((letter, said),) = await letters(path, name)
    assert (letter.value, letter.key, letter.headers[0], letter.priority) == (b"bad", b"k", ("h", b"x"), 4)
    assert (said["offset"], said["reason"], said["deliveries"], said["failures"]) == (1, "no such customer", 1, 0)
    assert await path.committed(name) == {LogId(name, 0): 3}


# Receipts.


@over_queue
async def test_forged_truncated_and_foreign_receipts_are_refused_and_change_nothing(path, name):
    await path.create_topic(name, 2)
    await path.create_topic(f"{name}-other", 1)
    await path.publish(name, [Out(b"0", partition=0), Out(b"1", partition=1)])
    async with path.worker(name, name) as worker, path.worker(f"{name}-other", name) as foreign:
        await foreign.take()
        lent = next(one for one in await worker.take() if one.record.partition == 0)
        forged = path.forged(lent)
        assert len(forged) >= 8
        for what, wrong in forged.items():
            for say in (worker.ack, worker.nack, worker.reject):
                try:
                    with refused("unknown_receipt"):
                        await say(wrong)
                except AssertionError as error:
                    error.add_note(f"{say.__name__} with {what}")
                    raise
            with refused("unknown_receipt"):
                await worker.extend(wrong, visibility_ms=1000)
        assert set((await path.committed(name)).values()) == {0}
        assert f"{name}.dlq" not in await path.topics()
        await worker.ack(lent)


@over_queue
async def test_one_wrong_receipt_among_many_does_not_undo_the_others(path, name):
    await path.create_topic(name, 1)
    await path.publish(name, numbered(3))
    async with path.worker(name, name) as worker:
        lent = await worker.take()
        wrong = path.forged(lent[1])["another token"]
        with refused("unknown_receipt"):
            await worker.ack(lent[0], wrong, lent[2])
        await worker.ack(lent[1])
    assert await path.committed(name) == {LogId(name, 0): 3}


# How much.


@over_queue
async def test_the_limit_is_for_all_partitions_and_topics_together(path, name):
    topics = [f"{name}-{number}" for number in range(2)]
    for topic in topics:
        await path.create_topic(topic, 3)
        await path.publish(topic, [Out(b"%d" % number, partition=number % 3) for number in range(30)])
    async with path.worker(name, *topics) as worker:
        found = []
        while lent := await worker.take(7):
            assert len(lent) <= 7
            found += lent
            await worker.ack(*lent)
    assert len({one.record[:3] for one in found}) == len(found) == 60
    assert {one.record.topic for one in found} == set(topics)


@over_queue
async def test_a_consumer_has_at_most_a_thousand_in_flight(path, name):
    await path.create_topic(name, 2)
    await path.publish(name, [Out(b"%d" % number, partition=number % 2) for number in range(1100)])
    async with path.worker(name, name) as worker, path.worker(name, name) as other:
        held = []
        while lent := await worker.take(400):
            held += lent
        assert len(held) == 1000
        assert len(await other.take(1000)) == 100
        waiting = asyncio.create_task(worker.take(wait_ms=30_000))
        done, _ = await asyncio.wait([waiting], timeout=0.2)
        assert not done
        await worker.nack(*held[:5], delay_ms=0)
        assert len(await asyncio.wait_for(waiting, 5)) == 5


# Priorities.


@over_queue
async def test_mixed_priorities_lose_nothing_and_a_plain_read_is_in_order(path, name):
    await path.create_topic(name, 1)
    records = [Out(b"%d" % number, priority=number * 3 % 5) for number in range(100)]
    await path.publish(name, records)
    found = []
    async with path.worker(name, name) as worker:
        while lent := await worker.take(7):
            priorities = [one.record.priority for one in lent]
            assert priorities == sorted(priorities)
            found += lent
            await worker.ack(*lent)
    assert sorted(int(one.record.value) for one in found) == list(range(100))
    assert all(one.record.priority == int(one.record.value) * 3 % 5 for one in found)
    urgent = [step for step, one in enumerate(found) if one.record.priority == 0]
    idle = [step for step, one in enumerate(found) if one.record.priority == 4]
    assert sum(urgent) < sum(idle)
    assert [one.value for one in await path.read(name, 0)] == [record.value for record in records]


@over_queue
async def test_a_record_keeps_its_priority_when_it_comes_again(path, name):
    await path.create_topic(name, 1, max_attempts=2)
    await path.publish(name, [Out(b"urgent", priority=0), *numbered(20, priority=4)])
    async with path.worker(name, name) as worker:
        (lent,) = await worker.take(1)
        assert (lent.record.value, lent.record.priority) == (b"urgent", 0)
        await worker.nack(lent, delay_ms=0)
        (lent, *_) = await worker.take(5)
        assert (lent.record.value, lent.record.priority, lent.failures) == (b"urgent", 0, 1)
        await worker.nack(lent, delay_ms=0)
    ((letter, _),) = await letters(path, name)
    assert letter.priority == 0


# Offsets.


@over_members
async def test_committing_what_a_poll_says_never_skips_a_record_that_was_not_delivered(path, name):
    await path.create_topic(name, 1)
    await path.publish(name, [Out(b"%d" % number, priority=4 - number // 2 % 5) for number in range(20)])
    seen = set()
    async with path.worker(name, name) as worker, path.worker(name, name) as other:
        elsewhere = set(values(await other.take(2)))
        for _ in range(4):
            lent, after = await worker.take_page(3)
            seen |= set(values(lent))
            await path.commit(name, after)
            assert {b"%d" % number for number in range(after[LogId(name, 0)])} <= seen
        assert await path.committed(name) == after
        while lent := await worker.take():
            seen |= set(values(lent))
    assert seen | elsewhere == {b"%d" % number for number in range(20)}


@over_queue
async def test_a_group_that_is_reset_takes_its_records_again(path, name):
    await path.create_topic(name, 1)
    await path.publish(name, numbered(4))
    async with path.worker(name, name) as worker:
        lent = await worker.take()
        await worker.ack(*lent[:3])
        await path.reset(name, "earliest", topics=[name])
        again = await worker.take()
        assert values(again) == values(lent)
        with refused("unknown_receipt"):
            await worker.ack(lent[3])
        await worker.ack(*again)
        await path.reset(name, "offset", 2, topics=[name])
        assert values(await worker.take()) == [b"2", b"3"]
        await path.reset(name, "latest", topics=[name])
        assert await worker.take() == []


# The order of keys.


@over_queue
async def test_of_each_key_one_is_in_flight_and_other_keys_flow(path, name):
    await path.create_topic(name, 1, retry_backoff_ms=200, max_attempts=9)
    records = [Out(b"%s%d" % (key, number), key) for number in range(4) for key in (b"a", b"b", b"c")]
    await path.publish(name, records)
    async with path.worker(name, name, key_order=True) as worker:
        a, b, c = await worker.take()
        assert values([a, b, c]) == [b"a0", b"b0", b"c0"]
        assert await worker.take() == []
        await worker.nack(a)
        await worker.ack(b, c)
        orders = {b"a": [], b"b": [], b"c": []}
        failed_once = False
        async with asyncio.timeout(10):
            while sum(map(len, orders.values())) < 10:
                lent = await worker.take(wait_ms=1000)
                keys = [one.record.key for one in lent]
                assert len(set(keys)) == len(keys)
                for one in lent:
                    if one.record.value == b"b2" and not failed_once:
                        failed_once = True
                        await worker.nack(one, delay_ms=50)
                        continue
                    orders[one.record.key].append(one.record.value)
                    await worker.ack(one)
    assert orders == {
        b"a": [b"a0", b"a1", b"a2", b"a3"],
        b"b": [b"b1", b"b2", b"b3"],
        b"c": [b"c1", b"c2", b"c3"],
    }


@over_queue
async def test_a_small_poll_finds_other_keys_behind_many_records_of_a_busy_one(path, name):
    await path.create_topic(name, 1)
    await path.publish(name, [Out(b"a%d" % number, b"a") for number in range(40)] + [Out(b"b0", b"b")])
    async with path.worker(name, name, key_order=True) as worker:
        assert values(await worker.take(1)) == [b"a0"]
        assert values(await worker.take(1)) == [b"b0"]


# Operators.


@over_queue
async def test_a_paused_group_takes_nothing_and_goes_on_when_resumed(path, name):
    await path.create_topic(name, 1)
    await path.publish(name, numbered(3))
    async with path.worker(name, name) as worker:
        (lent,) = await worker.take(1)
        await path.pause_group(name, paused=True)
        assert await worker.take() == []
        await worker.ack(lent)
        waiting = asyncio.create_task(worker.take(wait_ms=30_000))
        done, _ = await asyncio.wait([waiting], timeout=0.2)
        assert not done
        await path.pause_group(name, paused=False)
        assert values(await asyncio.wait_for(waiting, 5)) == [b"1", b"2"]


@over_queue
async def test_a_group_deleted_with_leases_out_starts_fresh(path, name):
    await path.create_topic(name, 1)
    await path.publish(name, numbered(3))
    async with path.worker(name, name) as worker:
        acked, lent, *_ = await worker.take()
        await worker.ack(acked)
        await path.delete_group(name)
        for say in (worker.ack, worker.nack, worker.reject):
            with refused("unknown_receipt"):
                await say(lent)
        again = await worker.take()
        assert values(again) == [b"0", b"1", b"2"]
        assert {(one.deliveries, one.failures) for one in again} == {(1, 0)}
        with refused("unknown_receipt"):
            await worker.ack(lent)
        await worker.ack(*again)
    assert await path.committed(name) == {LogId(name, 0): 3}


@over_queue
async def test_a_topic_deleted_with_leases_out_and_made_anew_starts_fresh(path, name):
    await path.create_topic(name, 1)
    await path.publish(name, numbered(3))
    async with path.worker(name, name) as worker:
        lent = await worker.take(2)
        await path.delete_topic(name)
        with refused("unknown_topic"):
            await worker.take()
        with refused("unknown_receipt"):
            await worker.ack(*lent)
        await path.create_topic(name, 1)
        await path.publish(name, [Out(b"new")])
        again = await worker.take()
        assert [(one.record.value, one.deliveries, one.failures) for one in again] == [(b"new", 1, 0)]
        with refused("unknown_receipt"):
            await worker.ack(lent[0])
        await worker.ack(*again)
    assert await path.committed(name) == {LogId(name, 0): 1}


@over_queue
async def test_a_wait_for_records_of_a_topic_ends_when_it_is_deleted(path, name):
    await path.create_topic(name, 1)
    async with path.worker(name, name) as worker:
        assert await worker.take() == []
        waiting = asyncio.create_task(worker.take(wait_ms=30_000))
        await asyncio.wait([waiting], timeout=0.1)
        await path.delete_topic(name)
        with refused("unknown_topic"):
            await asyncio.wait_for(waiting, 5)


@over_members
async def test_members_take_from_their_own_partitions_only(path, name):
    await path.create_topic(name, 4)
    members = [await path.join(name, [name]) for _ in range(2)]
    for _ in range(3):
        members = [await path.heartbeat(name, one, one.partitions - one.revoke) for one in members]
    assert sorted(len(one.partitions) for one in members) == [2, 2]
    await path.publish(name, [Out(b"%d" % number, partition=number % 4) for number in range(40)])
    found = [await path.poll(name, one) for one in members]
    for member, records in zip(members, found, strict=True):
        assert {LogId(one.topic, one.partition) for one in records} == member.partitions
        assert len(records) == 20
    async with path.worker(name, name) as worker:
        with refused("state_conflict"):
            await worker.take()
    # What a member had is for the others when it leaves.
    await path.leave(name, members[1].member_id)
    left = await path.heartbeat(name, members[0], members[0].partitions)
    assert len(left.partitions) == 4
    again = await path.poll(name, left)
    assert {one[:3] for one in again} == {one[:3] for one in found[1]}


@over_queue
async def test_a_poll_for_too_much_is_refused(path, name):
    await path.create_topic(name, 1)
    async with path.worker(name, name) as worker:
        for limit in (0, 1001):
            with refused("invalid_request"):
                await worker.take(limit)


@between_paths(*NEEDS)
async def test_workers_of_all_paths_share_one_queue(path, other, name):
    await path.create_topic(name, 1)
    await path.publish(name, numbered(6))
    async with path.worker(name, name) as one, other.worker(name, name) as two:
        first, second = await one.take(3), await two.take(3)
        assert values(first) + values(second) == [b"%d" % number for number in range(6)]
        await one.nack(*first, delay_ms=0)
        again = await two.take()
        assert [(lent.record.value, lent.deliveries, lent.failures) for lent in again] == [
            (b"0", 2, 1),
            (b"1", 2, 1),
            (b"2", 2, 1),
        ]
        await two.ack(*second, *again)
    assert await path.committed(name) == await other.committed(name) == {LogId(name, 0): 6}


# What operators see.


@over_queue
async def test_the_lag_of_a_queue_counts_the_partitions_that_no_worker_has_touched(path, name):
    await path.create_topic(name, 6)
    await path.publish(name, [Out(b"%d" % number, partition=number % 6) for number in range(800)])
    async with path.worker(name, name) as worker:
        settled = 0
        while settled < 60:
            lent = await worker.take(60 - settled)
            await worker.ack(*lent)
            settled += len(lent)
        assert sum((await path.group(name)).lag.values()) == 740


@over(*NEEDS, Ability.DELAYS)
async def test_a_queue_that_is_drained_but_for_a_delayed_record_has_no_lag(path, name):
    await path.create_topic(name, 1)
    await path.publish(name, [Out(b"later", delay_ms=3_600_000)])
    await path.publish(name, numbered(500))
    async with path.worker(name, name) as worker:
        lent = await worker.take(500)
        assert len(lent) == 500
        assert (await path.group(name)).lag == {LogId(name, 0): 500}
        await worker.ack(*lent)
        found = await path.group(name)
        assert (found.lag, found.delayed) == ({LogId(name, 0): 0}, 1)


@over_queue
async def test_workers_of_a_queue_are_shown_with_what_they_hold(path, name):
    await path.create_topic(name, 1)
    await path.publish(name, numbered(5))
    async with path.worker(name, name) as one, path.worker(name, name) as two:
        mine = await one.take(3)
        found = await path.group(name)
        assert (found.state, found.members, len(found.workers)) == ("Working", {}, 1)
        yours = await two.take(2)
        found = await path.group(name)
        assert sorted(worker.in_flight for worker in found.workers) == [2, 3]
        assert len({worker.consumer for worker in found.workers}) == 2
        assert all(worker.since for worker in found.workers)
        assert all(worker.address.startswith("127.0.0.1:") for worker in found.workers)
        await one.ack(*mine)
        assert sorted(worker.in_flight for worker in (await path.group(name)).workers) == [0, 2]
        await two.ack(*yours)


@over_queue
async def test_a_worker_that_waits_for_a_first_record_is_shown(path, name):
    await path.create_topic(name, 1)
    async with path.worker(name, name) as worker:
        waiting = asyncio.create_task(worker.take(wait_ms=30_000))
        while not (seen := await workers_of(path, name)):
            await asyncio.wait([waiting], timeout=0.05)
        assert [one.in_flight for one in seen] == [0]
        await path.publish(name, [Out(b"news")])
        assert values(await waiting) == [b"news"]


async def workers_of(path, group):
    return (await path.group(group)).workers if group in await path.groups() else ()
