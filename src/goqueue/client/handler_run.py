"""A run of a handler over the jobs of a worker: it takes them, extends their leases meanwhile, and settles them."""

import asyncio
import contextlib
import inspect
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from goqueue.client.leases import Job
from goqueue.errors import ClientClosed, GoQueueError, InvalidRequest

if TYPE_CHECKING:
    from goqueue.client.worker import Worker

__all__ = ["Handler", "HandlerRun"]

TAKE_WAIT_MS = 1000
"""A run that is told to stop waits for the last take, as the broker may give it jobs until then."""
EXTENSIONS_PER_LEASE = 3
LONGEST_REASON = 500
RELEASE_WITHIN_S = 5.0

Handler = Callable[[Job], Awaitable[object]]

_log = logging.getLogger("goqueue.client.worker")


class HandlerRun:
    """No job is taken before its handler can begin, so that none waits here while another worker is idle."""

    def __init__(self, worker: "Worker", handler: Handler, concurrency: int) -> None:
        self._worker = worker
        self._handler = handler
        self._concurrency = concurrency
        self._lease_ms = 0
        self._running: dict[asyncio.Task[None], Job] = {}
        self._stopping = asyncio.Event()
        self._failure: GoQueueError | None = None

    def stop(self) -> None:
        """Take no more jobs, and end when those that were begun are done."""
        self._stopping.set()

    async def run(self) -> None:
        """Until it is told to stop."""
        self._lease_ms = await self._worker._lease_ms()
        extending = asyncio.create_task(self._extend_leases())
        try:
            try:
                await self._take_and_handle()
            except GoQueueError:
                await self._finish()
                raise
            await self._finish()
        except BaseException:
            await self._break_off()
            raise
        finally:
            extending.cancel()
            await asyncio.wait([extending])
        if self._failure is not None:
            raise self._failure

    async def _take_and_handle(self) -> None:
        while not self._stopping.is_set():
            await self._until_one_can_begin()
            if self._stopping.is_set():
                return
            try:
                jobs = await self._worker._take(self._concurrency - len(self._running), TAKE_WAIT_MS, self._lease_ms)
            except ClientClosed:
                return
            if self._stopping.is_set():
                await self._give_back(jobs)
                return
            for job in jobs:
                self._running[asyncio.create_task(self._handle(job))] = job

    async def _until_one_can_begin(self) -> None:
        self._forget_done()
        if len(self._running) < self._concurrency:
            return
        stopping = asyncio.create_task(self._stopping.wait())
        try:
            await asyncio.wait({stopping, *self._running}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
        self._forget_done()

    def _forget_done(self) -> None:
        for task in [task for task in self._running if task.done()]:
            del self._running[task]

    async def _finish(self) -> None:
        """What was begun is not left half done, whether the run was told to stop or has failed."""
        while self._running:
            await asyncio.wait(self._running)
            self._forget_done()

    async def _break_off(self) -> None:
        """The run itself is cancelled, and its handlers with it; another worker may have their jobs at once."""
        jobs = list(self._running.values())
        for task in self._running:
            task.cancel()
        if self._running:
            await asyncio.wait(self._running)
        await self._give_back([job for job in jobs if self._worker._held.has(job)])

    async def _give_back(self, jobs: Sequence[Job]) -> None:
        # If that fails, the broker takes them back when their time is up.
        with contextlib.suppress(GoQueueError, TimeoutError):
            async with asyncio.timeout(RELEASE_WITHIN_S):
                await self._worker.release(*jobs)

    # One job.

    async def _handle(self, job: Job) -> None:
        try:
            outcome: object = self._handler(job)
            if not inspect.isawaitable(outcome):
                self._refuse_handler()
                return
            await outcome
        except Exception as error:
            await self._failed(job, error)
        else:
            await self._succeeded(job)

    async def _succeeded(self, job: Job) -> None:
        if not self._worker._held.has(job):
            # The handler has settled it, or it is another worker's by now.
            return
        try:
            await self._worker.ack(job)
        except GoQueueError as error:
            _log.warning("%s was handled and could not be acknowledged: %s", _name(job), error)

    async def _failed(self, job: Job, error: Exception) -> None:
        if not self._worker._held.has(job):
            _log.warning("the handler of %s failed after the job was settled", _name(job), exc_info=error)
            return
        reason = f"{type(error).__name__}: {error}"[:LONGEST_REASON]
        try:
            dead = (await self._worker.nack(job, reason=reason)).dead
        except GoQueueError as refusal:
            _log.warning("the handler of %s failed, which could not be told: %s", _name(job), refusal, exc_info=error)
            return
        next_step = "it is in the dead letters" if dead else "it is tried again"
        _log.warning("the handler of %s failed, and %s", _name(job), next_step, exc_info=error)

    def _refuse_handler(self) -> None:
        self._failure = InvalidRequest(
            "the handler must be a coroutine function", hint="write async def, or use goqueue.Worker for a function"
        )
        self.stop()

    # Leases.

    async def _extend_leases(self) -> None:
        every_s = self._lease_ms / 1000 / EXTENSIONS_PER_LEASE
        while True:
            await asyncio.sleep(every_s)
            held = [job for job in self._running.values() if self._worker._held.has(job)]
            try:
                async with asyncio.timeout(every_s):
                    lost = await self._worker._extend_each(held, self._lease_ms)
            except ClientClosed:
                return
            except (GoQueueError, TimeoutError):
                # There is time for another try before they are over.
                continue
            for job in lost:
                _log.warning("the lease of %s is over while its handler runs: another worker may get it", _name(job))


def _name(job: Job) -> str:
    message = job.message
    return f"{message.topic}/{message.partition} at offset {message.offset} (delivery {job.deliveries})"
