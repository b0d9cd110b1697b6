"""The consumer against a real broker: what it gives, in which order, and what it remembers."""

import asyncio
import time

import pytest

from goqueue import codec
from goqueue.client import Admin, Consumer, LogId, Producer
from goqueue.errors import BrokerUnreachable, ClientClosed, CorruptBatch, InvalidRequest, UnknownTopic
from goqueue.model.record import Flag, Record
from tests.behaviour.serving import name_of


@pytest.fixture
def broker(shared_server):
    return shared_server.native


@pytest.fixture
async def topic(broker, request):
    """Two partitions with ten records each."""
    name = name_of(request.node.nodeid)
    async with Admin(broker) as admin:
        await admin.create_topic(name, 2)
    await fill(broker, name, 20)
    return name


async def fill(broker, topic, count, partitions=2):
    async with Producer(broker) as producer:
        for partition in range(partitions):
            values = [b"%d" % number for number in range(count // partitions)]
            await producer.send_many(topic, values, partition=partition)


async def committed(broker, group):
    async with Admin(broker) as admin:
        return await admin.committed_offsets(group)


async def until(holds, within_s=10):
    async with asyncio.timeout(within_s):
        while not (await holds() if asyncio.iscoroutinefunction(holds) else holds()):
            await asyncio.sleep(0.01)


# Without a group.


async def test_without_a_group_every_partition_is_read_and_nothing_is_committed(broker, topic):
    async with Consumer(topic, bootstrap=broker) as consumer:
        assert consumer.assigned == {LogId(topic, 0), LogId(topic, 1)}
        found = await consumer.poll()
        assert len(found) == 20
        with pytest.raises(InvalidRequest):
            await consumer.commit()
    for partition in (0, 1):
        assert [one.offset for one in found if one.partition == partition] == list(range(10))


async def test_reading_may_begin_at_the_end(broker, topic):
    async with Consumer(topic, bootstrap=broker, start="latest") as consumer:
        assert await consumer.poll(wait_ms=0) == []
        await fill(broker, topic, 2)
        assert {one.offset for one in await consumer.poll()} == {10}


async def test_seek_goes_anywhere_and_drops_what_was_fetched(broker, topic):
    log = LogId(topic, 0)
    async with Consumer(topic, bootstrap=broker) as consumer:
        consumer.pause(LogId(topic, 1))
        assert [one.offset for one in await consumer.poll(limit=3)] == [0, 1, 2]
        assert consumer.position(log) == 3
        consumer.seek(log, 7)
        assert consumer.position(log) == 7
        assert [one.offset for one in await consumer.poll()] == [7, 8, 9]
        consumer.seek(log, 0)
        assert len(await consumer.poll()) == 10
        with pytest.raises(InvalidRequest):
            consumer.seek(LogId(topic, 5), 0)
        with pytest.raises(InvalidRequest):
            consumer.position(LogId(topic, 5))


async def test_a_position_outside_the_log_is_put_right(broker, topic):
    async with Consumer(topic, bootstrap=broker) as consumer:
        consumer.pause(LogId(topic, 1))
        consumer.seek(LogId(topic, 0), 10_000)
        assert [one.offset for one in await consumer.poll()] == list(range(10))


async def test_a_paused_partition_gives_nothing_not_even_what_was_fetched_before(broker, topic):
    async with Consumer(topic, bootstrap=broker) as consumer:
        await consumer.poll(limit=1)
        consumer.pause(LogId(topic, 0))
        rest = await consumer.poll() + await consumer.poll(wait_ms=0)
        assert {one.partition for one in rest} == {1}
        consumer.resume(LogId(topic, 0))
        more = await consumer.poll()
        assert len(rest) + len(more) == 19
        assert LogId(topic, 0) in consumer.assigned


async def test_resuming_and_seeking_end_a_poll_that_waits(broker, topic):
    log = LogId(topic, 0)
    async with Consumer(topic, bootstrap=broker) as consumer:
        await consumer.poll()
        consumer.pause(log, LogId(topic, 1))
        for wake in (lambda: consumer.seek(log, 5) or consumer.resume(log), lambda: consumer.seek(log, 8)):
            polling = asyncio.create_task(consumer.poll(wait_ms=20_000))
            done, _ = await asyncio.wait([polling], timeout=0.1)
            assert not done
            began = time.monotonic()
            wake()
            assert (await polling)[-1].offset == 9
            assert time.monotonic() - began < 3


async def test_offsets_are_found_by_time(broker, topic):
    async with Consumer(topic, bootstrap=broker) as consumer:
        first = await consumer.poll()
        await fill(broker, topic, 2)
        later = [one for one in await consumer.poll() + await consumer.poll(wait_ms=100) if one.partition == 0]
        log = LogId(topic, 0)
        assert await consumer.offsets_at([log], "earliest") == {log: 0}
        assert await consumer.offsets_at([log], "latest") == {log: 11}
        assert await consumer.offsets_at([log], min(one.timestamp_ns for one in first)) == {log: 0}
        assert await consumer.offsets_at([log], min(one.timestamp_ns for one in later)) == {log: 10}
        assert await consumer.offsets_at([log], 1 << 62) == {log: 11}
        assert await consumer.offsets_at([], 0) == {}


async def test_raw_batches_hold_the_records_as_they_lie_in_the_log(broker, topic):
    async with Consumer(topic, bootstrap=broker) as consumer:
        batches = await consumer.poll_raw()
    assert {(one.partition, one.next_offset) for one in batches} == {(0, 10), (1, 10)}
    for one in batches:
        assert [record.offset for record in codec.decode(one.records)] == list(range(10))


async def test_an_unknown_topic_is_called_so(broker):
    with pytest.raises(UnknownTopic):
        async with Consumer("there-is-no-such-topic", bootstrap=broker):
            pass


async def test_what_cannot_be_consumed_is_refused():
    for wrong in (Consumer, lambda: Consumer(pattern="a"), lambda: Consumer("a", max_bytes=0)):
        with pytest.raises(InvalidRequest):
            wrong()
    with pytest.raises(InvalidRequest, match="not begun"):
        await Consumer("a", group="g").poll()


async def test_a_closed_consumer_says_so(broker, topic):
    async with Consumer(topic, bootstrap=broker) as consumer:
        pass
    with pytest.raises(ClientClosed):
        await consumer.poll()


# Cancelling and closing.


async def test_polls_that_are_cancelled_at_any_moment_lose_nothing(broker, topic):
    found = []
    reading = Consumer(topic, bootstrap=broker, group=topic, auto_commit_ms=None)
    async with reading as consumer, Producer(broker) as producer:
        for attempt in range(60):
            polling = asyncio.create_task(consumer.poll(wait_ms=300, limit=7))
            await producer.send(topic, b"more", partition=attempt % 2)
            await asyncio.sleep(attempt % 7 / 1000)
            polling.cancel()
            try:
                found += await polling
            except asyncio.CancelledError:
                continue
        await producer.flush()
        while some := await consumer.poll(wait_ms=500):
            found += some
    assert sorted((one.partition, one.offset) for one in found) == [(p, n) for p in (0, 1) for n in range(40)]


async def test_closing_ends_a_poll_and_a_loop_of_another_task(broker, topic):
    consumer = Consumer(topic, bootstrap=broker, group=topic)
    await consumer.__aenter__()
    await consumer.poll()

    async def read():
        return [message async for message in consumer]

    polling, reading = asyncio.create_task(consumer.poll(wait_ms=30_000)), asyncio.create_task(read())
    await asyncio.sleep(0.05)
    began = time.monotonic()
    await consumer.close()
    assert (await polling, await reading) == ([], [])
    assert time.monotonic() - began < 5


async def test_leaving_cancelled_leaves_no_task_behind(broker, topic):
    async def work():
        async with Consumer(topic, bootstrap=broker, group=topic) as consumer, Producer(broker) as producer:
            await producer.send(topic, b"value")
            async for _ in consumer:
                pass

    before = asyncio.all_tasks()
    for pause_s in (0, 0.005, 0.02, 0.2):
        task = asyncio.create_task(work())
        await asyncio.sleep(pause_s)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        await until(lambda: asyncio.all_tasks() == before, 2)
    async with Admin(broker) as admin:

        async def is_empty():
            return topic not in {one.group for one in await admin.list_groups() if one.members}

        await until(is_empty)


async def test_closing_does_not_wait_long_for_a_broker_that_does_not_answer(shared_server, topic):
    consumer = Consumer(topic, bootstrap=shared_server.native, group=topic)
    async with consumer:
        assert await consumer.poll(limit=3) != []
        with shared_server.frozen():
            began = time.monotonic()
            await consumer.close()
            assert time.monotonic() - began < 12


# A broker that is away.


async def test_a_poll_waits_for_a_broker_that_is_away(shared_server, topic):
    async with Consumer(topic, bootstrap=shared_server.native, group=topic) as consumer:
        assert len(await consumer.poll()) == 20
        consumer._link.live.hang_up("for this test")
        await fill(shared_server.native, topic, 2)
        assert len(await consumer.poll()) == 2


async def test_a_broker_that_is_away_for_long_is_complained_about(monkeypatch, topic, broker):
    monkeypatch.setattr("goqueue.client.consumer.UNREACHABLE_FOR_S", 0.3)
    async with Consumer(topic, bootstrap=broker) as consumer:
        await consumer.poll()
        consumer._link._addresses = ("127.0.0.1:1",)
        consumer._link.live.hang_up("for this test")
        assert await consumer.poll(wait_ms=100) == []
        with pytest.raises(BrokerUnreachable):
            for _ in range(100):
                await consumer.poll(wait_ms=50)


# Records that cannot be read.


async def test_a_value_that_cannot_be_decompressed_is_named_and_can_be_passed_over(broker, topic):
    bad = codec.encode([Record(b"fine"), Record(b"\x01\0\0\0\x09garbage", flags=Flag.COMPRESSED), Record(b"behind")])
    async with Producer(broker) as producer:
        await (await producer.send_batch(topic, 0, bad, 3))
    log = LogId(topic, 0)
    async with Consumer(topic, bootstrap=broker) as consumer:
        consumer.pause(LogId(topic, 1))
        assert [one.offset for one in await consumer.poll()] == list(range(11))
        for _ in range(2):
            with pytest.raises(CorruptBatch, match=f"{topic}/0 at offset 11") as fault:
                await consumer.poll()
            assert "seek" in fault.value.hint
        consumer.seek(log, 12)
        assert [one.value for one in await consumer.poll()] == [b"behind"]


# Commits.


async def test_what_was_polled_is_committed_by_itself_once_more_is_asked_for(broker, topic):
    settings = {"bootstrap": broker, "group": topic, "auto_commit_ms": 50}
    async with Consumer(topic, **settings) as consumer:
        consumer.pause()
        first = await consumer.poll(limit=4)
        await asyncio.sleep(0.2)
        assert await committed(broker, topic) == {}
        await consumer.poll(limit=3)

        async def is_committed():
            return sum((await committed(broker, topic)).values()) == len(first)

        await until(is_committed)
        await asyncio.sleep(0.1)
        assert sum((await committed(broker, topic)).values()) == len(first)
    assert sum((await committed(broker, topic)).values()) == 7


async def test_a_loop_that_is_left_has_done_what_it_was_given_and_nothing_more(broker, topic):
    async with Consumer(topic, bootstrap=broker, group=topic) as consumer:
        given = 0
        async for _ in consumer:
            given += 1
            if given == 7:
                break
    assert sum((await committed(broker, topic)).values()) == 7
    async with Consumer(topic, bootstrap=broker, group=topic) as consumer:
        rest = await consumer.poll() + await consumer.poll(wait_ms=100)
    assert len(rest) == 13


async def test_the_message_over_which_a_program_failed_comes_again(broker, topic):
    seen = []
    with pytest.raises(ZeroDivisionError):
        async with Consumer(topic, bootstrap=broker, group=topic) as consumer:
            async for message in consumer:
                seen.append(message)
                if len(seen) == 5:
                    raise ZeroDivisionError
    async with Consumer(topic, bootstrap=broker, group=topic) as consumer:
        again = await consumer.poll() + await consumer.poll(wait_ms=100)
    assert len(again) == 16
    assert seen[4] in again


async def test_raw_batches_are_committed_by_themselves_too(broker, topic):
    async with Consumer(topic, bootstrap=broker, group=topic) as consumer:
        while not await consumer.poll_raw():
            pass
    assert sum((await committed(broker, topic)).values()) == 20


async def test_without_auto_commit_only_a_commit_commits(broker, topic):
    settings = {"bootstrap": broker, "group": topic, "auto_commit_ms": None}
    async with Consumer(topic, **settings) as consumer:
        assert len(await consumer.poll()) == 20
    assert await committed(broker, topic) == {}
    async with Consumer(topic, **settings) as consumer:
        await consumer.poll(limit=12)
        await consumer.commit()
        await consumer.poll()
    assert sum((await committed(broker, topic)).values()) == 12
    async with Consumer(topic, **settings) as consumer:
        assert len(await consumer.poll()) == 8
        await consumer.commit({LogId(topic, 0): 3})
    assert (await committed(broker, topic))[LogId(topic, 0)] == 3
