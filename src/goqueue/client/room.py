"""How much may be under way at once, and who waits for room."""

import asyncio

__all__ = ["Room"]


class Room:
    """Taken and given back by number; those who wait are woken whenever something is given back."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._waiting: list[asyncio.Future[None]] = []
        self.taken = 0

    def is_full(self, wanted: int = 1) -> bool:
        """Whether so many more do not fit. More than the limit fits when nothing else is there."""
        return self.taken > 0 and self.taken + wanted > self.limit

    def take(self, count: int) -> None:
        self.taken += count

    def give_back(self, count: int) -> None:
        self.taken -= count
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            for future in waiting:
                if not future.done():
                    future.set_result(None)

    async def until_fits(self, wanted: int) -> None:
        while self.is_full(wanted):
            await self._changed()

    async def _changed(self) -> None:
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        await future
