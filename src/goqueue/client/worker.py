"""Work off a queue: take records, each for a while, and say of each what became of it."""

import asyncio
import secrets
from collections import deque
from collections.abc import AsyncIterator, Iterable
from operator import attrgetter, itemgetter
from typing import Literal, NamedTuple, Self

import msgspec

from goqueue import codec
from goqueue.client.connection import CLOSE_WITHIN_S
from goqueue.client.link import DEFAULT_BOOTSTRAP, Link
from goqueue.client.message import Message, RawBatch, open_batch
from goqueue.client.settings import checked_settings
from goqueue.errors import ERRORS_BY_CODE, BrokerUnreachable, ClientClosed, GoQueueError, InvalidRequest
from goqueue.model.log import LogId
from goqueue.model.runs import runs_of
from goqueue.wire.native import messages
from goqueue.wire.native.frames import Opcode
from goqueue.wire.native.packed_offsets import packed_offsets

__all__ = ["Job", "Settlement", "Worker", "WorkerSettings", "leases_of"]

LONGEST_WAIT_MS = 30_000
UNREACHABLE_FOR_S = 30.0
"""So long a broker may be away, for a restart say, before a worker gives up."""

_OFFSET = Message._fields.index("offset")
_priority = itemgetter(Message._fields.index("priority"))
_urgency = attrgetter("message.priority")

Action = Literal["ack", "nack", "reject", "extend", "release"]


class WorkerSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`visibility_ms` is how long a record is this worker's, the topic's own when None; `prefetch` is for iterating."""

    client_id: str = "goqueue-python"
    visibility_ms: int | None = None
    prefetch: int = 100
    max_bytes: int = 4 * 1024 * 1024
    key_order: bool = False
    start: Literal["earliest", "latest"] = "earliest"

    def __post_init__(self) -> None:
        for name in ("visibility_ms", "prefetch", "max_bytes"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InvalidRequest(f"{name} = {value}", hint=f"{name} is at least 1")


class _Grant(NamedTuple):
    log: LogId
    number: int
    token: str
    group: str = ""
    knows_packed: bool = False
    """Whether the broker that gave it knows packed offsets."""


class Job(NamedTuple):
    """A record that is this worker's until `deadline_ns`; `deliveries` counts this one, `failures` does not."""

    message: Message
    deliveries: int
    failures: int
    deadline_ns: int
    grant: _Grant

    @property
    def value(self) -> bytes | None:
        return self.message.value

    @property
    def key(self) -> bytes | None:
        return self.message.key

    @property
    def carrier(self) -> dict[str, str]:
        """As that of the message."""
        return self.message.carrier


class Settlement(NamedTuple):
    """What a broker says to it: so many went to the dead letters; the lease of the others ends at the deadline."""

    dead: int
    deadline_ns: int


