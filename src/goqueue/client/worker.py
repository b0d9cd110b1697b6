"""Work off a queue: take records, each for a while, and say of each what became of it."""

import asyncio
import secrets
from collections import deque
from collections.abc import AsyncIterator, Iterable, Sequence
from datetime import timedelta
from operator import attrgetter, itemgetter
from typing import Literal, NamedTuple, Self, Unpack

import msgspec

from goqueue import codec
from goqueue.client.addresses import DEFAULT_BOOTSTRAP, Addresses
from goqueue.client.connection import CLOSE_WITHIN_S, error_from
from goqueue.client.handler_run import Handler, HandlerRun
from goqueue.client.leases import Grant, HeldLeases, Job, lease_of, offsets_by_grant
from goqueue.client.link import Link
from goqueue.client.message import Message, RawBatch, open_batch
from goqueue.client.options import WorkerOptions
from goqueue.client.settings import checked_settings
from goqueue.client.stop_signals import StopSignals
from goqueue.client.times import duration_ms, wait_in_ms
from goqueue.errors import BrokerUnreachable, ClientClosed, GoQueueError, InvalidRequest, UnknownGroup
from goqueue.model.log import LogId
from goqueue.wire.native import messages
from goqueue.wire.native.frames import Opcode

__all__ = ["Job", "Settlement", "Worker", "WorkerSettings"]

