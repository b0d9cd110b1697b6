"""Slices of long work on the event loop, with a pause for other tasks after each."""

import types
from collections.abc import AsyncIterator, Generator, Iterable
from typing import TypeVar

__all__ = ["SLICE", "Pace", "in_slices", "others_turn"]

SLICE = 100
"""Items processed without a pause: a few tenths of a millisecond, as most items take some microseconds."""

STEPS = 1000
"""Steps of one or two microseconds each."""

Item = TypeVar("Item")


@types.coroutine
def others_turn() -> Generator[None]:
    """Yield to the event loop once."""
    yield


async def in_slices(items: Iterable[Item], size: int = SLICE) -> AsyncIterator[Item]:
    """All items, with a pause after every `size` of them. Their collection may change during a pause."""
    for number, item in enumerate(items, 1):
        yield item
        if number % size == 0:
            await others_turn()


class Pace:
    """Pauses for long work whose items differ in size: one after each `steps` of work."""

    def __init__(self, steps: int = STEPS) -> None:
        self._steps = self._left = steps

    async def did(self, steps: int) -> None:
        self._left -= steps
        if self._left <= 0:
            self._left = self._steps
            await others_turn()