class Worker:
    """Use as an async context manager.

    async with Worker("orders", group="billing") as worker:
        async for job in worker:
            await handle(job.value)
            await worker.ack(job)

    Any number of workers share the records of a group, without belonging to it. A job that is not acknowledged in time
    goes to another worker; one that fails too often goes to the dead letters.
    """

    def __init__(self, *topics: str, group: str, bootstrap: str = DEFAULT_BOOTSTRAP, **settings: object) -> None:
        if not topics:
            raise InvalidRequest("nothing to take from", hint="name at least one topic")
        self._settings = checked_settings(settings, WorkerSettings)
        self._topics = topics
        self._group = group
        self._id = f"{self._settings.client_id}-{secrets.token_hex(8)}"
        self._link = Link(bootstrap)
        self._ready: deque[Job] = deque()
        self._away_since: float | None = None
        self._is_closed = False

    # Life cycle.

    async def __aenter__(self) -> Self:
        try:
            await self._link.connection()
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Give back what was taken and never handed out. What was handed out stays leased until its time is up."""
        if self._is_closed:
            return
        self._is_closed = True
        try:
            if self._ready and self._link.live is not None:
                async with asyncio.timeout(CLOSE_WITHIN_S):
                    await self._settle("release", self._ready)
        except (GoQueueError, TimeoutError):
            # They come back by themselves.
            pass
        finally:
            self._ready.clear()
            await self._link.close()

    # Taking.

    async def __aiter__(self) -> AsyncIterator[Job]:
        while not self._is_closed:
            job = self._next_ready()
            if job is None:
                await self._fill()
            else:
                yield job

    def _next_ready(self) -> Job | None:
        return self._ready.popleft() if self._ready else None

    async def _fill(self) -> None:
        self._ready.extend(await self.take(self._settings.prefetch, wait_ms=LONGEST_WAIT_MS))

    async def take(self, limit: int = 100, *, wait_ms: int = 1000) -> list[Job]:
        """Some jobs, at most `limit`; none when nothing is ready in time."""
        if self._is_closed:
            raise ClientClosed("this worker is closed")
        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait_ms / 1000
        while True:
            left_ms = max(0, round(1000 * (deadline - loop.time())))
            try:
                found = await self._take_once(limit, left_ms)
            except ClientClosed:
                # By another task, while this one waited.
                return []
            except BrokerUnreachable:
                if not await self._reconnect(left_ms / 1000):
                    return []
                found = []
            if found or loop.time() >= deadline:
                return found

    async def _take_once(self, limit: int, wait_ms: int) -> list[Job]:
        wish = self._settings
        request = messages.Take(
            self._group,
            self._id,
            self._topics,
            limit,
            wish.max_bytes,
            min(wait_ms, LONGEST_WAIT_MS),
            wish.visibility_ms,
            None,
            wish.key_order,
            wish.start,
        )
        reply, tail = await self._link.request(
            Opcode.TAKE, request, messages.TakeReply, within_s=LONGEST_WAIT_MS / 1000 + 30
        )
        self._away_since = None
        jobs: list[Job] = []
        at = 0
        for part in reply.parts:
            grant = _Grant(LogId(part.topic, part.partition), part.grant, part.token, self._group, reply.knows_packed)
            jobs += _jobs(grant, part, memoryview(tail)[at : at + part.length], in_key_order=wish.key_order)
            at += part.length
        if len(reply.parts) > 1 and not wish.key_order:
            jobs.sort(key=_urgency)
        return jobs

    async def _reconnect(self, within_s: float) -> bool:
        """Whether it makes sense to ask again: not when another task has closed the worker meanwhile."""
        now = asyncio.get_running_loop().time()
        self._away_since = now if self._away_since is None else self._away_since
        try:
            await self._link.connection_within(within_s)
        except ClientClosed:
            return False
        except BrokerUnreachable:
            if now - self._away_since > UNREACHABLE_FOR_S:
                raise
        return True

    # What became of them.

    async def ack(self, *jobs: Job) -> None:
        """Done, for good."""
        await self._settle("ack", jobs)

    async def nack(self, *jobs: Job, reason: str = "", delay_ms: int | None = None) -> Settlement:
        """Not done: each is tried again after a pause, which grows with its failures unless it is given."""
        return await self._settle("nack", jobs, reason, delay_ms)

    async def reject(self, *jobs: Job, reason: str = "") -> Settlement:
        """Never to be done: to the dead letters."""
        return await self._settle("reject", jobs, reason)

    async def extend(self, *jobs: Job, visibility_ms: int) -> Settlement:
        """More time is needed, counted from now."""
        return await self._settle("extend", jobs, delay_ms=visibility_ms)

    async def release(self, *jobs: Job) -> None:
        """Give them back untouched: another worker may have them at once, and it does not count as a failure."""
        await self._settle("release", jobs)

    async def _settle(
        self, action: Action, jobs: Iterable[Job], reason: str = "", delay_ms: int | None = None
    ) -> Settlement:
        leases = leases_of(jobs)
        if not leases:
            return Settlement(0, 0)
        request = messages.Settle(self._group, action, leases, reason, delay_ms)
        if action == "nack":
            # Asked twice it would fail twice.
            reply = await self._link.ask(Opcode.SETTLE, request, messages.SettleReply)
        else:
            reply = await self._link.ask_within(UNREACHABLE_FOR_S, Opcode.SETTLE, request, messages.SettleReply)
        for part in reply.parts:
            if part.error is not None:
                kind = ERRORS_BY_CODE.get(part.error.code, GoQueueError)
                raise kind(part.error.message, hint=part.error.hint)
        return Settlement(
            sum(part.dead for part in reply.parts), min((part.deadline_ns for part in reply.parts), default=0)
        )


def _jobs(grant: _Grant, part: messages.TakenPart, records: memoryview, *, in_key_order: bool) -> list[Job]:
    known = {one.offset: (one.deliveries, one.failures) for one in part.redelivered}
    opened = open_batch(RawBatch(part.topic, part.partition, records, 0))
    if opened.fault is not None and not opened.messages:
        raise opened.fault
    if not in_key_order:
        # They come in the order of the log; within what was taken, the most urgent are first.
        opened.messages.sort(key=_priority)
    if not known:
        return codec.rows(opened.messages, Job, (1, 0, part.deadline_ns, grant))
    return [Job(message, *known.get(message.offset, (1, 0)), part.deadline_ns, grant) for message in opened.messages]


def leases_of(jobs: Iterable[Job]) -> tuple[messages.LeasedRecords, ...]:
    offsets_by_grant: dict[_Grant, list[int]] = codec.grouped(jobs, _OFFSET)
    return tuple([_lease(grant, offsets) for grant, offsets in offsets_by_grant.items()])


def _lease(grant: _Grant, offsets: list[int]) -> messages.LeasedRecords:
    """Of offsets in any order; a job may be named twice."""
    offsets.sort()
    first, count = offsets[0], len(offsets)
    if offsets[-1] - first + 1 == count == len(set(offsets)):
        return messages.LeasedRecords(*grant.log, grant.number, grant.token, ((first, count),))
    if grant.knows_packed:
        return messages.LeasedRecords(*grant.log, grant.number, grant.token, (), packed_offsets(offsets))
    return messages.LeasedRecords(*grant.log, grant.number, grant.token, runs_of(sorted(set(offsets))))
