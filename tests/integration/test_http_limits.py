"""Clients that are too slow, too large or too many, told by bytes on a socket."""

import json
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import pytest

from tests.behaviour.serving import Server, eventually, running_server

SETTINGS = """
[http]
body_bytes = 100000
bytes_under_way = 150000
header_bytes = 4096
url_bytes = 2048
connections = 30
headers_within_ms = 700
body_within_ms = 700
response_within_ms = 700
idle_ms = 2000
"""


@pytest.fixture(scope="module")
def strict(tmp_path_factory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("strict") / "broker", SETTINGS) as server:
        httpx.post(f"http://{server.http}/topics", json={"name": "t"})
        yield server


@contextmanager
def connected(server: Server) -> Iterator[socket.socket]:
    host, port = server.http.split(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        yield connection


def everything(connection: socket.socket) -> bytes:
    """Until the server hangs up."""
    parts = []
    try:
        while part := connection.recv(65536):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


def answer_of(received: bytes) -> tuple[int, dict]:
    head, _, body = received.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)


def publish_head(length: int) -> bytes:
    return b"POST /topics/t/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % length


@pytest.mark.parametrize("beginning", [b"G", b"GET /topics HTTP/1.1\r\nHost: localhost\r\nX-Slow: ", b"\r\n"])
def test_slow_headers_are_cut_off(strict, beginning):
    with connected(strict) as connection:
        began = time.monotonic()
        connection.sendall(beginning)
        status, answer = answer_of(everything(connection))
        assert (status, answer["code"]) == (408, "request_timeout")
        assert 0.5 < time.monotonic() - began < 5


@pytest.mark.parametrize("drop", [b"a", b"\r\n"])
def test_a_byte_now_and_then_does_not_help(strict, drop):
    with connected(strict) as connection:
        connection.sendall(b"GET /topics HTTP/1.1\r\nHost: localhost\r\nX-A: " if drop == b"a" else drop)
        connection.settimeout(0.1)
        received = b""
        deadline = time.monotonic() + 5
        while b"408" not in received:
            assert time.monotonic() < deadline
            try:
                connection.sendall(drop)
                received += connection.recv(1000)
            except TimeoutError:
                pass


def test_a_slow_body_is_cut_off(strict):
    with connected(strict) as connection:
        began = time.monotonic()
        connection.sendall(publish_head(1000) + b'{"value": "')
        for _ in range(3):
            time.sleep(0.1)
            connection.sendall(b"x")
        status, answer = answer_of(everything(connection))
        assert (status, answer["code"]) == (408, "request_timeout")
        assert "body" in answer["error"]
        assert 0.5 < time.monotonic() - began < 5


def test_a_slow_body_after_the_answer_is_cut_off_too(strict):
    with connected(strict) as connection:
        connection.sendall(b"POST /topics/t/messages HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n")
        connection.settimeout(0.1)
        received, deadline, is_open = b"", time.monotonic() + 6, True
        while is_open:
            assert time.monotonic() < deadline
            try:
                connection.sendall(b"x")
                is_open = bool(part := connection.recv(1000))
                received += part
            except TimeoutError:
                pass
            except (ConnectionResetError, BrokenPipeError):
                is_open = False
        assert answer_of(received)[0] == 413


def test_an_idle_connection_is_closed_before_and_after_a_request(strict):
    with connected(strict) as silent, connected(strict) as used:
        used.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b" 200 OK" in used.recv(1000)
        began = time.monotonic()
        assert everything(silent) == b""
        assert everything(used) == b""
        assert 1 < time.monotonic() - began < 8


def test_a_connection_that_is_used_is_kept(strict):
    with httpx.Client(base_url=f"http://{strict.http}", limits=httpx.Limits(max_connections=1)) as client:
        for _ in range(4):
            time.sleep(0.5)
            assert client.post("/topics/t/messages", json={"value": "x" * 1000}).status_code == 200


def test_a_body_that_is_too_large_is_refused_whether_it_is_announced_or_not(strict):
    url = f"http://{strict.http}/topics/t/messages"
    announced = httpx.post(url, content=b"x" * 100_001)
    in_chunks = httpx.post(url, content=iter([b"x" * 10_000] * 50))
    for response in (announced, in_chunks):
        assert (response.status_code, response.json()["code"]) == (413, "body_too_large")
        assert "100000" in response.json()["error"]


def test_a_client_that_asks_first_need_not_send_a_body_that_is_too_large(strict):
    with connected(strict) as connection:
        connection.sendall(
            b"POST /topics/t/messages HTTP/1.1\r\nHost: localhost\r\n"
            b"Expect: 100-continue\r\nContent-Length: 200000\r\n\r\n"
        )
        assert connection.recv(1000).startswith(b"HTTP/1.1 413 ")
    with connected(strict) as connection:
        connection.sendall(
            b"POST /topics/t/messages HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 14\r\n\r\n"
        )
        assert connection.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b'{"value": "x"}')
        assert connection.recv(1000).startswith(b"HTTP/1.1 200 OK")


