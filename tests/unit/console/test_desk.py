"""Figures that several pages show: made once for all who watch, and not more often than they are worth."""

import asyncio

import pytest

from goqueue.adapters.memory.ids import MemoryIdIndex
from goqueue.adapters.memory.store import MemoryDisk, MemoryStore
from goqueue.engine.broker import Broker
from goqueue.errors import UnknownTopic
from goqueue.gateways.console.desk import Desk
from goqueue.testing.clock import FakeClock
from goqueue.testing.entropy import SeededEntropy


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
async def desk(clock):
    async with Broker(MemoryStore(MemoryDisk()), clock, SeededEntropy(), MemoryIdIndex()) as broker:
        yield Desk(broker, ())


class Maker:
    """Makes 1, 2, 3…, each in so many milliseconds."""

    def __init__(self, clock: FakeClock, takes_ms: int = 0) -> None:
        self.made = 0
        self._clock = clock
        self._takes_ms = takes_ms

    async def __call__(self) -> int:
        self.made += 1
        number = self.made
        await asyncio.sleep(0)
        self._clock.advance_ms(self._takes_ms)
        return number


async def test_figures_are_kept_for_two_seconds(desk, clock):
    make = Maker(clock)
    assert [await desk.recent("a", make), await desk.recent("a", make)] == [1, 1]
    clock.advance_ms(1000)
    assert await desk.recent("a", make) == 1
    clock.advance_ms(1000)
    assert await desk.recent("a", make) == 2


async def test_pages_that_ask_at_once_wait_for_the_same_figures(desk, clock):
    make = Maker(clock)
    assert await asyncio.gather(*(desk.recent("a", make) for _ in range(20))) == [1] * 20


async def test_figures_that_took_long_are_kept_ten_times_as_long(desk, clock):
    make = Maker(clock, takes_ms=3000)
    assert await desk.recent("a", make) == 1
    clock.advance_ms(29_000)
    assert await desk.recent("a", make) == 1
    clock.advance_ms(1500)
    assert await desk.recent("a", make) == 2


async def test_a_failure_is_not_kept(desk, clock):
    async def fail() -> int:
        raise UnknownTopic("there is no topic a")

    with pytest.raises(UnknownTopic):
        await desk.recent("a", fail)
    assert await desk.recent("a", Maker(clock)) == 1


async def test_a_page_that_is_closed_does_not_take_the_figures_from_others(desk, clock):
    make = Maker(clock)
    first, second = (asyncio.ensure_future(desk.recent("a", make)) for _ in range(2))
    await asyncio.sleep(0)
    first.cancel()
    assert await second == 1
    assert make.made == 1


async def test_a_clock_that_is_set_back_does_not_keep_figures_for_ever(desk, clock):
    make = Maker(clock)
    await desk.recent("a", make)
    clock.advance_ms(-3_600_000)
    assert await desk.recent("a", make) == 2
