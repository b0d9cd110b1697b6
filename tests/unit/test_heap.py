"""Memory goes back to the system after a busy time, not in it."""

import asyncio

import pytest

from goqueue.adapters.heap import EVERY_MS, give_back, give_back_after_busy_times
from goqueue.testing import FakeClock


async def let_run() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("asked", "given_back"),
    [
        ([0, 0, 0], []),
        ([100, 100, 90, 110], []),
        ([100, 100, 60, 0, 0, 0], [3]),
        ([100, 100, 3, 4, 3, 5], []),
        ([100, 3, 0, 3, 0], [2, 4]),
        ([100, 0, 100, 0], [1, 3]),
        ([1, 0, 0], [1]),
    ],
)
async def test_memory_is_given_back_when_requests_cease(asked: list[int], given_back: list[int]):
    clock, total, given = FakeClock(), 0, []
    task = asyncio.create_task(give_back_after_busy_times(clock, lambda: total, lambda: given.append(True)))
    await let_run()
    turns = []
    for turn, count in enumerate(asked):
        total += count
        clock.advance_ms(EVERY_MS)
        await let_run()
        turns += [turn] * len(given)
        given.clear()
    task.cancel()
    assert turns == given_back


def test_giving_back_leaves_everything_as_it_was():
    kept = [bytes([number]) * 50_000 for number in range(200)]
    del kept[::2]
    give_back()
    assert [one[0] for one in kept] == list(range(1, 200, 2))
