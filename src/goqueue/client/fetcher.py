"""Where a consumer is in each partition it reads, and the records from there on."""

import asyncio
import contextlib
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Literal, NamedTuple

from goqueue.client.connection import ANSWER_WITHIN_S, error_from
from goqueue.client.link import Link
from goqueue.client.message import RawBatch
from goqueue.errors import (
    GoQueueError,
    InvalidRequest,
    MemberFenced,
    OffsetOutOfRange,
    UnknownPartition,
    UnknownTopic,
)
from goqueue.model.log import LogId
from goqueue.wire.native import messages
from goqueue.wire.native.frames import Opcode

__all__ = ["LONGEST_WAIT_MS", "REFUSALS_OF_A_GROUP", "Fetched", "Fetcher", "Start"]

LONGEST_WAIT_MS = 60_000
FETCH_WAIT_MS = 10_000
"""One request waits no longer: the broker goes on with those that were given up for news."""

REFUSALS_OF_A_GROUP = (MemberFenced, UnknownTopic, UnknownPartition)
"""What a member meets whose assignment is no longer the newest."""

Start = Literal["earliest", "latest"]


class Fetched(NamedTuple):
    """Records, and the offset from which they were asked for."""

    asked: int
    batch: RawBatch


def _nothing() -> None:
    """For those who read without a group."""


class Fetcher:
    """One fetch at a time, of all partitions together. A fetch that is cancelled has moved nothing."""

    def __init__(
        self, link: Link, *, max_bytes: int, start: Start, isolation: messages.IsolationName = "read_committed"
    ) -> None:
        self._link = link
        self._max_bytes = max_bytes
        self._start = start
        self._isolation = isolation
        self._turn = 0
        self._paused: set[LogId] = set()
        self._refused: set[LogId] = set()
        """Partitions that the group, or the broker, has taken away, until the membership knows of it too."""
        self._news = asyncio.Event()
        """Something else is to be fetched than before."""
        self.positions: dict[LogId, int] = {}
        """Where to go on, for every partition that is read."""
        self.assignment_is_old: Callable[[], None] = _nothing
        """Called when the broker refuses a partition that it had assigned."""

    # What to fetch.

    async def begin(self, partitions: Collection[LogId]) -> dict[LogId, int]:
        """Where partitions are read from that nothing else is known of."""
        return await self.offsets_at(partitions, self._start)

    async def offsets_at(self, partitions: Iterable[LogId], at: Start | int) -> dict[LogId, int]:
        questions = tuple(messages.OffsetQuestion(log.topic, log.partition, at) for log in partitions)
        if not questions:
            return {}
        request = messages.ListOffsets(questions, self._isolation)
        reply = await self._link.ask(Opcode.LIST_OFFSETS, request, messages.Offsets)
        return {LogId(one.topic, one.partition): one.offset for one in reply.answers}

    def seek(self, partition: LogId, offset: int) -> None:
        if partition not in self.positions:
            raise InvalidRequest(f"{partition} is not assigned to this consumer")
        self.positions[partition] = offset
        self._news.set()

    def pause(self, partitions: Iterable[LogId]) -> None:
        self._paused.update(partitions)
        self._news.set()

    def resume(self, partitions: Iterable[LogId]) -> None:
        self._paused.difference_update(partitions)
        self._news.set()

    def drop(self, partitions: Collection[LogId]) -> None:
        for log in partitions:
            self.positions.pop(log, None)
        self._paused.difference_update(partitions)
        self._news.set()

    def ask_anew(self) -> None:
        """Whatever is being waited for may no longer be the right thing."""
        self._refused.clear()
        self._news.set()

    def will_look(self) -> None:
        """News from here on end a fetch that waits."""
        self._news.clear()

    # Fetching.

    async def fetch(self, wait_ms: int, member: messages.GroupMember | None = None) -> list[Fetched]:
        """Wait for records, for news, or until time is up."""
        asked = self._next_question()
        if not asked:
            await self.wait_for_news(wait_ms)
            return []
        wait_ms = min(wait_ms, FETCH_WAIT_MS)
        parts = tuple(messages.FetchFrom(log.topic, log.partition, offset) for log, offset in asked.items())
        request = messages.Fetch(parts, self._max_bytes, wait_ms, member, self._isolation)
        answer = await self._ask_unless_news(request, wait_ms / 1000 + ANSWER_WITHIN_S)
        return await self._accept(asked, *answer) if answer is not None else []

    async def wait_for_news(self, wait_ms: int) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait_ms / 1000):
                await self._news.wait()

    def _next_question(self) -> dict[LogId, int]:
        """Each time another partition comes first: the first ones may use up all that is given at once."""
        not_now = self._paused | self._refused
        asked = [one for one in self.positions.items() if one[0] not in not_now]
        first = self._turn % len(asked) if asked else 0
        self._turn += 1
        return dict(asked[first:] + asked[:first])

    async def _ask_unless_news(
        self, request: messages.Fetch, within_s: float
    ) -> tuple[messages.Fetched, memoryview] | None:
        """The answer, or None when it has become the wrong question."""
        fetching = asyncio.ensure_future(self._link.request(Opcode.FETCH, request, messages.Fetched, within_s=within_s))
        news = asyncio.ensure_future(self._news.wait())
        try:
            await asyncio.wait((fetching, news), return_when=asyncio.FIRST_COMPLETED)
            return fetching.result() if fetching.done() else None
        finally:
            news.cancel()
            if not fetching.cancel() and not fetching.cancelled():
                fetching.exception()

    async def _accept(self, asked: Mapping[LogId, int], head: messages.Fetched, tail: memoryview) -> list[Fetched]:
        for part in head.parts:
            if part.error is not None:
                await self._mend(LogId(part.topic, part.partition), error_from(part.error))
        # From here on nothing waits, so no cancellation comes between moving on and handing over.
        found = []
        at = 0
        for part in head.parts:
            log = LogId(part.topic, part.partition)
            records = tail[at : at + part.length]
            at += part.length
            # In the meantime it may have been given up, or sought elsewhere.
            if part.error is None and self.positions.get(log) == asked[log]:
                self.positions[log] = part.next_offset
                if records:
                    batch = RawBatch(part.topic, part.partition, records, part.next_offset, part.skip)
                    found.append(Fetched(asked[log], batch))
        return found

    async def _mend(self, log: LogId, error: GoQueueError) -> None:
        if isinstance(error, OffsetOutOfRange):
            # Records that were to come next are gone by retention: go on where there are some.
            self.positions.update(await self.begin([log]))
        elif self.assignment_is_old is not _nothing and isinstance(error, REFUSALS_OF_A_GROUP):
            self._refused.add(log)
            self.assignment_is_old()
        else:
            raise error
