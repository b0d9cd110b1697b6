"""Sorted pages of long lists: the same as sorting all of it, in steps that leave others their turn."""

import asyncio
import random
from typing import NamedTuple

import pytest

from goqueue.engine.slices import in_slices
from goqueue.gateways.console.sorted_pages import PAGE_ROWS, ordering, sorted_page


class Row(NamedTuple):
    name: str
    lag: int


NUMBERS = {"lag": lambda row: row.lag}


def made(count: int) -> list[Row]:
    chance = random.Random(count)
    return [Row(f"group-{chance.randrange(10**9):09d}", chance.randrange(50)) for _ in range(count)]


@pytest.mark.parametrize("count", [0, 1, 99, 100, 101, 2500])
@pytest.mark.parametrize(
    ("sort", "key", "is_reversed"),
    [
        ("", lambda row: row.name, False),
        ("-name", lambda row: row.name, True),
        ("lag", lambda row: (row.lag, row.name), False),
        ("-lag", lambda row: (-row.lag, row.name), False),
        ("nothing", lambda row: row.name, False),
    ],
)
async def test_a_page_is_a_part_of_the_sorted_list(count, sort, key, is_reversed):
    rows = made(count)
    expected = sorted(rows, key=key, reverse=is_reversed)
    for page in (1, 2, 7):
        found = await sorted_page(in_slices(rows), ordering(sort, lambda row: row.name, NUMBERS), page)
        first = (page - 1) * PAGE_ROWS
        assert found.rows == expected[first : first + PAGE_ROWS]
        assert found.total == count
        assert found.has_more == (first + PAGE_ROWS < count)


async def test_sorting_a_hundred_thousand_rows_gives_others_their_turn():
    rows = made(100_000)
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    task = asyncio.ensure_future(others())
    found = await sorted_page(in_slices(rows), ordering("-lag", lambda row: row.name, NUMBERS), 500)
    task.cancel()
    assert found.rows
    assert turns > 1000
