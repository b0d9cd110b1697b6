"""A member of a group by single calls, as a program in another language would be one: beat, poll, commit."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from goqueue.model.log import LogId
from tests.behaviour.path import Assignment, Got, Refused

__all__ = ["Beating", "beating_consumer"]


class Beating:
    """`path` has heartbeat, poll_page and commit."""

    BEAT_S = 0.05

    def __init__(self, path: Any, group: str, told: Assignment) -> None:
        self._path = path
        self._group = group
        self._after: dict[LogId, int] = {}
        self.told = told

    async def stay(self) -> None:
        while True:
            await asyncio.sleep(self.BEAT_S)
            self.told = await self._path.heartbeat(self._group, self.told, self.told.partitions)

    async def poll(self, *, wait_ms: int = 1000, limit: int = 500) -> list[Got]:
        found, after = await self._path.poll_page(self._group, self.told, wait_ms, limit)
        self._after |= after
        return found

    async def commit(self) -> None:
        await self._path.commit(self._group, self._after, self.told)

    async def assigned(self) -> frozenset[LogId]:
        return self.told.partitions


@asynccontextmanager
async def beating_consumer(path: Any, group: str, topics: tuple[str, ...], **options: Any) -> AsyncIterator[Beating]:
    member = Beating(path, group, await path.join(group, topics, **options))
    beating = asyncio.create_task(member.stay())
    try:
        yield member
    finally:
        beating.cancel()
        await asyncio.wait([beating])
        with contextlib.suppress(Refused):
            await path.leave(group, member.told.member_id)
