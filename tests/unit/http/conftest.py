from collections.abc import AsyncIterator

import httpx
import pytest

from goqueue.adapters.memory.ids import MemoryIdIndex
from goqueue.adapters.memory.store import MemoryDisk, MemoryStore
from goqueue.engine.broker import Broker
from goqueue.engine.maintenance import Maintenance, MaintenanceSettings
from goqueue.gateways.http.app import HttpApp, http_app
from goqueue.gateways.http.limits import HttpLimits
from goqueue.testing.clock import FakeClock
from goqueue.testing.entropy import SeededEntropy


class Bugs(list[BaseException]):
    """What the gateway reported."""


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def bugs() -> Bugs:
    return Bugs()


@pytest.fixture
async def broker(clock) -> AsyncIterator[Broker]:
    async with Broker(MemoryStore(MemoryDisk()), clock, SeededEntropy(), MemoryIdIndex()) as opened:
        yield opened


async def figures() -> bytes:
    return b"figures"


@pytest.fixture
def app(broker, bugs) -> HttpApp:
    maintenance = Maintenance(broker, None, MaintenanceSettings())
    return http_app(broker, maintenance, figures, bugs.append, HttpLimits())


@pytest.fixture
async def http(app) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        yield client
