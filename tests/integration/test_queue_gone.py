"""Workers that go away before they are answered: what was being lent to them is there for others at once."""

import asyncio
import re
import urllib.request

import pytest

from goqueue.client import Admin, Producer, Worker
from goqueue.client.link import Link
from goqueue.wire.native import messages
from goqueue.wire.native.frames import Opcode
from tests.behaviour.serving import eventually, name_of, running_server

ONE_OF_EACH = {"native": 1, "http": 1, "schemas": 0, "grpc": 0}
"""Connections while one worker stays, its producer has not sent yet, and somebody asks how many there are."""


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
        writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        await writer.drain()
        writer.close()
        await writer.wait_closed()


def open_connections(server):
    with urllib.request.urlopen(f"http://{server.http}/metrics", timeout=10) as answer:
        text = answer.read().decode()
    found = re.findall(r'^goqueue_broker_connections\{listener="(\w+)"\} (\S+)$', text, re.MULTILINE)
    return {listener: int(float(number)) for listener, number in found}


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
        assert await other.take(wait_ms=0) == []
        eventually(lambda: open_connections(server) == ONE_OF_EACH)
        await goes(server, topic)
        # Before the broker has seen that it went, it may well lend to it.
        eventually(lambda: open_connections(server) == ONE_OF_EACH)
        await producer.send_many(topic, [b"one", b"two"])
        jobs = await other.take(wait_ms=5000)
        assert [(job.value, job.deliveries) for job in jobs] == [(b"one", 1), (b"two", 1)]
        await other.ack(*jobs)
