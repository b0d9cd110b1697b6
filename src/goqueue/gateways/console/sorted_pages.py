"""Sorted pages of long lists, put together in slices: a list of 100,000 groups never holds the event loop for long."""

import heapq
from collections.abc import AsyncIterable, AsyncIterator, Callable, Mapping
from itertools import islice
from typing import Annotated, Any, Generic, NamedTuple, TypeVar

import msgspec

from goqueue.engine.slices import in_slices

__all__ = ["PAGE_ROWS", "ListQuery", "Ordering", "SortedPage", "ordering", "sorted_page"]

PAGE_ROWS = 100
RUN = 1000
"""Rows that are sorted without a pause: about a millisecond."""

Row = TypeVar("Row")


class ListQuery(msgspec.Struct, frozen=True):
    """`sort` is the name of a column, with a minus before it for the largest first."""

    q: str = ""
    sort: Annotated[str, msgspec.Meta(max_length=40)] = ""
    page: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 1

    @property
    def given(self) -> dict[str, str]:
        """What the links to other pages and orders of the same list keep."""
        return {"q": self.q, "sort": self.sort}


class SortedPage(msgspec.Struct, Generic[Row], frozen=True):
    """`first` is how many rows come before those of the page."""

    rows: list[Row]
    first: int
    total: int

    @property
    def has_more(self) -> bool:
        return self.first + len(self.rows) < self.total


class Ordering(NamedTuple, Generic[Row]):
    """What `sorted_page` orders by."""

    key: Callable[[Row], Any]
    is_reversed: bool


def ordering(sort: str, name: Callable[[Row], str], numbers: Mapping[str, Callable[[Row], float]]) -> Ordering[Row]:
    """By a column of numbers, those that are equal by name; or by name, also when there is no such column."""
    number = numbers.get(sort.removeprefix("-"))
    if number is None:
        return Ordering(name, sort == "-name")
    sign = -1 if sort.startswith("-") else 1
    return Ordering(lambda row: (sign * number(row), name(row)), False)


async def sorted_page(rows: AsyncIterable[Row], order: Ordering[Row], page: int) -> SortedPage[Row]:
    """One page of all rows, in order."""
    runs: list[list[Row]] = []
    total = 0
    async for run in _runs(rows):
        total += len(run)
        runs.append(sorted(run, key=order.key, reverse=order.is_reversed))
    first = (page - 1) * PAGE_ROWS
    in_order = heapq.merge(*runs, key=order.key, reverse=order.is_reversed) if first < total else iter(())
    found: list[Row] = []
    async for row in in_slices(islice(in_order, first + PAGE_ROWS), RUN):
        found.append(row)
    return SortedPage(found[first:], first, total)


async def _runs(rows: AsyncIterable[Row]) -> AsyncIterator[list[Row]]:
    run: list[Row] = []
    async for row in rows:
        run.append(row)
        if len(run) == RUN:
            yield run
            run = []
    if run:
        yield run
