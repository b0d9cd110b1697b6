"""One broker for the whole suite, and the paths to it."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from tests.behaviour.path import Path
from tests.behaviour.paths import PATHS
from tests.behaviour.serving import Server, name_of, running_server


@pytest.fixture(scope="session")
def shared_broker(tmp_path_factory: Any) -> Iterator[Server]:
    """For tests that keep to topics and groups of their own; together they have more than metrics name by default."""
    settings = "[metrics]\ntopics = 10000\ngroups = 10000\n"
    with running_server(tmp_path_factory.mktemp("behaviour") / "broker", settings) as running:
        yield running


@pytest.fixture
async def path(request: Any, shared_broker: Server) -> AsyncIterator[Path]:
    made = PATHS[request.param](shared_broker)
    yield made
    await made.close()


@pytest.fixture
async def other(request: Any, shared_broker: Server) -> AsyncIterator[Path]:
    made = PATHS[request.param](shared_broker)
    yield made
    await made.close()


@pytest.fixture
def name(request: Any) -> str:
    """What no other test calls its topic or group."""
    return name_of(request.node.nodeid)


@pytest.fixture
async def topic(path: Path, name: str) -> str:
    await path.create_topic(name)
    return name
