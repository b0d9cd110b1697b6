"""Workers that go away before they are answered: what was being lent to them is there for others at once."""

import asyncio

import pytest

from goqueue.client import Admin, Producer, Worker
from goqueue.client.link import Link
from goqueue.wire.native import messages
from goqueue.wire.native.frames import Opcode
from tests.behaviour.serving import name_of, running_server


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running_server(tmp_path_factory.mktemp("gone") / "broker") as running:
        yield running


@pytest.fixture
async def topic(server, request):
    name = name_of(request.node.nodeid)
    async with Admin(server.native) as admin:
        await admin.create_topic(name, 1)
    return name


async def native_worker_goes(server, topic):
    link = Link(server.native)
    connection = await link.connection()
    request = messages.Take(topic, "gone", (topic,), wait_ms=20_000)
    with server.frozen():
        asking = asyncio.create_task(connection.request(Opcode.TAKE, request, messages.TakeReply))
        await asyncio.wait([asking], timeout=0.05)
        await link.close()
    await asyncio.wait([asking])
    assert asking.exception() is not None


async def http_worker_goes(server, topic):
    host, _, port = server.http.partition(":")
    _, writer = await asyncio.open_connection(host, int(port))
    with server.frozen():
        path = f"/groups/{topic}/poll?topics={topic}&consumer=gone&timeout=20s"
        writer.write(f"GET {path} HTTP/1.1\r\nHost: broker\r\n\r\n".encode())
        await writer.drain()
        writer.close()
        await writer.wait_closed()


@pytest.mark.parametrize("goes", [native_worker_goes, http_worker_goes])
async def test_what_was_leased_to_a_worker_that_went_before_the_answer_is_there_for_others(server, topic, goes):
    async with (
        Producer(server.native) as producer,
        Worker(topic, group=topic, bootstrap=server.native) as other,
    ):
        assert await other.take(wait_ms=0) == []
        for number in range(8):
            await producer.send_many(topic, [b"%d-%d" % (number, step) for step in range(20)])
            await goes(server, topic)
            found = []
            async with asyncio.timeout(10):
                while len(found) < 20:
                    found += await other.take(wait_ms=1000)
            assert {job.failures for job in found} == {0}
            assert len({job.value for job in found}) == 20
            await other.ack(*found)
        assert await other.take(wait_ms=0) == []


@pytest.mark.parametrize("goes", [native_worker_goes, http_worker_goes])
async def test_a_worker_that_went_while_it_waited_gets_nothing_of_what_comes_later(server, topic, goes):
    async with (
        Producer(server.native) as producer,
        Worker(topic, group=topic, bootstrap=server.native) as other,
    ):
        await goes(server, topic)
        await producer.send_many(topic, [b"one", b"two"])
        jobs = await other.take(wait_ms=5000)
        assert [(job.value, job.deliveries) for job in jobs] == [(b"one", 1), (b"two", 1)]
        await other.ack(*jobs)
