"""A broker that is killed and comes back: nothing that was confirmed is lost, nothing is written twice."""

import asyncio
import shutil
import threading
from collections import Counter

import pytest

from goqueue.client import Admin, Consumer, Producer, sync
from goqueue.errors import RequestTimeout
from tests.behaviour.serving import name_of, running_server

PARTITIONS = 3


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """One for all of them: what a test leaves behind is recovered with every kill that follows."""
    with running_server(tmp_path_factory.mktemp("retries") / "broker") as running:
        yield running


@pytest.fixture
def topic(request):
    return name_of(request.node.nodeid)


async def read_all(address, topic):
    found = {}
    async with Consumer(topic, bootstrap=address) as consumer:
        while some := await consumer.poll(wait_ms=0, limit=10_000):
            for one in some:
                found.setdefault(one.partition, []).append(one)
    return found


async def check(address, topic, places):
    """Every record once, where its delivery says, and in the order of sending."""
    found = await read_all(address, topic)
    for partition in range(PARTITIONS):
        records = found[partition]
        assert [one.offset for one in records] == list(range(len(records)))
        assert [int(one.value) for one in records] == list(range(len(records)))
        assert [places[partition, int(one.value)] for one in records] == [one.offset for one in records]
    assert sum(map(len, found.values())) == len(places)


async def send_through_kills(server, topic, kills, **settings):
    async with Admin(server.native) as admin:
        await admin.create_topic(topic, PARTITIONS)
    stop = asyncio.Event()
    places = {}

    async with Producer(server.native, **settings) as producer:

        async def send(partition):
            number, waiting = 0, []
            while not stop.is_set():
                waiting.append((number, await producer.send(topic, b"%d" % number, partition=partition)))
                number += 1
                await asyncio.sleep(0)
                if len(waiting) >= 50:
                    first, delivery = waiting.pop(0)
                    places[partition, first] = (await delivery).offset
            for first, delivery in waiting:
                places[partition, first] = (await delivery).offset

        sending = [asyncio.create_task(send(partition)) for partition in range(PARTITIONS)]
        for _ in range(kills):
            before = len(places)
            while len(places) < before + 200:
                assert not any(task.done() for task in sending)
                await asyncio.sleep(0.005)
            await asyncio.to_thread(server.crash_and_restart)
        stop.set()
        await asyncio.gather(*sending)
    await check(server.native, topic, places)


async def test_every_record_is_written_once_and_in_order_though_the_broker_is_killed(server, topic):
    await send_through_kills(server, topic, 2, linger_ms=1, batch_records=10)


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{"linger_ms": 0}, {"batch_records": 3, "durability": "memory"}], ids=str)
async def test_every_record_is_written_once_and_in_order_through_kill_after_kill(server, topic, settings):
    await send_through_kills(server, topic, 8, **settings)


async def test_first_records_of_producers_that_a_kill_meets_are_written_once(server, topic):
    async with Admin(server.native) as admin:
        await admin.create_topic(topic, PARTITIONS)
    stop = asyncio.Event()
    confirmed, in_doubt = set(), set()

    async def send_first_records(sender):
        number = 0
        while not stop.is_set():
            value = b"%d-%d" % (sender, number)
            async with Producer(server.native) as producer:
                try:
                    await (await producer.send(topic, value))
                except RequestTimeout as error:
                    assert "may have been written" in error.message
                    in_doubt.add(value)
                else:
                    confirmed.add(value)
            number += 1

    sending = [asyncio.create_task(send_first_records(sender)) for sender in range(8)]
    for _ in range(3):
        enough = len(confirmed) + 100
        while len(confirmed) < enough:
            assert not any(task.done() for task in sending)
            await asyncio.sleep(0.005)
        await asyncio.to_thread(server.crash_and_restart)
    stop.set()
    await asyncio.gather(*sending)
    written = Counter(one.value for records in (await read_all(server.native, topic)).values() for one in records)
    assert set(written.values()) == {1}
    assert confirmed <= set(written) <= confirmed | in_doubt


