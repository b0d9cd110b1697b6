"""Clients that hang up before they are answered: what they asked is done or refused, and the log stays clean."""

import asyncio
import json
import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import grpc
import msgspec
import pytest

from goqueue.client import Admin
from goqueue.client.link import Link
from goqueue.model.topic import WantedConfig
from goqueue.wire.grpc.v1 import topics_pb2, topics_pb2_grpc
from goqueue.wire.native import messages
from goqueue.wire.native.frames import Opcode
from tests.behaviour.serving import Server, running_server

SCHEMA = json.dumps({"schema": json.dumps({"type": "record", "name": "R", "fields": []})})
WRONG_SCHEMA = json.dumps({"schema": "{"})


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("hung-up")) as running:
        yield running


def mistakes(name: str) -> list[tuple[Opcode, Any]]:
    """A change that takes a moment, and those behind it that will be refused."""
    return [
        (Opcode.CREATE_TOPIC, messages.CreateTopic(name, 4, WantedConfig())),
        (Opcode.CREATE_TOPIC, messages.CreateTopic(name, 4, WantedConfig())),
        (Opcode.CREATE_TOPIC, messages.CreateTopic("other", -1, WantedConfig())),
        (Opcode.ALTER_TOPIC, messages.AlterTopic("unknown", {})),
        (Opcode.ALTER_TOPIC, messages.AlterTopic(name, {"retention_ms": "nonsense"})),
        (Opcode.DELETE_TOPIC, messages.DeleteTopic("unknown")),
    ]


async def topics_of(server: Server) -> set[str]:
    async with Admin(server.native) as admin:
        return {topic.name for topic in await admin.topics()}


async def test_a_native_client_that_hangs_up_after_mistakes_leaves_no_traceback(server: Server):
    for turn in range(10):
        connection = await Link(server.native).connection()
        with server.frozen():
            # They arrive together, so the later ones wait for the first when the connection is lost.
            for opcode, message in mistakes(f"native-{turn}"):
                connection.send(opcode, msgspec.msgpack.encode(message), b"", lambda *_: None)
            await asyncio.sleep(0)
            await connection.close()
    wanted = {f"native-{turn}" for turn in range(10)}
    while not wanted <= await topics_of(server):
        pass
    server.check_log()


def http(server: Server, *requests: tuple[str, str, str]) -> None:
    """All of them, each over a connection that is closed at once."""
    host, _, port = server.http.partition(":")
    for method, path, body in requests:
        with suppress(OSError), socket.create_connection((host, int(port))) as connection:
            head = f"{method} {path} HTTP/1.1\r\nHost: {server.http}\r\nContent-Length: {len(body)}\r\n\r\n"
            connection.sendall(f"{head}{body}".encode())


async def test_an_http_client_that_hangs_up_after_mistakes_leaves_no_traceback(server: Server):
    for turn in range(5):
        name = f"http-{turn}"
        with server.frozen():
            http(
                server,
                ("POST", "/topics", json.dumps({"name": name})),
                ("POST", "/topics", json.dumps({"name": name})),
                ("PATCH", "/topics/unknown", json.dumps({"retention_ms": 1000})),
                ("DELETE", "/topics/unknown", ""),
                ("POST", "/topics/unknown/compact", ""),
                ("POST", f"/schemas/subjects/{name}/versions", SCHEMA),
                ("POST", f"/schemas/subjects/{name}/versions", WRONG_SCHEMA),
                ("DELETE", "/schemas/subjects/unknown", ""),
                ("GET", "/groups/unknown/poll?topics=unknown&timeout=5s", ""),
                ("GET", f"/groups/g/poll?topics={name}&timeout=5s", ""),
            )
    while not {f"http-{turn}" for turn in range(5)} <= await topics_of(server):
        pass
    server.check_log()


async def test_a_grpc_client_that_hangs_up_after_mistakes_leaves_no_traceback(server: Server):
    for turn in range(5):
        with grpc.insecure_channel(server.grpc, (("grpc.use_local_subchannel_pool", 1),)) as channel:
            grpc.channel_ready_future(channel).result(20)
            stub = topics_pb2_grpc.TopicServiceStub(channel)
            create = topics_pb2.CreateTopicRequest(name=f"grpc-{turn}")
            with server.frozen():
                calls = [stub.CreateTopic.future(create) for _ in range(3)]
                calls += [stub.DeleteTopic.future(topics_pb2.DeleteTopicRequest(name="unknown")) for _ in range(5)]
            # Cancelled while the broker is at the first of them, or just before or after that.
            await asyncio.sleep(0.002 * turn)
            for call in calls:
                call.cancel()
    async with Admin(server.native) as admin:
        await admin.create_topic("afterwards", 1)
    server.check_log()
