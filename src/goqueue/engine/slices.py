"""Slices of long work on the event loop: others have their turn after each."""

import types
from collections.abc import AsyncIterator, Generator, Iterable
from typing import TypeVar

__all__ = ["SLICE", "Pace", "in_slices", "others_turn"]

SLICE = 100
"""Items that are looked at without a pause: some tenths of a millisecond, as most take some microseconds."""

STEPS = 1000
"""Of a microsecond or two."""

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


class Pace:
    """Pauses for long work whose items are of very different sizes: one after every so many steps."""

    def __init__(self, steps: int = STEPS) -> None:
        self._steps = self._left = steps

    async def did(self, steps: int) -> None:
        self._left -= steps
        if self._left <= 0:
            self._left = self._steps
            await others_turn()