async def test_a_broker_that_forgot_a_producer_gets_no_record_of_it_twice(tmp_path, topic):
    """Its data folder is put back to an earlier copy while batches are under way, so their producer is unknown."""
    with running_server(tmp_path) as server:
        async with Admin(server.native) as admin:
            await admin.create_topic(topic, 1)
        server.stop()
        shutil.copytree(tmp_path / "data", tmp_path / "copy")
        server.start()
        async with Producer(server.native, linger_ms=0) as producer:
            await (await producer.send(topic, b"known"))
            server.freeze()
            in_doubt = await producer.send(topic, b"in doubt")
            await asyncio.sleep(0.05)
            server.kill()
            shutil.rmtree(tmp_path / "data")
            (tmp_path / "copy").rename(tmp_path / "data")
            await asyncio.to_thread(server.start)
            with pytest.raises(RequestTimeout, match="may have been written"):
                await in_doubt
            await (await producer.send(topic, b"later"))
        found = await read_all(server.native, topic)
        assert [one.value for one in found[0]] == [b"later"]


async def test_threads_that_send_through_a_kill_lose_and_repeat_nothing(server, topic):
    with sync.Admin(server.native) as admin:
        admin.create_topic(topic, PARTITIONS)
    stop = threading.Event()
    places = {}

    def send(producer, partition):
        deliveries = []
        while not stop.is_set():
            deliveries.append(producer.send(topic, b"%d" % len(deliveries), partition=partition))
            if len(deliveries) % 10 == 0:
                deliveries[-1].result(60)
        places.update({(partition, number): one.result(60).offset for number, one in enumerate(deliveries)})

    with sync.Producer(server.native, linger_ms=1) as producer:
        threads = [threading.Thread(target=send, args=(producer, partition)) for partition in range(PARTITIONS)]
        for thread in threads:
            thread.start()
        await asyncio.to_thread(server.crash_and_restart)
        stop.set()
        for thread in threads:
            thread.join()
    await check(server.native, topic, places)


async def test_records_sent_while_the_broker_is_away_are_written_when_it_is_back(server, topic):
    async with Admin(server.native) as admin, Producer(server.native) as producer:
        await admin.create_topic(topic, 1)
        await (await producer.send(topic, b"0"))
        server.kill()
        deliveries = [await producer.send(topic, b"%d" % number) for number in range(1, 500)]
        many = asyncio.create_task(producer.send_many(topic, [b"%d" % number for number in range(500, 1000)]))
        await asyncio.sleep(0.1)
        assert not any(one.done() for one in deliveries)
        await asyncio.to_thread(server.start)
        places = [*(await asyncio.gather(*deliveries)), *(await many)]
        assert [one.offset for one in places] == list(range(1, 1000))
    assert [one.value for one in (await read_all(server.native, topic))[0]] == [b"%d" % n for n in range(1000)]


async def test_consumers_of_a_group_read_on_through_a_kill_as_the_same_members(server, topic):
    async with Admin(server.native) as admin, Producer(server.native) as producer:
        await admin.create_topic(topic, 4)
        seen = []

        async def consume(consumer):
            async for message in consumer:
                seen.append((message.partition, message.offset))
                await consumer.commit()

        settings = {"bootstrap": server.native, "group": topic, "auto_commit_ms": None}
        async with Consumer(topic, **settings) as first, Consumer(topic, **settings) as second:
            while {len(first.assigned), len(second.assigned)} != {2}:
                await asyncio.sleep(0.01)
            before = (first.assigned, second.assigned, await members(admin, topic))
            tasks = [asyncio.create_task(consume(one)) for one in (first, second)]
            for number in range(40):
                await producer.send(topic, b"", partition=number % 4)
            await producer.flush()
            while len(seen) < 40:
                await asyncio.sleep(0.01)
            await asyncio.to_thread(server.crash_and_restart)
            for number in range(40):
                await producer.send(topic, b"", partition=number % 4)
            await producer.flush()
            async with asyncio.timeout(20):
                while len(set(seen)) < 80:
                    assert not any(task.done() for task in tasks), [task.exception() for task in tasks if task.done()]
                    await asyncio.sleep(0.01)
            assert (first.assigned, second.assigned, await members(admin, topic)) == before
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
    assert sorted(seen) == [(partition, offset) for partition in range(4) for offset in range(20)]


async def members(admin, topic):
    found = await admin.describe_group(topic)
    return found.generation, sorted(one.member_id for one in found.members)
