"""A broker for all tests of commands, and new topics in it."""

from collections.abc import Iterator

import pytest

from tests.integration.cli.driver import Cli, Inside, Server


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    server = Server(tmp_path_factory.mktemp("broker"))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def goqueue(server: Server) -> Iterator[Cli]:
    cli = Cli(server.native)
    yield cli
    cli.end()


@pytest.fixture
def inside(server: Server) -> Inside:
    return Inside(server.native)


@pytest.fixture
def topic(inside: Inside) -> str:
    """A new topic with one partition."""
    return inside.new_topic()


@pytest.fixture
def wide_topic(inside: Inside) -> str:
    """A new topic with three partitions."""
    return inside.new_topic(partitions=3)


@pytest.fixture
def numbers(inside: Inside, topic: str) -> str:
    """A topic of the records 0 to 9."""
    inside.publish(topic, *(b"%d" % number for number in range(10)))
    return topic
