from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from goqueue.adapters.disk.files import OsFileSystem
from goqueue.adapters.disk.store import DiskStore, StoreSettings
from goqueue.adapters.memory.ids import MemoryIdIndex
from goqueue.engine.broker import Broker
from goqueue.testing.clock import FakeClock
from goqueue.testing.entropy import SeededEntropy
from goqueue.testing.observer import RecordingObserver

SMALL = StoreSettings(segment_bytes=4096, journal_file_bytes=32 * 1024 * 1024)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def open_broker(tmp_path, clock) -> Callable:
    @asynccontextmanager
    async def opened(files=None) -> AsyncIterator[Broker]:
        store = DiskStore(str(tmp_path / "data"), files or OsFileSystem(), SeededEntropy(), RecordingObserver(), SMALL)
        async with Broker(store, clock, SeededEntropy(), MemoryIdIndex()) as broker:
            yield broker

    return opened