LONGEST_WAIT_MS = 30_000
UNREACHABLE_FOR_S = 30.0
"""So long a broker may be away, for a restart say, before a worker gives up."""

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
    connect_timeout_ms: int = 5000

    def __post_init__(self) -> None:
        for name in ("visibility_ms", "prefetch", "max_bytes", "connect_timeout_ms"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InvalidRequest(f"{name} = {value}", hint=f"{name} is at least 1")


class Settlement(NamedTuple):
    """The answer of a broker to a nack, reject or extend.

    `dead` says how many jobs went to the dead letters; the lease of the others ends at `deadline_ns`.

    Example:

        from goqueue import Worker

        with Worker("orders", group="billing") as worker:
            settlement = worker.nack(*worker.take(1), reason="no stock")
            print(settlement.dead)
    """

    dead: int
    deadline_ns: int


class Worker:
    """Takes jobs from a queue: each record goes to one worker of the group, which says what became of it.

    A job that is not settled in time goes to another worker; one that fails too often goes to the dead letters.
    Leaving the block, also by an exception, gives back every job that was taken and not settled.

    Example:

        from goqueue.client import Worker

        async with Worker("orders", group="billing") as worker:
            async for job in worker:
                print(job.json())
                await worker.ack(job)

    Settings:

    - `bootstrap`: HOST:PORT of the broker; several with commas between them, or a list: the first that answers is
      used.
    - `group`: the queue group, whose workers share the records.
    - `connect_timeout_ms` (5000): how long connecting may take, and how long a broker that never answered is waited
      for.
    - `visibility_ms` (None): how long a job is this worker's before the broker gives it to another one; None leaves
      it to the group and the topic.
    - `prefetch` (100): how many jobs a loop takes at once. `max_bytes` (4194304): how many bytes one take may bring.
    - `key_order` (False): jobs with the same key are done one after the other.
    - `start` ("earliest"): where a new group begins. `client_id` ("goqueue-python"): the name of this worker.

    Each setting that ends in `_ms` can be given as a `timedelta` by its name without `_ms`.
    """

    def __init__(
        self, *topics: str, bootstrap: Addresses = DEFAULT_BOOTSTRAP, group: str, **settings: Unpack[WorkerOptions]
    ) -> None:
        if not topics:
            raise InvalidRequest("nothing to take from", hint="name at least one topic")
        self._settings = checked_settings(settings, WorkerSettings)
        self._topics = topics
        self._group = group
        self._id = f"{self._settings.client_id}-{secrets.token_hex(8)}"
        self._link = Link(bootstrap, self._settings.connect_timeout_ms / 1000)
        self._held = HeldLeases()
        self._ready: deque[Job] = deque()
        self._asking: set[asyncio.Future[list[Job]]] = set()
        """Requests for jobs that the broker has not answered."""
        self._run: HandlerRun | None = None
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
        """Give back every job that was taken and not settled, so that another worker can have it at once.

        Example:

            from goqueue.client import Worker

            async with Worker("orders", group="billing") as worker:
                await worker.take(10)
                await worker.close()
        """
        if self._is_closed:
            return
        self._is_closed = True
        self.stop()
        try:
            async with asyncio.timeout(CLOSE_WITHIN_S):
                if self._asking:
                    # Or what is released would be given to the request that still waits.
                    await self._link.drop()
                await self._release_held()
        except (GoQueueError, TimeoutError):
            # The broker takes them back when their time is up.
            pass
        finally:
            self._ready.clear()
            await self._link.close()

    async def _release_held(self) -> None:
        by_grant = offsets_by_grant(self._held.jobs())
        if not by_grant:
            return
        refused = await self._release([(grant, offsets) for grant, offsets in by_grant.items()])
        # One whose time is up spoils the request for all that were given with it.
        singly = [(grant, [offset]) for grant, offsets in refused if len(offsets) > 1 for offset in offsets]
        if singly:
            await self._release(singly)

    async def _release(self, leases: list[tuple[Grant, list[int]]]) -> list[tuple[Grant, list[int]]]:
        """Those that the broker has refused."""
        request = messages.Settle(self._group, "release", tuple([lease_of(*one) for one in leases]))
        reply = await self._link.ask(Opcode.SETTLE, request, messages.SettleReply)
        return [one for one, part in zip(leases, reply.parts, strict=True) if part.error is not None]

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
        self._ready.extend(await self._take(self._settings.prefetch, LONGEST_WAIT_MS, self._settings.visibility_ms))

    async def take(self, limit: int = 100, *, wait: timedelta | None = None, wait_ms: int | None = None) -> list[Job]:
        """Up to `limit` jobs; none when nothing is ready within `wait`, one second by default.

        Example:

            from datetime import timedelta

            from goqueue.client import Worker

            async with Worker("orders", group="billing") as worker:
                jobs = await worker.take(10, wait=timedelta(seconds=5))
                await worker.ack(*jobs)
        """
        return await self._take(limit, wait_in_ms(wait, wait_ms), self._settings.visibility_ms)

    async def _take(self, limit: int, wait_ms: int, visibility_ms: int | None) -> list[Job]:
        if self._is_closed:
            raise ClientClosed("this worker is closed")
        loop = asyncio.get_running_loop()
        deadline = loop.time() + wait_ms / 1000
        while True:
            if self._ready:
                return [self._ready.popleft() for _ in range(min(limit, len(self._ready)))]
            left_ms = max(0, round(1000 * (deadline - loop.time())))
            try:
                found = await self._take_or_keep(limit, left_ms, visibility_ms)
            except ClientClosed:
                # By another task, while this one waited.
                return []
            except BrokerUnreachable:
                if not await self._reconnect(left_ms / 1000):
                    return []
                found = []
            if found or loop.time() >= deadline:
                return found

    async def _take_or_keep(self, limit: int, wait_ms: int, visibility_ms: int | None) -> list[Job]:
        """The answer, also when the caller is cancelled meanwhile: the broker may have given jobs already."""
        asking = asyncio.ensure_future(self._take_once(limit, wait_ms, visibility_ms))
        self._asking.add(asking)
        asking.add_done_callback(self._asking.discard)
        try:
            return await asyncio.shield(asking)
        except asyncio.CancelledError:
            asking.add_done_callback(self._came_late)
            raise

    def _came_late(self, asking: "asyncio.Future[list[Job]]") -> None:
        """For the next one who takes."""
        if not asking.cancelled() and asking.exception() is None:
            self._ready.extend(asking.result())

    async def _take_once(self, limit: int, wait_ms: int, visibility_ms: int | None) -> list[Job]:
        wish = self._settings
        request = messages.Take(
            self._group,
            self._id,
            self._topics,
            limit,
            wish.max_bytes,
            min(wait_ms, LONGEST_WAIT_MS),
            visibility_ms,
            None,
            wish.key_order,
            wish.start,
        )
        reply, tail = await self._link.request(
            Opcode.TAKE, request, messages.TakeReply, within_s=LONGEST_WAIT_MS / 1000 + 30
        )
        self._away_since = None
        self._held.forget_overdue()
        jobs: list[Job] = []
        at = 0
        for part in reply.parts:
            log = LogId(part.topic, part.partition)
            grant = Grant(log, part.grant, part.token, self._group, reply.knows_packed, self._held)
            given = _jobs(grant, part, memoryview(tail)[at : at + part.length], in_key_order=wish.key_order)
            self._held.add(grant, given, part.deadline_ns)
            jobs += given
            at += part.length
        if len(reply.parts) > 1 and not wish.key_order:
            jobs.sort(key=_urgency)
        return jobs

    async def _reconnect(self, within_s: float) -> bool:
        """Whether it makes sense to ask again: not when another task has closed the worker meanwhile."""
        if self._is_closed:
            return False
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

    # A handler for each.

    async def run(self, handler: Handler, *, concurrency: int = 1) -> None:
        """Call the handler for each job, until SIGTERM, SIGINT or `stop`; up to `concurrency` jobs at a time.

        A job is acknowledged when its handler returns. When it raises, the job is tried again after a pause, which
        grows with its failures, and goes to the dead letters when it has failed too often; the exception is logged.
        Leases are extended as long as handlers run. A handler may also settle its job by itself.

        A run that is told to stop takes no more jobs, finishes those that were begun, and gives the others back. A
        second signal does what it would do without this.

        Example:

            from goqueue.client import Job, Worker

            async def handle(job: Job) -> None:
                print(job.json())

            async with Worker("orders", group="billing") as worker:
                await worker.run(handle, concurrency=8)
        """
        loop = asyncio.get_running_loop()
        with StopSignals(lambda: loop.call_soon_threadsafe(self.stop)):
            await self._run_handler(handler, concurrency)

    async def _run_handler(self, handler: Handler, concurrency: int) -> None:
        if concurrency < 1:
            raise InvalidRequest(f"concurrency must be at least 1, got {concurrency}")
        if self._is_closed:
            raise ClientClosed("this worker is closed")
        if self._run is not None:
            raise InvalidRequest("this worker runs a handler already", hint="use another worker, or more concurrency")
        self._run = run = HandlerRun(self, handler, concurrency)
        try:
            await run.run()
        finally:
            self._run = None

    def stop(self) -> None:
        """End `run`: it takes no more jobs, finishes those that were begun, and returns.

        Example:

            from goqueue.client import Job, Worker

            async with Worker("orders", group="billing") as worker:

                async def handle_one(job: Job) -> None:
                    print(job.json())
                    worker.stop()

                await worker.run(handle_one)
        """
        if self._run is not None:
            self._run.stop()

    async def _lease_ms(self) -> int:
        """How long the broker leaves a job to this worker."""
        if self._settings.visibility_ms is not None:
            return self._settings.visibility_ms
        own = await self._policy()
        if own.visibility_timeout_ms is not None:
            return own.visibility_timeout_ms
        wanted = messages.Metadata(self._topics)
        found = await self._link.ask_within(UNREACHABLE_FOR_S, Opcode.METADATA, wanted, messages.MetadataReply)
        return min(topic.config.visibility_timeout_ms for topic in found.topics)

    async def _policy(self) -> messages.GroupPolicyReply:
        question = messages.GroupPolicyQuestion(self._group)
        try:
            return await self._link.ask_within(
                UNREACHABLE_FOR_S, Opcode.GROUP_POLICY, question, messages.GroupPolicyReply
            )
        except UnknownGroup:
            # It begins with the first take.
            return messages.GroupPolicyReply()

    async def _extend_each(self, jobs: Sequence[Job], visibility_ms: int) -> list[Job]:
        """Jobs whose lease was over already; it does not spoil the extension of the others."""
        if not jobs:
            return []
        leases = tuple([lease_of(job.grant, [job.message.offset]) for job in jobs])
        request = messages.Settle(self._group, "extend", leases, "", visibility_ms)
        reply = await self._link.ask(Opcode.SETTLE, request, messages.SettleReply)
        lost = []
        for job, part in zip(jobs, reply.parts, strict=True):
            if part.error is None:
                self._held.extended(job.grant, part.deadline_ns)
            elif self._held.has(job):
                self._held.settled(job.grant, (job.message.offset,))
                lost.append(job)
        return lost

    # What became of them.

    async def ack(self, *jobs: Job) -> None:
        """Acknowledge jobs: they are done, and the group never gets them again.

        Example:

            from goqueue.client import Worker

            async with Worker("orders", group="billing") as worker:
                for job in await worker.take(10):
                    await worker.ack(job)
        """
        await self._settle("ack", jobs)

    async def nack(
        self, *jobs: Job, reason: str = "", delay: timedelta | None = None, delay_ms: int | None = None
    ) -> Settlement:
        """Fail jobs: each is tried again after a pause, which grows with its failures unless it is given.

        Example:

            from datetime import timedelta

            from goqueue.client import Worker

            async with Worker("orders", group="billing") as worker:
                for job in await worker.take(1):
                    await worker.nack(job, reason="the bank is closed", delay=timedelta(hours=1))
        """
        return await self._settle("nack", jobs, reason, duration_ms("delay", delay, delay_ms))

    async def reject(self, *jobs: Job, reason: str = "") -> Settlement:
        """Reject jobs that can never be done: they go to the dead letters.

        Example:

            from goqueue.client import Worker

            async with Worker("orders", group="billing") as worker:
                for job in await worker.take(1):
                    await worker.reject(job, reason="no such customer")
        """
        return await self._settle("reject", jobs, reason)

    async def extend(
        self, *jobs: Job, visibility: timedelta | None = None, visibility_ms: int | None = None
    ) -> Settlement:
        """Keep jobs for longer, counted from now.

        Example:

            from datetime import timedelta

            from goqueue.client import Worker

            async with Worker("orders", group="billing") as worker:
                for job in await worker.take(1):
                    await worker.extend(job, visibility=timedelta(minutes=10))
                    await worker.ack(job)
        """
        visibility_ms = duration_ms("visibility", visibility, visibility_ms)
        if visibility_ms is None:
            raise InvalidRequest("an extension must have a length", hint="give visibility or visibility_ms")
        return await self._settle("extend", jobs, delay_ms=visibility_ms)

    async def release(self, *jobs: Job) -> None:
        """Give jobs back untouched: another worker may have them at once, and it does not count as a failure.

        Example:

            from goqueue.client import Worker

            async with Worker("orders", group="billing") as worker:
                await worker.release(*await worker.take(10))
        """
        await self._settle("release", jobs)

    async def _settle(
        self, action: Action, jobs: Iterable[Job], reason: str = "", delay_ms: int | None = None
    ) -> Settlement:
        by_grant = offsets_by_grant(jobs)
        if not by_grant:
            return Settlement(0, 0)
        leases = tuple([lease_of(grant, offsets) for grant, offsets in by_grant.items()])
        request = messages.Settle(self._group, action, leases, reason, delay_ms)
        if action == "nack":
            # Asked twice it would fail twice.
            reply = await self._link.ask(Opcode.SETTLE, request, messages.SettleReply)
        else:
            reply = await self._link.ask_within(UNREACHABLE_FOR_S, Opcode.SETTLE, request, messages.SettleReply)
        refusal: GoQueueError | None = None
        for (grant, offsets), lease, part in zip(by_grant.items(), leases, reply.parts, strict=True):
            if part.error is not None:
                refusal = refusal or error_from(part.error)
            elif action == "extend":
                self._held.extended(grant, part.deadline_ns)
            else:
                # In one run of offsets none is named twice.
                self._held.settled(grant, offsets, differ=len(lease.runs) == 1)
        if refusal is not None:
            raise refusal
        return Settlement(
            sum(part.dead for part in reply.parts), min((part.deadline_ns for part in reply.parts), default=0)
        )


def _jobs(grant: Grant, part: messages.TakenPart, records: memoryview, *, in_key_order: bool) -> list[Job]:
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
