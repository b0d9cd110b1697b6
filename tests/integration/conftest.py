"""Brokers in processes of their own, and HTTP clients for them."""

from collections.abc import Iterator

import httpx
import pytest

from tests.behaviour.serving import Server, running_server


@pytest.fixture
def server(tmp_path) -> Iterator[Server]:
    """A broker of one's own: to stop, kill and start again."""
    with running_server(tmp_path / "broker") as running:
        yield running


@pytest.fixture(scope="session")
def shared_server(tmp_path_factory) -> Iterator[Server]:
    """A broker for many tests: each uses topics that no other does."""
    with running_server(tmp_path_factory.mktemp("shared") / "broker") as running:
        yield running


def client_of(server: Server) -> httpx.Client:
    return httpx.Client(base_url=f"http://{server.http}", timeout=30)


@pytest.fixture
def client(server) -> Iterator[httpx.Client]:
    with client_of(server) as opened:
        yield opened


@pytest.fixture
def http(shared_server) -> Iterator[httpx.Client]:
    with client_of(shared_server) as opened:
        yield opened


@pytest.fixture
def topic(http, request) -> str:
    """A topic that no other test uses."""
    name = "".join(letter if letter.isalnum() else "-" for letter in request.node.name)[:200]
    assert http.post("/topics", json={"name": name}).status_code == 201
    return name
