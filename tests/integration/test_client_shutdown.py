"""A broker that is told to stop while clients are at work: quickly, cleanly, and nothing half-done."""

import asyncio
import threading

import pytest

from goqueue.client import Admin, Consumer, Producer, sync
from tests.behaviour.serving import running_server


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running_server(tmp_path_factory.mktemp("shutdown") / "broker") as running:
        yield running


async def test_a_broker_with_busy_and_waiting_clients_stops_in_time_and_finishes_what_it_has_begun(server):
    confirmed, polled = [], []

    async def publish(producer, partition):
        while True:
            confirmed.append(await (await producer.send("orders", b"%d" % len(confirmed), partition=partition)))

    async def consume(consumer):
        while True:
            polled.extend(await consumer.poll(wait_ms=60_000))

    async with Admin(server.native) as admin:
        await admin.create_topic("orders", 3)
        await admin.create_topic("quiet", 1)
    producer = Producer(server.native, linger_ms=0)
    consumers = [Consumer("orders", bootstrap=server.native, group="billing") for _ in range(2)]
    consumers.append(Consumer("quiet", bootstrap=server.native))
    for one in consumers:
        await one.__aenter__()
    idle = Admin(server.native)
    await idle.topics()
    tasks = [asyncio.create_task(publish(producer, number)) for number in range(3)]
    tasks += [asyncio.create_task(consume(one)) for one in consumers]
    while len(confirmed) < 100 or len(polled) < 50:
        await asyncio.sleep(0.01)

    took = await asyncio.to_thread(server.stop)
    assert took < 5

    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    await producer.close(flush=False)
    for one in consumers:
        await one.close()
    await idle.close()
    await asyncio.to_thread(server.start)
    async with Consumer("orders", bootstrap=server.native) as consumer:
        found = set()
        while some := await consumer.poll(wait_ms=0):
            found |= {(one.partition, one.offset) for one in some}
    assert {(one.partition, one.offset) for one in confirmed} <= found


async def test_blocking_clients_do_not_hold_up_a_stop_either(server):
    with sync.Admin(server.native) as admin:
        admin.create_topic("payments", 1)
    consumer = sync.Consumer("payments", bootstrap=server.native, group="blocking")
    with consumer, sync.Producer(server.native) as producer:
        producer.send("payments", b"value").result(10)
        assert len(consumer.poll(wait_ms=5000)) == 1
        polling = threading.Thread(target=consumer.poll, kwargs={"wait_ms": 3000})
        polling.start()
        assert await asyncio.to_thread(server.stop) < 5
        await asyncio.to_thread(polling.join)
    assert [thread.name for thread in threading.enumerate() if "goqueue" in thread.name] == []