def test_a_url_that_is_too_long_is_refused(strict):
    assert httpx.get(f"http://{strict.http}/topics?{'a' * 2048}").json()["code"] == "url_too_long"
    with connected(strict) as connection:
        connection.sendall(b"GET /" + b"a" * 3000)
        assert answer_of(everything(connection))[0] == 414
    with connected(strict) as connection:
        # More than the parser of URLs takes, with whatever comes behind it.
        connection.sendall(b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert answer_of(everything(connection))[0] == 414


def test_headers_that_are_too_large_are_refused_also_when_they_never_end(strict):
    response = httpx.get(f"http://{strict.http}/topics", headers={"x-a": "a" * 4096})
    assert (response.status_code, response.json()["code"]) == (431, "headers_too_large")
    with connected(strict) as connection:
        connection.sendall(b"GET /topics HTTP/1.1\r\nHost: localhost\r\nX-A: ")
        received = b""
        connection.settimeout(0.05)
        for _ in range(100):
            try:
                connection.sendall(b"a" * 1000)
                received = connection.recv(1000)
                break
            except TimeoutError:
                pass
        assert received.startswith(b"HTTP/1.1 431 ")


def test_a_client_that_does_not_take_its_answer_is_cut_off(strict):
    with httpx.Client(base_url=f"http://{strict.http}") as client:
        client.post("/topics", json={"name": "large", "num_partitions": 1})
        for _ in range(40):
            assert client.post("/topics/large/messages", json={"value": "x" * 90_000}).status_code == 200
    with connected(strict) as connection:
        # More than the buffers of both ends can hold.
        connection.sendall(b"GET /topics/large/partitions/0/messages HTTP/1.1\r\nHost: localhost\r\n\r\n" * 8)
        time.sleep(3)
        assert len(everything(connection)) < 8 * 40 * 90_000


def test_what_is_not_http_is_refused_in_the_same_shape(strict):
    with connected(strict) as connection:
        connection.sendall(b"\x00\x01\x02 what is this\r\n\r\n")
        status, answer = answer_of(everything(connection))
        assert (status, answer["code"]) == (400, "invalid_request")


def test_requests_sent_ahead_are_answered_in_order(strict):
    with connected(strict) as connection:
        for path in (b"/version", b"/nowhere", b"/livez"):
            connection.sendall(b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path)
        received = b""
        while received.count(b"HTTP/1.1 ") < 3 or not received.endswith(b"}"):
            received += connection.recv(65536)
        statuses = [part[:3] for part in received.split(b"HTTP/1.1 ")[1:]]
        assert statuses == [b"200", b"404", b"200"]


def test_connections_beyond_the_limit_are_told_so(strict):
    opened = []
    try:
        host, port = strict.http.split(":")
        opened = [socket.create_connection((host, int(port)), timeout=10) for _ in range(30)]
        with connected(strict) as connection:
            status, answer = answer_of(everything(connection))
        assert (status, answer["code"]) == (503, "server_busy")
    finally:
        for one in opened:
            one.close()
    eventually(lambda: _is_served(strict))


def _is_served(server: Server) -> bool:
    try:
        return httpx.get(f"http://{server.http}/health").status_code == 200
    except httpx.TransportError:
        return False


def test_a_broker_that_stops_lets_requests_finish_and_closes_idle_connections(tmp_path):
    with running_server(tmp_path / "broker") as server, connected(server) as idle, connected(server) as busy:
        idle.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        idle.recv(1000)
        busy.sendall(publish_head(100))
        time.sleep(0.2)
        with ThreadPoolExecutor(1) as pool:
            stopping = pool.submit(server.stop)
            assert everything(idle) == b""
            busy.sendall(b"x" * 100)
            received = everything(busy)
            assert received.startswith(b"HTTP/1.1 400 ")
            assert b"connection: close" in received
            assert stopping.result() < 10


def test_a_broker_that_stops_ends_long_polls(tmp_path):
    with running_server(tmp_path / "broker") as server, httpx.Client(base_url=f"http://{server.http}") as client:
        client.post("/topics", json={"name": "t"})
        member = client.post("/groups/g/join", json={"client_id": "c", "topics": ["t"]}).json()
        query = {"member_id": member["member_id"], "generation": member["generation"], "timeout": "30s"}
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(client.get, "/groups/g/poll", params=query, timeout=40)
            time.sleep(0.5)
            assert not waiting.done()
            assert server.stop() < 10
            assert (waiting.result().status_code, waiting.result().json()["code"]) == (503, "not_ready")
