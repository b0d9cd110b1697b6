"""Slices of long work on the event loop: others have their turn after each."""

import types
from collections.abc import AsyncIterator, Generator, Iterable
from typing import TypeVar

__all__ = ["SLICE", "in_slices", "others_turn"]

SLICE = 100
"""Items that are looked at without a pause: some tenths of a millisecond, as most take some microseconds."""

Item = TypeVar("Item")


@types.coroutine
def others_turn() -> Generator[None]:
    """Let the event loop go round once."""
    yield


async def in_slices(items: Iterable[Item], size: int = SLICE) -> AsyncIterator[Item]:
    """All items, with a pause behind every `size` of them. What they are part of may change in it."""
    for number, item in enumerate(items, 1):
        yield item
        if number % size == 0:
            await others_turn()
