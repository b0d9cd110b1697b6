"""One broker for the tests of a file."""

from collections.abc import Iterator

import pytest

from tests.behaviour.serving import Server, name_of, running_server
from tests.integration.grpc.talking import Stubs, connected, create_topic


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with running_server(tmp_path_factory.mktemp("broker")) as running:
        yield running


@pytest.fixture(scope="module")
def stubs(server: Server) -> Iterator[Stubs]:
    with connected(server.grpc) as made:
        yield made


@pytest.fixture
async def topic(server: Server, request: pytest.FixtureRequest) -> str:
    """With one partition, for this test alone."""
    return await create_topic(server.native, name_of(request.node.nodeid))


@pytest.fixture
async def wide_topic(server: Server, request: pytest.FixtureRequest) -> str:
    """With four partitions, for this test alone."""
    return await create_topic(server.native, name_of(request.node.nodeid) + "-wide", 4)
