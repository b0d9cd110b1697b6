"""A broker with few descriptors: it limits its connections, keeps serving those it has, and has enough for files."""

import os
import re
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from goqueue.client.sync import Admin, Consumer, Producer
from goqueue.model.topic import TopicConfig
from tests.behaviour.serving import Server, eventually, running_server

SMALL_SEGMENTS = "[storage]\nsegment_bytes = 4096\n"
WITHIN_S = 30.0
SPARE = 8
"""Descriptors that must be free with all connections open."""


def limits(server: Server) -> dict[str, int]:
    (said,) = [line for line in server.log() if line["event"] == "limits follow from the limit of open files"]
    return {name: int(str(most)) for name, most in said.items() if name not in ("event", "level", "timestamp")}


def descriptors(server: Server) -> int:
    return len(os.listdir(f"/proc/{server.pid}/fd"))


def processor_ticks(server: Server) -> int:
    fields = Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def connected(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=WITHIN_S)


@contextmanager
def every_slot_taken(server: Server) -> Iterator[None]:
    """By connections that say nothing, on each listener until they are refused, and then some."""
    most = limits(server)
    with ExitStack() as stack:
        for name, address in (("native", server.native), ("http", server.http), ("grpc", server.grpc)):
            for _ in range(most[f"{name}_connections"] + SPARE):
                stack.enter_context(connected(address))
        yield


@pytest.mark.slow
@pytest.mark.parametrize("open_files", [64, 256, 1024])
def test_a_broker_without_descriptors_keeps_serving(tmp_path: Path, open_files: int):
    with running_server(tmp_path, SMALL_SEGMENTS, open_files=open_files) as server:
        most = limits(server)
        assert most["open_files"] == open_files
        with (
            Admin(server.native) as admin,
            Producer(server.native) as producer,
            httpx.Client(base_url=f"http://{server.http}") as http,
        ):
            admin.create_topic("t", 2)
            producer.send("t", b"first").result(WITHIN_S)
            assert http.get("/livez").status_code == 200
            with every_slot_taken(server):
                # Segments are rolled, topics are made, checkpoints are written, also those of a clean stop.
                for number in range(30):
                    producer.send("t", bytes(1024)).result(WITHIN_S)
                    admin.create_topic(f"t{number}", 2)
                    producer.send(f"t{number}", b"x").result(WITHIN_S)
                assert http.post("/topics/t/messages", json={"value": "x"}).status_code == 200
                shown = http.get("/metrics").text
                assert f'goqueue_broker_connection_limit{{listener="native"}} {most["native_connections"]}.0' in shown
                assert re.search(r'goqueue_broker_refused_connections_total\{listener="native"\} [1-9]', shown)
                assert descriptors(server) < open_files
                began = processor_ticks(server)
                time.sleep(1)
                assert processor_ticks(server) - began < 50, "the broker spins"
        # The connections are gone, and others are served.
        eventually(lambda: _records(server) == 62, within_s=WITHIN_S)
        server.stop()
        server.start()
        assert _records(server) == 62
        server.stop()


def _records(server: Server) -> int:
    with suppress(httpx.TransportError):
        return int(httpx.get(f"http://{server.http}/stats").json().get("records", 0))
    return 0


def test_a_connection_beyond_the_limit_is_told_so_on_each_listener(tmp_path: Path):
    with running_server(tmp_path, flags=("--grpc", ""), open_files=64) as server:
        most = limits(server)
        with ExitStack() as stack:
            for name, address in (("native", server.native), ("http", server.http)):
                for _ in range(most[f"{name}_connections"]):
                    stack.enter_context(connected(address))
                refused = stack.enter_context(connected(address))
                assert b"too many connections" in refused.recv(4096)
        # The client is told before the log is.
        eventually(lambda: [line["event"] for line in server.log()].count("connections are refused") == 2)


def test_a_broker_does_not_start_with_too_few_descriptors(tmp_path: Path):
    server = Server(tmp_path, open_files=63)
    server.launch()
    eventually(lambda: not server.is_running, within_s=WITHIN_S)
    said = (tmp_path / "server.log").read_text()
    assert "the limit of open files must be at least 64, got 63" in said
    assert "ulimit -n" in said
    assert "Traceback" not in said
    assert not (tmp_path / "data").exists()


def test_more_partitions_than_descriptors_are_written_and_read(tmp_path: Path):
    with running_server(tmp_path, flags=("--grpc", ""), open_files=64) as server:
        with Admin(server.native) as admin, Producer(server.native) as producer:
            admin.create_topic("wide", 100, TopicConfig())
            for turn in range(2):
                sent = [producer.send("wide", b"%d" % turn, partition=number) for number in range(100)]
                for one in sent:
                    one.result(WITHIN_S)
        server.kill()
        server.start()
        with Consumer("wide", bootstrap=server.native, start="earliest") as consumer:
            values: list[bytes | None] = []
            while len(values) < 200:
                found = consumer.poll(wait_ms=5000)
                assert found
                values += [record.value for record in found]
        assert sorted(values, key=str) == [b"0"] * 100 + [b"1"] * 100
        server.stop()
