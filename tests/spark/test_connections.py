"""How often Spark's driver connects: counted by a relay between it and the broker."""

import asyncio
import threading
from contextlib import contextmanager

import pytest

from tests.behaviour.serving import eventually


class Relay:
    """Passes bytes on to an address, and counts connections and what clients send."""

    def __init__(self, target):
        self._host, _, port = target.rpartition(":")
        self._port = int(port)
        self.connections = self.requests = 0
        self.address = ""

    async def serve(self, ready, ended):
        server = await asyncio.start_server(self._relay, "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()
        self.address = f"{host}:{port}"
        ready.set()
        async with server:
            await ended.wait()

    async def _relay(self, reader, writer):
        self.connections += 1
        upstream_reader, upstream_writer = await asyncio.open_connection(self._host, self._port)
        await asyncio.gather(self._pass(reader, upstream_writer, counted=True), self._pass(upstream_reader, writer))

    async def _pass(self, reader, writer, *, counted=False):
        try:
            while data := await reader.read(65_536):
                self.requests += counted
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()


@contextmanager
def relaying(target):
    relay, ready, loop, ended = Relay(target), threading.Event(), asyncio.new_event_loop(), asyncio.Event()
    thread = threading.Thread(target=lambda: loop.run_until_complete(relay.serve(ready, ended)))
    thread.start()
    assert ready.wait(10)
    try:
        yield relay
    finally:
        loop.call_soon_threadsafe(ended.set)
        thread.join()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()


@pytest.fixture
def relay(server):
    with relaying(server.native) as found:
        yield found


def test_a_batch_is_planned_over_one_connection(table, relay, topic):
    frame = table(subscribe=topic).option("bootstrap", relay.address).load()
    assert frame.where("partition = 0 and offset > 3 and timestamp > now()").count() == 0
    # There is nothing to read, so all of them are the driver's.
    assert relay.connections == 1


@pytest.mark.parametrize("options", [{}, {"queue": "workers"}], ids=["stream", "queue"])
def test_a_stream_asks_over_one_connection_however_many_triggers_it_has(spark, relay, topic, tmp_path, options):
    reader = spark.readStream.format("goqueue").option("bootstrap", relay.address).option("subscribe", topic)
    writer = reader.options(**options).load().writeStream.format("noop").option("checkpointLocation", str(tmp_path))
    query = writer.trigger(processingTime="20 milliseconds").start()
    try:
        eventually(lambda: relay.requests >= 30 or query.exception() is not None, 120)
        assert query.exception() is None
    finally:
        query.stop()
    assert relay.connections == 1
