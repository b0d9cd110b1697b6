"""Connections that begin something and never finish it: they cost little, and are closed after a while."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.behaviour.serving import Server, running_server

MANY = 600
IMPATIENT = "[native]\nframe_within_ms = 1000\n[http]\nheaders_within_ms = 1000\n"
ANNOUNCED = (20 * 1024 * 1024).to_bytes(4, "big") + b"\x01\x00"
BEGUN = (60 * 1024).to_bytes(4, "big") + b"\x01\x00\x00\x00\x00\x01"
"""A first frame that may be, of which the rest does not come."""
MB = 1024 * 1024


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("half-open")) as server:
        # Whatever is loaded with the first request.
        assert is_alive(server)
        yield server


def is_alive(server: Server) -> bool:
    with connected(server.http) as asking:
        asking.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        return b"200 OK" in asking.recv(4096)


def resident(server: Server) -> int:
    return int(Path(f"/proc/{server.pid}/statm").read_text().split()[1]) * 4096


def connected(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=20)


@contextmanager
def half_open(address: str, begun: bytes, many: int = MANY) -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        opened = [stack.enter_context(connected(address)) for _ in range(many)]
        for one in opened:
            one.sendall(begun)
        yield opened


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "begun", "most_each"),
    [
        ("native", b"", 6 * 1024),
        ("native", BEGUN, 10 * 1024),
        ("http", b"", 12 * 1024),
        ("http", b"GET /topics HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", 16 * 1024),
        ("grpc", b"", 40 * 1024),
        ("grpc", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 40 * 1024),
    ],
    ids=["native silent", "native begun", "http silent", "http begun", "grpc silent", "grpc begun"],
)
def test_a_half_open_connection_costs_few_kilobytes(server: Server, name: str, begun: bytes, most_each: int):
    address = {"native": server.native, "http": server.http, "grpc": server.grpc}[name]
    with half_open(address, begun, 20):
        assert is_alive(server)
    before = resident(server)
    with half_open(address, begun):
        assert is_alive(server)
        assert resident(server) - before < MANY * most_each + 4 * MB


def test_a_first_frame_that_is_announced_as_large_is_refused_before_it_is_sent(server: Server):
    with connected(server.native) as connection:
        connection.sendall(ANNOUNCED)
        assert b"the limit is 65536" in connection.recv(4096)


def test_connections_that_do_not_finish_what_they_began_are_closed(tmp_path: Path):
    with running_server(tmp_path, IMPATIENT, flags=("--grpc", "")) as server:
        request = b"GET /topics HTTP/1.1\r\n"
        for address, begun in (
            (server.native, b""),
            (server.native, BEGUN),
            (server.http, b""),
            (server.http, request),
        ):
            with half_open(address, begun, 3) as opened:
                for one in opened:
                    while one.recv(4096):
                        pass
        server.stop()
