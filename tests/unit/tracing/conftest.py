from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from goqueue.adapters.memory.ids import MemoryIdIndex
from goqueue.adapters.memory.store import MemoryDisk, MemoryStore
from goqueue.engine.broker import Broker
from goqueue.engine.tracing.policy import TracingSettings
from goqueue.testing.clock import FakeClock
from goqueue.testing.entropy import SeededEntropy


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def disk() -> MemoryDisk:
    return MemoryDisk()


@pytest.fixture
def open_broker(disk, clock) -> Callable:
    @asynccontextmanager
    async def opened(**settings) -> AsyncIterator[Broker]:
        given = TracingSettings(**{"rate": 1.0, **settings})
        async with Broker(MemoryStore(disk), clock, SeededEntropy(), MemoryIdIndex(), tracing=given) as broker:
            yield broker

    return opened


@pytest.fixture
async def broker(open_broker) -> AsyncIterator[Broker]:
    """One that traces everything."""
    async with open_broker() as opened:
        yield opened
