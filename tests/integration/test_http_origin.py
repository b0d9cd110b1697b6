"""Web pages of other sites: what they make a browser ask is refused, and so are names that only lead here."""

import json
import socket
from collections.abc import Iterator

import pytest

from tests.behaviour.serving import Server, running_server

SETTINGS = '[http]\nallowed_hosts = "mq.example.com, *.internal.example"\n'
Answer = tuple[int, dict]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("origin") / "broker", SETTINGS, flags=("--grpc", "")) as server:
        yield server


def ask(server: Server, method: str, path: str, *headers: str, body: str = "", version: str = "1.1") -> Answer:
    """With exactly these headers."""
    host, _, port = server.http.partition(":")
    with socket.create_connection((host, int(port)), timeout=20) as connection:
        lines = [f"{method} {path} HTTP/{version}", *headers, "Connection: close"]
        if body:
            lines.append(f"Content-Length: {len(body)}")
        connection.sendall("\r\n".join([*lines, "", body]).encode())
        received = b""
        while part := connection.recv(65536):
            received += part
    head, _, content = received.partition(b"\r\n\r\n")
    is_json = b"content-type: application/json" in head
    return int(head.split()[1]), json.loads(content) if is_json and content else {}


def port(server: Server) -> str:
    return server.http.rpartition(":")[2]


@pytest.mark.parametrize(
    "host",
    [
        *("localhost", "LOCALHOST", "localhost.", "app.localhost", "127.0.0.1", "[::1]", "10.1.2.3", "192.168.0.7"),
        *("mq.example.com", "MQ.example.com", "a.internal.example"),
    ],
)
def test_the_names_and_addresses_of_the_broker_are_answered(server: Server, host: str):
    for shown in (host, f"{host}:{port(server)}"):
        assert ask(server, "GET", "/topics", f"Host: {shown}")[0] == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example", "localhost.evil.example", "mq.example.com.evil.example", "internal.example", "127.0.0.1.nip.io"],
)
@pytest.mark.parametrize(
    "path", ["/topics", "/v1/topics", "/metrics", "/livez", "/console", "/", "/docs", "/schemas/subjects"]
)
def test_a_name_that_is_not_of_this_broker_is_refused_on_every_path(server: Server, host: str, path: str):
    status, answer = ask(server, "GET", path, f"Host: {host}")
    assert status == 403
    if not path.startswith("/schemas"):
        assert answer["code"] == "foreign_host"
        assert host in answer["error"]
        assert "http.allowed_hosts" in answer["hint"]


def test_a_topic_is_not_made_for_a_name_that_is_not_of_this_broker(server: Server):
    assert ask(server, "POST", "/topics", "Host: evil.example", body='{"name": "evil"}')[0] == 403
    assert ask(server, "GET", "/topics/evil", "Host: localhost")[0] == 404


@pytest.mark.parametrize(
    "headers",
    [
        ("Origin: http://evil.example",),
        ("Origin: http://evil.example", "Content-Type: text/plain"),
        ("Origin: null",),
        ("Origin: http://localhost:1",),
        ("Origin: http://localhost",),
        ("Origin: https://localhost:PORT",),
        ("Origin: http://127.0.0.1:PORT",),
        ("Origin: http://localhost:PORT.evil.example",),
        ("Origin: localhost:PORT",),
        ("Origin: file://",),
        ("Origin: ",),
        ("Sec-Fetch-Site: cross-site",),
        ("Sec-Fetch-Site: same-site",),
        ("Origin: http://evil.example", "Origin: http://localhost:PORT"),
        ("Origin: http://localhost:PORT", "Origin: http://evil.example"),
        ("Sec-Fetch-Site: cross-site", "Sec-Fetch-Site: same-origin"),
    ],
)
def test_a_page_of_another_origin_changes_nothing(server: Server, headers: tuple[str, ...]):
    sent = (f"Host: localhost:{port(server)}", *(one.replace("PORT", port(server)) for one in headers))
    asked = [
        ("POST", "/topics", '{"name": "foreign"}'),
        ("POST", "/v1/topics", '{"name": "foreign"}'),
        ("DELETE", "/topics/foreign", ""),
        ("GET", "/groups/g/poll?topics=foreign&timeout=0s", ""),
        ("GET", "/v1/groups/g/poll?topics=foreign&timeout=0s", ""),
        ("POST", "/console/topics/new", "name=foreign"),
    ]
    for method, path, body in asked:
        status, answer = ask(server, method, path, *sent, body=body)
        assert (status, answer["code"]) == (403, "foreign_page"), (method, path)


def test_a_page_of_the_broker_and_programs_without_an_origin_may_change(server: Server):
    here = f"localhost:{port(server)}"
    create = '{"name": "%s"}'
    assert ask(server, "POST", "/topics", f"Host: {here}", f"Origin: http://{here}", body=create % "page")[0] == 201
    assert ask(server, "POST", "/topics", f"Host: {here}", body=create % "program")[0] == 201
    # Behind a proxy that ends TLS and passes on what the browser asked for.
    proxied = ("Host: mq.example.com", "Origin: https://mq.example.com", "X-Forwarded-Proto: https")
    assert ask(server, "POST", "/topics", *proxied, body=create % "proxied")[0] == 201
    assert ask(server, "POST", "/topics", *proxied[:2], body=create % "bare")[0] == 403


def test_a_page_of_another_origin_may_read_nothing_more_than_before(server: Server):
    """Reading is left to browsers, which do not show an answer to such a page."""
    assert ask(server, "GET", "/topics", "Host: localhost", "Origin: http://evil.example")[0] == 200


@pytest.mark.parametrize("headers", [(), ("Host: localhost", "Host: localhost"), ("Host:",), ("Host: localhost:port",)])
def test_a_request_without_exactly_one_host_is_malformed(server: Server, headers: tuple[str, ...]):
    status, answer = ask(server, "GET", "/topics", *headers)
    assert (status, answer["code"]) == (400, "invalid_request")
    assert "Host header" in answer["error"]


def test_http_1_0_needs_no_host(server: Server):
    assert ask(server, "GET", "/topics", version="1.0")[0] == 200
